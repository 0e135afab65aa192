import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { globSync } from 'tinyglobby';
import { auditTools } from '../../../src/audit.js';
import { ToolMetadataRegistry, type ToolSource } from '../../../src/index.js';
import { markdownTable } from '../report.js';
import { mutantsOf, type Mutant } from './mutants.js';
import { MutantRuns } from './run-mutants.js';

// Turns the bundled tools into liars and counts how many the audit finds by reading the code and by
// running the tools: `npm run bench:mutants`.

const ROOT = resolve(import.meta.dirname, '../../..');
const COPY = join(ROOT, '.cache/mutants');

rmSync(COPY, { recursive: true, force: true });
mkdirSync(COPY, { recursive: true });
cpSync(join(ROOT, 'tools'), join(COPY, 'tools'), { recursive: true });
for (const shared of ['src', 'node_modules', 'package.json', 'tsconfig.json'])
  symlinkSync(join(ROOT, shared), join(COPY, shared));

/** Audits the single tool in a file of the copy. */
async function verdictOf(file: string): Promise<string> {
  const module = (await import(pathToFileURL(join(COPY, file)).href)) as Record<string, unknown>;
  const registry = new ToolMetadataRegistry();
  for (const value of Object.values(module))
    if (
      typeof value === 'function' &&
      /^class\b/.test(String(value)) &&
      'execute' in (value.prototype as object)
    )
      registry.register(value as unknown as ToolSource);
  const report = await auditTools(registry, { root: COPY, entries: [file] });
  return report.tools.map(({ verdict }) => verdict).join();
}

interface Count {
  mutants: number;
  lies: number;
  ran: number;
  seen: number;
}

const runs = await MutantRuns.open();
if (runs === undefined)
  console.log(
    'Not run: dist is missing, which the half that runs the tools needs. Run `npm run build` first.',
  );
const counts = new Map<string, Count>();
const originals = { traced: {} as Record<string, number>, ran: {} as Record<string, number> };
const add = (to: Record<string, number>, verdict: string) => (to[verdict] = (to[verdict] ?? 0) + 1);
const countOf = ({ title }: Pick<Mutant, 'title'>) => {
  const count = counts.get(title) ?? { mutants: 0, lies: 0, ran: 0, seen: 0 };
  counts.set(title, count);
  return count;
};
const reasons: Record<string, number> = {};

const { only = '' } = parseArgs({ options: { only: { type: 'string' } } }).values;
const files = globSync('tools/**/*.ts', { cwd: COPY })
  .filter(
    (file) => file.includes(only) && readFileSync(join(COPY, file), 'utf8').includes('@tool({'),
  )
  .sort();
for (const file of files) {
  const mutants = mutantsOf(join(ROOT, file));
  const verdict = await verdictOf(file);
  add(originals.traced, verdict);
  for (const [index, mutant] of mutants.entries()) {
    const changed = file.replace(/\.ts$/, `.mutant-${index}.ts`);
    writeFileSync(join(COPY, changed), mutant.source);
    const isFound = (await verdictOf(changed)) === 'lies';
    const count = countOf(mutant);
    count.mutants += 1;
    count.lies += Number(isFound);
    if (!isFound) console.log(`not found in its code: ${file}, ${mutant.title}`);
    rmSync(join(COPY, changed));
  }
  const ran = await runs?.run(
    dirname(join(COPY, file)),
    readFileSync(join(ROOT, file), 'utf8'),
    mutants,
  );
  if (ran !== undefined) add(originals.ran, ran.original);
  for (const each of ran?.mutants ?? []) {
    if ('cannot' in each) {
      add(reasons, each.cannot);
      continue;
    }
    const count = countOf(each);
    count.ran += 1;
    count.seen += Number(each.found);
    if (!each.found) console.log(`not seen when it ran: ${file}, ${each.title}`);
  }
  console.log(`${file}: ${verdict}${ran === undefined ? '' : `, ran: ${ran.original}`}`);
}
for (const [reason, times] of Object.entries(reasons))
  console.log(`not run, ${times} times: ${reason}`);

const percent = (part: number, whole: number) =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(0)} %`;
const sum = (field: keyof Count) =>
  [...counts.values()].reduce((all, each) => all + each[field], 0);
const verdictsIn = (of: Record<string, number>) =>
  Object.entries(of)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');
const all = { mutants: sum('mutants'), lies: sum('lies'), ran: sum('ran'), seen: sum('seen') };
/** Changes with the same figures share a row. */
const sameFigures: [string[], number[]][] = [];
for (const [title, { mutants, lies, ran, seen }] of counts) {
  const figures = [mutants, lies, ran, seen];
  const row = sameFigures.find(([, others]) => others.join() === figures.join());
  if (row === undefined) sameFigures.push([[title], figures]);
  else row[0].push(title);
}
const rows = [
  ...sameFigures.map(([titles, figures]) => [titles.join(', '), ...figures]),
  [
    'all',
    all.mutants,
    `${all.lies} (${percent(all.lies, all.mutants)})`,
    `${all.ran} (${percent(all.ran, all.mutants)})`,
    `${all.seen} (${percent(all.seen, all.ran)})`,
  ],
];
const text = `Each variant is one of the ${files.length} bundled tools, changed in one way. The audit checks every variant by reading its code, and by running it twice (\`--run\`). Verdicts on the unchanged tools: ${verdictsIn(originals.traced)} by reading; ${verdictsIn(originals.ran)} by running. A row with several changes shows the figures for each of them.\n\n${markdownTable(['change', 'variants', 'found by reading', 'run', 'found by running'], rows)}`;
console.log(text);
