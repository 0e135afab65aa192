import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import ts from 'typescript';
import { auditFolder } from '../../../src/audit/judge/audit-tools.js';
import { seededRandom } from '../../../src/testing.js';
import { markdownTable, writeSection } from '../report.js';
import { HIDERS, WRITES, type Hider, type Write } from './mutations.js';

// Adds a writing call to honest readonly tools and counts the verdicts: `npm run bench:mutants`. The
// subjects are the bundled tools, the labelled tools if they are there, or a folder that you pass.

const ROOT = resolve(import.meta.dirname, '../../..');
const OWN_CODE = resolve(ROOT, '../shared/data/own-code');
const ROUNDS = Number(process.env['ROUNDS'] ?? 4);
const random = seededRandom(Number(process.env['SEED'] ?? 28));

interface Mutant {
  readonly tool: string;
  readonly write: Write;
  readonly hider: Hider;
}

interface Tool {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

interface Edit {
  readonly at: number;
  readonly text: string;
}

/** Copies a subject, so that its files can be changed. */
async function copyOf(subject: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'mutants-'));
  const parts = subject === ROOT ? ['src', 'tools', 'package.json'] : ['.'];
  for (const part of parts)
    cpSync(join(subject, part), join(work, part), {
      recursive: true,
      filter: (path) => !/[\\/](?:node_modules|dist)(?:[\\/]|$)/.test(path.slice(subject.length)),
    });
  if (subject === ROOT)
    writeFileSync(
      join(work, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: { target: 'es2022', module: 'nodenext', strict: true, types: ['node'] },
        include: ['tools'],
      }),
    );
  const modules = join(subject, 'node_modules');
  if (existsSync(modules)) symlinkSync(modules, join(work, 'node_modules'));
  else mkdirSync(join(work, 'node_modules'));
  return work;
}

/** Mutates all honest tools of a folder in each round, and returns the mutants with their verdicts. */
async function mutate(work: string): Promise<readonly (readonly [Mutant, string])[]> {
  const before = await auditFolder({ root: work });
  const honest = before.tools
    .filter(({ verdict, declared }) => verdict === 'agrees' && declared.accessMode === 'readonly')
    .map(({ name, at }): Tool => {
      const [file = '', line] = at.split(':');
      return { name, file, line: Number(line) };
    });
  const originals = new Map(
    honest.map(({ file }) => [file, readFileSync(join(work, file), 'utf8')]),
  );
  const all: (readonly [Mutant, string])[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const mutants = [...originals].flatMap(([file, text]) => {
      const [changed, found] = mutated(
        text,
        honest.filter((tool) => tool.file === file),
        round,
      );
      writeFileSync(join(work, file), changed);
      return found;
    });
    const { tools } = await auditFolder({ root: work });
    const verdicts = new Map(tools.map((tool) => [tool.name, tool.verdict]));
    for (const each of mutants) all.push([each, verdicts.get(each.tool) ?? 'not found']);
    console.error(`round ${round + 1} of ${ROUNDS}: ${mutants.length} mutants`);
  }
  return all;
}

/** Adds one writing call to each of the tools in a file. */
function mutated(
  text: string,
  tools: readonly Tool[],
  round: number,
): readonly [string, readonly Mutant[]] {
  const source = ts.createSourceFile('tools.ts', text, ts.ScriptTarget.Latest, true);
  const edits: Edit[] = [];
  const mutants: Mutant[] = [];
  const top = new Set<string>();
  for (const { name, line } of tools) {
    const body = bodyOf(source, line);
    if (body === undefined) continue;
    const write = pick(WRITES);
    const hider = pick(HIDERS);
    const id = `${name.replace(/\W/g, '_')}_${round}`;
    const { before = '', statement } = hider.make(write.call, `mutant_${id}`, `Mutant_${id}`);
    for (const each of `${write.top ?? ''}\n${before}`.split('\n')) top.add(each);
    mutants.push({ tool: name, write, hider });
    if (ts.isBlock(body))
      edits.push({ at: pick(blocksIn(body)).getStart() + 1, text: ` ${statement} ` });
    else
      edits.push(
        { at: body.getStart(), text: `{ ${statement} return (` },
        { at: body.getEnd(), text: '); }' },
      );
  }
  const changed = edits
    .sort((a, b) => b.at - a.at)
    .reduce((to, { at, text: added }) => to.slice(0, at) + added + to.slice(at), text);
  return [`${[...top].join('\n')}\n${changed}`, mutants];
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

/** Returns the body of the function `execute` in the tool that starts in a line. */
function bodyOf(source: ts.SourceFile, line: number): ts.ConciseBody | undefined {
  const find = (node: ts.Node): ts.ConciseBody | undefined => {
    const isHere = source.getLineAndCharacterOfPosition(node.getStart()).line + 1 === line;
    const decorated = isHere && ts.isDecorator(node) ? node.parent : undefined;
    const called = isHere && ts.isCallExpression(node) ? node.arguments[0] : undefined;
    if (decorated !== undefined && ts.isMethodDeclaration(decorated)) return decorated.body;
    const owner = decorated ?? called;
    const found = owner && executeIn(owner);
    return found ?? ts.forEachChild(node, find);
  };
  return find(source);
}

function executeIn(owner: ts.Node): ts.ConciseBody | undefined {
  const members = ts.isClassLike(owner)
    ? owner.members
    : ts.isObjectLiteralExpression(owner)
      ? owner.properties
      : [];
  for (const each of members) {
    if (each.name?.getText() !== 'execute') continue;
    if (ts.isMethodDeclaration(each)) return each.body;
    const value = (each as Partial<ts.PropertyAssignment>).initializer;
    if (value !== undefined && ts.isArrowFunction(value)) return value.body;
  }
  return undefined;
}

/** Returns a function's body and the blocks inside it that aren't those of other functions. */
function blocksIn(body: ts.Block): readonly ts.Block[] {
  const found = [body];
  const look = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isBlock(node)) found.push(node);
    ts.forEachChild(node, look);
  };
  ts.forEachChild(body, look);
  return found;
}

const given = process.argv[2];
const subjects = given === undefined ? [ROOT, OWN_CODE].filter(existsSync) : [resolve(given)];
const rows: (readonly (string | number)[])[] = [];
const missed: string[] = [];
for (const subject of subjects) {
  const work = await copyOf(subject);
  const found = await mutate(work);
  rmSync(work, { recursive: true });
  const count = (wanted: string) => found.filter(([, verdict]) => verdict === wanted).length;
  const title =
    subject === ROOT
      ? 'bundled tools'
      : subject === OWN_CODE
        ? 'labelled tools'
        : basename(subject);
  rows.push([title, found.length, count('lies'), count('unknown'), count('agrees')]);
  for (const [{ tool, write, hider }, verdict] of found)
    if (verdict !== 'lies') missed.push(`${verdict}: ${tool}, ${write.title}, ${hider.title}`);
}
console.error(missed.sort().join('\n'));
const table = markdownTable(['subject', 'mutants', 'lies', 'unknown', 'agrees'], rows);
if (given !== undefined) console.log(table);
else
  writeSection(
    'Audit of tools with an added writing call',
    `Each mutant is an honest readonly tool with one writing call added. There are ${WRITES.length} calls and ${HIDERS.length} ways to write them, such as in a helper, a getter or a callback. The right verdict is \`lies\`, and \`agrees\` would be wrong.\n\n${table}`,
  );
