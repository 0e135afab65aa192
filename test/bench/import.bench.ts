import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { markdownTable, writeSection } from './report.js';

// Measures the cost of importing each entry point in a new process: `npm run build && npm run
// bench:import`.

const ROUNDS = 15;
const root = resolve(import.meta.dirname, '../..');
const built = (entry: string) => pathToFileURL(resolve(root, 'dist', `${entry}.js`)).href;
const TARGETS = {
  'bare Node': undefined,
  zod: 'zod',
  ...Object.fromEntries(
    ['index', 'mcp', 'tools'].map((entry) => [
      entry === 'index' ? 'tooldex' : `tooldex/${entry}`,
      built(entry),
    ]),
  ),
};

/**
 * Returns the CPU milliseconds that one import takes in a new process. CPU time depends less on other
 * processes than elapsed time does.
 */
function importTime(target: string | undefined): number {
  const source = `const before = process.cpuUsage(); ${target === undefined ? '' : `await import(${JSON.stringify(target)});`} const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: root,
      encoding: 'utf8',
    }),
  );
}

const times = new Map(Object.keys(TARGETS).map((name) => [name, [] as number[]]));
for (let round = 0; round < ROUNDS; round++)
  for (const [name, target] of Object.entries(TARGETS)) times.get(name)!.push(importTime(target));
const least = (name: string) => Math.min(...times.get(name)!);
const bare = least('bare Node');
const rows = [...times.keys()]
  .slice(1)
  .map((name) => [
    name,
    least(name).toFixed(1),
    ((least(name) - bare) / (least('zod') - bare)).toFixed(2),
  ]);
writeSection(
  'Importing',
  `The table shows the CPU time for one import in a new process (minimum of ${ROUNDS} runs). The ratios leave out Node's own startup time. Every entry point imports zod.\n\n${markdownTable(['import', 'ms', '× zod'], rows)}`,
);
