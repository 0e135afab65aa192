import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { globSync } from 'tinyglobby';
import ts from 'typescript';
import { auditFolder } from '../../../src/audit/judge/audit-tools.js';
import { markdownTable } from '../report.js';

// Adds a writing call to honest readonly tools and counts how many of them the audit reports:
// `npm run bench:mutants`. The subject is docs/examples, or a folder that you pass.

const ROOT = resolve(import.meta.dirname, '../../..');
const SUBJECT = resolve(process.argv[2] ?? join(ROOT, 'docs/examples'));

/** What a mutant does, by its title: code for the top of the file, and a statement for the tool. */
const CHANGES: Readonly<Record<string, readonly [top: string, statement: string]>> = {
  'writes a file': [
    `import { writeFileSync as mutantWrite } from 'node:fs';`,
    `mutantWrite('mutant.txt', '');`,
  ],
  'deletes in a helper of a helper': [
    `import * as mutantFs from 'node:fs';\nconst mutantTidy = (name: string) => mutantFs.promises.rm(name);\nfunction mutantAll() { for (const name of ['mutant.txt']) void mutantTidy(name); }`,
    `mutantAll();`,
  ],
  'commits with git': [
    `import { execFileSync as mutantRun } from 'node:child_process';`,
    `mutantRun('git', ['commit', '--allow-empty', '-m', 'mutant']);`,
  ],
  'posts to a service': ['', `void fetch('https://mutant.example/items', { method: 'POST' });`],
  'deletes at a service through a class': [
    `class MutantClient { send(method: string) { return fetch('https://mutant.example/items/1', { method }); } }\nconst mutantClient = new MutantClient();`,
    `void mutantClient.send('DELETE');`,
  ],
  'counts calls in memory': [
    `const mutantCalls: number[] = [];`,
    `mutantCalls.push(mutantCalls.length); if (mutantCalls.length > 3) throw new Error();`,
  ],
};

const work = mkdtempSync(join(tmpdir(), 'mutants-'));
cpSync(SUBJECT, work, { recursive: true, filter: (path) => !path.includes('node_modules') });
symlinkSync(join(ROOT, 'node_modules'), join(work, 'node_modules'));
const sources = globSync('**/*.ts', { cwd: work }).map((file) => join(work, file));
const originals = new Map(sources.map((file) => [file, readFileSync(file, 'utf8')]));

const before = (await auditFolder({ root: work })).tools;
const honest = before.filter(
  ({ verdict, declared }) => verdict === 'agrees' && declared.accessMode === 'readonly',
);
const rows: (readonly [string, number, number, number])[] = [];
for (const [title, [top, statement]] of Object.entries(CHANGES)) {
  const names = new Set<string>();
  for (const [file, text] of originals) {
    const changed = mutated(file, text, statement);
    for (const name of changed.names) names.add(name);
    writeFileSync(file, changed.names.length === 0 ? text : `${top}\n${changed.text}`);
  }
  const after = (await auditFolder({ root: work })).tools.filter(({ name }) => names.has(name));
  const count = (verdict: string) => after.filter((tool) => tool.verdict === verdict).length;
  for (const { name } of after.filter(({ verdict }) => verdict === 'agrees'))
    console.log(`not found: ${name}, which ${title}`);
  rows.push([title, names.size, count('lies'), count('agrees')]);
}
rmSync(work, { recursive: true });
console.log(markdownTable(['change', 'mutants', 'lies', 'agrees'], rows));

/** Adds a statement to the functions of the honest tools in a file. */
function mutated(
  file: string,
  text: string,
  statement: string,
): { text: string; names: readonly string[] } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const edits: (readonly [at: number, text: string])[] = [];
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const body = bodyOf(node);
    const tool = honest.find(({ name }) => node.getText().includes(`name: '${name}'`));
    if (body !== undefined && tool !== undefined) {
      names.push(tool.name);
      if (ts.isBlock(body)) edits.push([body.getStart() + 1, ` ${statement} `]);
      else edits.push([body.getStart(), `{ ${statement} return (`], [body.getEnd(), `); }`]);
    } else ts.forEachChild(node, visit);
  };
  visit(source);
  const sorted = [...edits].sort(([a], [b]) => b - a);
  return {
    names,
    text: sorted.reduce((to, [at, added]) => to.slice(0, at) + added + to.slice(at), text),
  };
}

/** Returns the body of the function `execute` in a class, or in the options of a tool. */
function bodyOf(node: ts.Node): ts.ConciseBody | undefined {
  const members = ts.isClassDeclaration(node)
    ? node.members
    : ts.isObjectLiteralExpression(node)
      ? node.properties
      : [];
  for (const each of members) {
    if (each.name?.getText() !== 'execute') continue;
    if (ts.isMethodDeclaration(each)) return each.body;
    if (ts.isPropertyAssignment(each) && ts.isArrowFunction(each.initializer))
      return each.initializer.body;
  }
  return undefined;
}
