import { Writable } from 'node:stream';
import packageJson from '../../../package.json' with { type: 'json' };
import type { OnElicit } from '../../mcp/connection/elicitation.js';
import { createMcpServer, type McpToolServer } from '../../mcp/server/create-mcp-server.js';
import { command } from '../command/command.js';
import { callContextOf, withTimeLimit, policyOf } from '../execute/with-executor.js';
import { withTools } from '../load/load-registry.js';
import type { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import {
  amount,
  FILTER_OPTIONS,
  filterOf,
  flag,
  given,
  listOption,
  RUN_OPTIONS,
} from '../command/options.js';
import { amountOf } from '../terminal/table.js';
import {
  interruptible,
  paint,
  report,
  whenAborted,
  type Dialog,
  type Terminal,
} from '../terminal/terminal.js';
import { HTTP_OPTIONS, listenOptions } from './serve.js';

const needs = ['http'];

export const commands = {
  'mcp serve': command({
    options: {
      ...RUN_OPTIONS,
      ...FILTER_OPTIONS,
      maxTools: amount(
        '<count>',
        'list at most this many tools; others are found by search (128)',
        {
          least: 1,
        },
      ),
      maxResults: amount('<count>', 'the most tools that a search finds (10)', { least: 1 }),
      include: listOption('<names>', 'always list these tools, by name or category'),
      http: flag('listen for clients over streamable HTTP'),
      port: { ...HTTP_OPTIONS.port, needs },
      host: { ...HTTP_OPTIONS.host, needs },
      token: { ...HTTP_OPTIONS.token, needs },
      allowedHost: { ...HTTP_OPTIONS.allowedHost, needs },
    },
    examples: [
      'mcp serve',
      'mcp serve --http --port 4781',
      'mcp serve --manifests ./manifests --yes low',
    ],
    notes:
      '\nThe default port is 4781. With --mcp, tooldex is a gateway: questions from the servers behind it reach the client.',
    run: async (context) => {
      const { terminal, cwd, imports, options } = context;
      const { http, token, json } = options;
      const call = await callContextOf(options, cwd, imports);
      let server: McpToolServer | undefined;
      const onElicit: OnElicit = (...question) => server!.onElicit(...question);
      return withTools(context, { onElicit, canWait: true }, async (loaded) => {
        const { discovery } = loaded;
        const stop = discovery && printFindings(terminal, discovery);
        const registry = withTimeLimit(loaded.registry, options.timeout);
        const { port, host, ...guards } = listenOptions(options);
        server = createMcpServer(registry, {
          name: 'tooldex',
          version: packageJson.version,
          policy: policyOf(registry, options),
          context: call,
          filter: filterOf(options),
          onError: (error) =>
            report(
              terminal,
              'yellow',
              'fault',
              error instanceof Error ? error.message : String(error),
            ),
          ...given({
            ...guards,
            ...{ discovery, maxTools: options.maxTools, maxResults: options.maxResults },
            ...{ include: options.include, token: http ? token : undefined },
          }),
        });
        try {
          await interruptible(terminal, async (signal) => {
            if (!http) {
              const stdio = { input: terminal.input, output: outputOf(terminal) };
              const { closed } = await server!.serveStdio(stdio);
              return Promise.race([closed, whenAborted(signal)]);
            }
            const { url } = await server!.serveHttp(given({ port, host }));
            const { size: tools } = registry;
            terminal.out(
              json
                ? JSON.stringify({ url, tools })
                : `${paint('bold', url)}  ${amountOf(tools, 'tool')}; stop with Ctrl-C`,
            );
            return whenAborted(signal);
          });
        } finally {
          stop?.();
          await server.close();
        }
      });
    },
  }),
};

/** Prints every finding once, also those about servers that come up later. */
function printFindings(terminal: Terminal, discovery: McpDiscovery): () => void {
  const printed = new Set<string>();
  const print = () => {
    for (const { kind, server, tool = '', message } of discovery.findings()) {
      const text = `${server} ${tool}: ${message}`;
      if (!['unreachable', 'quarantined', 'settings'].includes(kind) && !printed.has(text))
        report(terminal, 'yellow', kind, text);
      printed.add(text);
    }
  };
  print();
  return discovery.onChange(print);
}

/**
 * Writes messages through the terminal object, because that object has taken over standard output.
 */
function outputOf(terminal: Dialog): Writable {
  return new Writable({
    decodeStrings: false,
    write(lines: string | Buffer, _encoding, done) {
      terminal.write(lines.toString());
      done();
    },
  });
}
