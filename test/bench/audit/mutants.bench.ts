import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { globSync } from 'tinyglobby';
import { auditTools } from '../../../src/audit.js';
import { ToolMetadataRegistry, type ToolSource } from '../../../src/index.js';
import { markdownTable, writeSection } from '../report.js';
import { mutantsOf } from './mutants.js';

// Makes liars of the bundled tools and counts those that the audit of their code finds: `npm run bench:mutants`.

const ROOT = resolve(import.meta.dirname, '../../..');
const COPY = join(ROOT, '.cache/mutants');

rmSync(COPY, { recursive: true, force: true });
mkdirSync(COPY, { recursive: true });
cpSync(join(ROOT, 'tools'), join(COPY, 'tools'), { recursive: true });
for (const shared of ['src', 'node_modules', 'package.json', 'tsconfig.json']) symlinkSync(join(ROOT, shared), join(COPY, shared));

/** Audits the one tool of a file of the copy. */
async function verdictOf(file: string): Promise<string> {
  const module = (await import(pathToFileURL(join(COPY, file)).href)) as Record<string, unknown>;
  const registry = new ToolMetadataRegistry();
  for (const value of Object.values(module)) if (typeof value === 'function' && /^class\b/.test(String(value)) && 'execute' in (value.prototype as object)) registry.register(value as unknown as ToolSource);
  const report = await auditTools(registry, { root: COPY, entries: [file] });
  return report.tools.map(({ verdict }) => verdict).join();
}

const found = new Map<string, { mutants: number; lies: number; missed: string[] }>();
const files = globSync('tools/**/*.ts', { cwd: COPY }).filter((file) => readFileSync(join(COPY, file), 'utf8').includes('@tool({')).sort();
const originals: Record<string, number> = {};
for (const file of files) {
  const verdict = await verdictOf(file);
  originals[verdict] = (originals[verdict] ?? 0) + 1;
  for (const [index, { title, source }] of mutantsOf(join(ROOT, file)).entries()) {
    const mutant = file.replace(/\.ts$/, `.mutant-${index}.ts`);
    writeFileSync(join(COPY, mutant), source);
    const count = found.get(title) ?? { mutants: 0, lies: 0, missed: [] };
    const isFound = (await verdictOf(mutant)) === 'lies';
    found.set(title, { mutants: count.mutants + 1, lies: count.lies + Number(isFound), missed: isFound ? count.missed : [...count.missed, file] });
    rmSync(join(COPY, mutant));
  }
  console.log(`${file}: ${verdict}`);
}
for (const [title, { missed }] of found) if (missed.length > 0) console.log(`missed, ${title}: ${missed.length} of these, as ${missed.slice(0, 5).join(', ')}`);
const counts = [...found.values()];
const all = counts.reduce((sum, { mutants }) => sum + mutants, 0);
const lies = counts.reduce((sum, each) => sum + each.lies, 0);
const rows = [...[...found].map(([title, each]) => [title, each.mutants, each.lies] as const), ['all', all, `${lies} (${((100 * lies) / all).toFixed(0)} %)`] as const];
writeSection('Liars made of the bundled tools', `Each of the ${files.length} bundled tools with one effect added, or with a declaration that says it only reads, audited by its code. The tools as they are: ${Object.entries(originals).map(([verdict, count]) => `${count} ${verdict}`).join(', ')}.\n\n${markdownTable(['changed', 'liars', 'found'], rows)}`);
