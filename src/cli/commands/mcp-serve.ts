import { Writable } from 'node:stream';
import packageJson from '../../../package.json' with { type: 'json' };
import { createMcpServer, type McpToolServer } from '../../mcp/server/create-mcp-server.js';
import { command } from '../command/command.js';
import { callContextOf, limitTime, policyOf } from '../execute/with-executor.js';
import { withTools } from '../load/load-registry.js';
import {
  choice,
  FILTER_OPTIONS,
  filterOf,
  flag,
  given,
  RUN_OPTIONS,
  withDefault,
} from '../command/options.js';
import { amountOf } from '../terminal/table.js';
import { interruptible, paint, untilAborted, type Dialog } from '../terminal/terminal.js';
import { HTTP_OPTIONS, listenOptions } from './serve.js';

const needs = ['http'];

export const mcpServe = command({
  options: {
    ...RUN_OPTIONS,
    ...FILTER_OPTIONS,
    http: flag('listen for clients over streamable HTTP'),
    port: { ...HTTP_OPTIONS.port, needs },
    host: { ...HTTP_OPTIONS.host, needs },
    token: { ...HTTP_OPTIONS.token, needs },
    allowedHost: { ...HTTP_OPTIONS.allowedHost, needs },
    names: withDefault(
      choice<'safe' | 'original'>(
        '<which>',
        'safe makes names fit model APIs: files.read becomes files__read',
        ['safe', 'original'],
      ),
      'safe',
    ),
    search: flag('list one tool that finds the others (default above 128 tools)'),
    noSearch: flag('list all tools, however many there are', { excludes: ['search'] }),
  },
  examples: [
    'mcp serve',
    'mcp serve --http --port 4781',
    'mcp serve --manifests ./manifests --yes low',
  ],
  notes:
    '\nThe default port is 4781. With --mcp, tooldex is a gateway: questions of the servers behind it reach the client.',
  run: async (context) => {
    const { terminal, cwd, imports, options } = context;
    const { http, token, names, search, noSearch, json } = options;
    const call = await callContextOf(options, cwd, imports);
    let server: McpToolServer | undefined;
    return withTools(
      context,
      { onElicit: (...question) => server!.onElicit(...question) },
      async (loaded) => {
        const registry = limitTime(loaded.registry, options.timeout);
        const { port, host, ...guards } = listenOptions(options);
        server = createMcpServer(registry, {
          name: 'tooldex',
          version: packageJson.version,
          policy: policyOf(registry, options),
          context: call,
          filter: filterOf(options),
          onError: (error) =>
            terminal.err(
              `${paint(terminal, 'yellow', 'fault')} ${error instanceof Error ? error.message : String(error)}`,
            ),
          names,
          ...given({ search: noSearch ? false : search || undefined }),
          ...given({ ...guards, token: http ? token : undefined }),
        });
        try {
          await interruptible(terminal, async (signal) => {
            if (!http) {
              const stdio = { input: terminal.input, output: outputOf(terminal) };
              const { closed } = await server!.serveStdio(stdio);
              return Promise.race([closed, untilAborted(signal)]);
            }
            const { url } = await server!.serveHttp(given({ port, host }));
            const { size: tools } = registry;
            terminal.out(
              json
                ? JSON.stringify({ url, tools })
                : `${paint(terminal, 'bold', url)}  ${amountOf(tools, 'tool')}; stop with Ctrl-C`,
            );
            return untilAborted(signal);
          });
        } finally {
          await server.close();
        }
      },
    );
  },
});

/** Writes messages to the terminal, which holds standard output. Each message is a line. */
function outputOf(terminal: Dialog): Writable {
  return new Writable({
    decodeStrings: false,
    write(lines: string | Buffer, _encoding, done) {
      terminal.out(lines.toString().replace(/\n$/, ''));
      done();
    },
  });
}
