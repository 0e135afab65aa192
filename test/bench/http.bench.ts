import { serve as serveHono } from '@hono/node-server';
import autocannon from 'autocannon';
import { Hono } from 'hono';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { parseArgs } from 'node:util';
import { CapabilityRegistry } from '../../src/capability.js';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  defineTool,
  Priority,
  SideEffect,
  Stage,
  type ToolDefinition,
} from '../../src/index.js';
import { serve } from '../../src/http.js';
import { RollingHealth } from '../../src/providers.js';
import { seededRandom } from './clones.js';
import { markdownTable, writeSection } from './report.js';
import { NameGiver, readSet, setsAreThere } from './retrieval-sets.js';

const TOOLS = 1_000;
const CONNECTIONS = 32;
/** The number of calls to record for each called tool: as many as tooldex keeps. */
const CALLS = 100;
/**
 * The number of requests after which the server closes a connection. autocannon must be told, because it
 * doesn't detect this.
 */
const REQUESTS_PER_CONNECTION = 100;

const { values } = parseArgs({
  options: {
    server: { type: 'boolean' },
    seconds: { type: 'string', default: '10' },
    quick: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

/** Uses every filter in turn. Each filter matches at least 50 tools, so every answer is a full page. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  'all filters in turn': [
    '',
    'persona=Atlas',
    'persona=Atlas&persona=-shared',
    'provider=primary',
    'version=%3E%3D1.2',
    'min_success_rate=0.5',
    'capability=search',
    'side_effects=none',
    'safety_level=low',
    'priority=high',
    'access_mode=readonly',
    'danger_level=low&danger_level=medium',
    'max_danger=medium',
    'execution_category=read_only',
    'cost_tier=low',
    'max_cost_tier=medium',
    'category=group_1',
    'keyword=report',
    'stage=reading',
    'task_type=analysis',
    'available=true',
    'requires_approval=false',
  ],
  'fields=name,danger_level,health': ['fields=name,danger_level,health'],
};

const PROVIDERS = [
  { name: 'primary', priority: 0 },
  { name: 'backup', priority: 10 },
];

function catalogue(): readonly ToolDefinition[] {
  const random = seededRandom(20_260_102);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const names = new NameGiver();
  return readSet('mix-dev')
    .tools.slice(0, TOOLS)
    .map((tool, index) => {
      const accessMode = pick([
        AccessMode.READONLY,
        AccessMode.READONLY,
        AccessMode.WRITE,
        AccessMode.MIXED,
      ]);
      return defineTool({
        name: names.give(tool.name),
        description: tool.description || tool.name,
        inputSchema: {
          type: 'object',
          properties: Object.fromEntries(
            (tool.parameters ?? []).map(({ name }) => [name, { type: 'string' }]),
          ),
        },
        version: pick(['0.9.0', '1.2.0', '1.4.3', '2.0.0']),
        priority: pick(Object.values(Priority)),
        accessMode,
        dangerLevel: pick([
          DangerLevel.SAFE,
          DangerLevel.LOW,
          DangerLevel.MEDIUM,
          DangerLevel.HIGH,
        ]),
        costTier: pick(Object.values(CostTier)),
        sideEffects: accessMode === AccessMode.READONLY ? SideEffect.NONE : SideEffect.WRITE,
        category: `group_${index % 8}`,
        keywords: ['report', pick(['table', 'chart', 'mail'])],
        stages: [Stage.READING, pick(Object.values(Stage))],
        taskTypes: ['analysis'],
        capabilities: ['search', pick(['summaries', 'planning'])],
        // As in a real catalogue, most tools have one provider or none.
        providers: PROVIDERS.slice(0, [1, 0, 1, 2][index % 4]),
      });
    });
}

/** The process under load serves only the catalogue. */
async function runServer(): Promise<void> {
  const definitions = catalogue();
  const health = new RollingHealth();
  const random = seededRandom(1);
  const capabilities = await CapabilityRegistry.load({
    tools: definitions.slice(0, TOOLS / 2),
    sources: [
      {
        name: 'atlas',
        load: async () => ({ definitions: definitions.slice(TOOLS / 2), persona: 'Atlas' }),
      },
    ],
    env: {},
    health,
  });
  for (const { name, owner } of capabilities.tools()) {
    for (let call = 0; call < CALLS; call++)
      capabilities.recordTool(
        name,
        { success: random() < 0.9, latencyMs: random() * 200, provider: 'primary' },
        { persona: owner },
      );
  }
  const { url } = await serve(capabilities, { port: 0, page: false });
  const bare = await bareHono((await (await fetch(`${url}/tools`)).json()) as object);
  process.send!([url, bare]);
}

/** A Hono server that only serializes the objects of one answer for each request. */
async function bareHono(answer: object): Promise<string> {
  const app = new Hono().get('/tools', (context) => context.json(answer));
  return new Promise((resolve) => {
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
      resolve(`http://127.0.0.1:${port}`),
    );
    (server as Server).maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  });
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const [answer] = (await once(child, 'message')) as [T];
  return answer;
}

async function load(
  url: string,
  paths: readonly string[],
  seconds: number,
): Promise<autocannon.Result> {
  return autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    reconnectRate: REQUESTS_PER_CONNECTION,
    requests: paths.map((path) => ({ method: 'GET' as const, path })),
  });
}

async function main(): Promise<void> {
  if (values.help)
    return console.log(
      'bench:http [--seconds 10] [--quick]\n  --quick: 2 s each, nothing is written',
    );
  if (!setsAreThere()) return console.log('skipped: the sets in ../shared/bench are not at hand');
  if (values.server) return runServer();
  const seconds = values.quick ? 2 : Number(values.seconds);

  const child = fork(import.meta.filename, ['--server'], {
    execArgv: ['--import', 'tsx'],
  });
  const [url, bare] = await answerOf<readonly [string, string]>(child);
  await load(url, ['/tools'], 2);
  const rows: (string | number)[][] = [];
  const cases = [
    ['a bare Hono server that returns the same tools', bare, ['']] as const,
    ['/tools', url, ['']] as const,
    ...Object.entries(QUERIES).map(([title, queries]) => [title, url, queries] as const),
  ];
  for (const [title, url, queries] of cases) {
    const paths = queries.map((query) => `/tools${query === '' ? '' : `?${query}`}`);
    const { requests, latency, non2xx, errors } = await load(url, paths, seconds);
    if (non2xx > 0 || errors > 0)
      throw new Error(`${title}: ${non2xx} answers other than 200, ${errors} errors`);
    rows.push([`\`${title}\``, Math.round(requests.average).toLocaleString('en'), latency.p99]);
    console.log(rows.at(-1)!.join(' | '));
  }
  child.kill();

  const publish = values.quick
    ? (title: string, body: string) => console.log(`\n## ${title}\n\n${body}\n`)
    : writeSection;
  publish(
    'HTTP catalogue',
    [
      `A load generator on the same machine requests \`GET /tools?…\` for ${seconds} s. The catalogue contains ${TOOLS.toLocaleString('en')} tools and returns 50 per page. There are ${CONNECTIONS} connections, and each reconnects after ${REQUESTS_PER_CONNECTION} requests. The catalogue caches 32 responses for one second.`,
      markdownTable(['request', 'responses per second', 'p99, ms'], rows),
    ].join('\n\n'),
  );
}

await main();
