import { execFileSync } from 'node:child_process';
import { Priority, ToolMetadataRegistry, type ToolDefinition } from '../../src/index.js';
import { madeUpCatalogue, realCatalogue } from './catalogues.js';
import { markdownTable, median, timePerCall, writeSection } from './report.js';

const registered = (definitions: readonly ToolDefinition[]) => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return registry;
};
const milliseconds = (work: () => unknown, rounds: number) =>
  median(Array.from({ length: rounds }, () => timeOnce(work)));
function timeOnce(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
const PROCESSES = 9;
const fixed = (value: number, digits = 2) => value.toFixed(digits);

/** What the first registration takes in a process of its own, when nothing is compiled yet. */
function firstTimes(): number[] {
  const run = () =>
    Number(
      execFileSync(process.execPath, [...process.execArgv, import.meta.filename, '--first'], {
        encoding: 'utf8',
      }),
    );
  return Array.from({ length: PROCESSES }, run);
}

function registration(): void {
  const real = realCatalogue();
  const rows: (string | number)[][] = [];
  if (real === undefined) console.log('skipped: the real catalogue is not at hand');
  else
    rows.push(
      [
        `64 real tools, first time in a process, median of ${PROCESSES} processes`,
        fixed(median(firstTimes())),
        '',
      ],
      ['64 real tools, median of 50', fixed(milliseconds(() => registered(real), 50)), ''],
    );
  const perTool = new Map<number, number>();
  for (const size of [1_000, 10_000, 100_000]) {
    const definitions = madeUpCatalogue(size);
    const time = milliseconds(() => registered(definitions), 5);
    perTool.set(size, time / size);
    rows.push([
      `${size.toLocaleString('en')} made-up tools`,
      fixed(time),
      `${fixed((time * 1000) / size)} µs a tool, ${fixed(time / size / perTool.get(1_000)!)} × that of 1,000`,
    ]);
  }
  writeSection(
    'Registration',
    `\`registerAll\` alone; definitions are made before.\n\n${markdownTable(['what', 'ms', 'per tool'], rows)}`,
  );
}

function lookUps(): void {
  const sizes = [45, 1_000, 10_000, 100_000];
  const registries = sizes.map((size) => registered(madeUpCatalogue(size)));
  const questions: Record<string, (registry: ToolMetadataRegistry) => unknown> = {
    'get(name)': (registry) => registry.get('tool_7'),
    getByPriority: (registry) => registry.getByPriority(Priority.MEDIUM),
    getByAccessMode: (registry) => registry.getByAccessMode('readonly'),
    getByCategory: (registry) => registry.getByCategory('category 3'),
    getByKeyword: (registry) => registry.getByKeyword('word3x2'),
    getByStage: (registry) => registry.getByStage('reading'),
    getWriteTools: (registry) => registry.getWriteTools(),
    getIdempotentTools: (registry) => registry.getIdempotentTools(),
    getToolsByStage: (registry) => registry.getToolsByStage('reading'),
    getParallelizableTools: (registry) => registry.getParallelizableTools(),
    getDangerousTools: (registry) => registry.getDangerousTools(),
    getToolsRequiringApproval: (registry) => registry.getToolsRequiringApproval(),
    getConflictingTools: (registry) => registry.getConflictingTools('tool_7'),
  };
  const rows = Object.entries(questions).map(([name, ask]) => {
    const times = registries.map((registry) => timePerCall(() => ask(registry)) * 1000);
    return [name, ...times.map((time) => fixed(time, 1)), fixed(times.at(-1)! / times[0]!)];
  });
  const head = [
    'query',
    ...sizes.map((size) => `${size.toLocaleString('en')} tools, ns`),
    'ratio of the last to the first',
  ];
  writeSection(
    'Look-ups',
    `Answers are shared snapshots; nothing is copied. The first question after a change makes the snapshot.\n\n${markdownTable(head, rows)}`,
  );
}

function keywordMatching(): void {
  const text =
    'please run word17x3 and word401x1 on the parser, then show me word9x4 and the tests of the latest build';
  const rows: (string | number)[][] = [];
  const measure = (label: string, definitions: readonly ToolDefinition[], query: string) => {
    const registry = registered(definitions);
    const indexed = timePerCall(() => registry.getToolsMatchingTextScored(query));
    const scan = timePerCall(() => substringScan(definitions, query));
    rows.push([label, fixed(indexed), fixed(scan), fixed(scan / indexed, 1)]);
  };
  const real = realCatalogue();
  if (real !== undefined)
    measure('64 real tools', real, 'run the unit tests and show me the coverage of the parser');
  for (const size of [64, 1_000, 10_000])
    measure(`${size.toLocaleString('en')} made-up tools`, madeUpCatalogue(size), text);
  writeSection(
    'Keyword matching',
    `\`getToolsMatchingTextScored\` against a plain scan that asks of every keyword whether the text includes it, with five keywords a tool.\n\n${markdownTable(['tools', 'index, µs', 'scan, µs', 'scan : index'], rows)}`,
  );
}

/** What a registry without an index does. */
function substringScan(definitions: readonly ToolDefinition[], text: string): unknown {
  const lower = text.toLowerCase();
  return definitions
    .map(({ name, keywords = [] }) => ({
      name,
      matched: keywords.filter((keyword) => lower.includes(keyword)).length,
      of: keywords.length,
    }))
    .filter(({ matched }) => matched > 0)
    .sort((a, b) => b.matched / b.of - a.matched / a.of);
}

function memory(): void {
  const collect = globalThis.gc;
  if (collect === undefined) return console.log('skipped: memory needs node --expose-gc');
  const used = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const rows = [1_000, 10_000, 100_000].map((size) => {
    const definitions = madeUpCatalogue(size);
    const before = used();
    const registry = registered(definitions);
    const after = used();
    registry.getToolsMatchingTextScored('word1x1');
    registry.getWriteTools();
    return [`${size.toLocaleString('en')}`, Math.round((after - before) / size)];
  });
  writeSection(
    'Memory',
    `What a registry takes beside the tools' own objects (definition and entry), five keywords a tool.\n\n${markdownTable(['tools', 'bytes a tool'], rows)}`,
  );
}

if (process.argv.includes('--first')) {
  const real = realCatalogue()!;
  console.log(timeOnce(() => registered(real)));
} else {
  registration();
  lookUps();
  keywordMatching();
  memory();
}
