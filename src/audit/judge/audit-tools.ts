import { AssertionError } from 'node:assert';
import { readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import type { Expression, Program, SourceFile } from 'typescript';
import { z } from 'zod';
import { withSlashes } from '../../host/shown-path.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { checkOptions, text, type FieldsOf } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { isRegistry } from '../../registry/is-registry.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import {
  entryOf,
  isToolDefinition,
  type ToolDefinition,
  type ToolEntry,
} from '../../tool/tool-definition.js';
import { Code } from '../code/code.js';
import { loadProgram } from '../code/load-program.js';
import { loadTypeScript, ts } from '../code/typescript.js';
import { wayOf } from '../effect.js';
import { Evaluator } from '../evaluate/evaluator.js';
import { HOLE } from '../evaluate/values.js';
import { followCalls, type Unknown } from '../follow/follow-calls.js';
import { KnownCalls, knowledge, type AuditKnowledge } from '../known/known-calls.js';
import { declaredBy } from '../tools/declared.js';
import { findTools, type ToolInCode } from '../tools/find-tools.js';
import { applyBaseline, liesIn, newLies, readBaseline } from './baseline.js';
import { judgeTool, type ToolAudit } from './judge-tool.js';

/** The audited tools, with a verdict for each. */
export interface AuditReport {
  readonly subject: {
    readonly name: string;
    /** The audited folder, relative to the working directory. All places are relative to this folder. */
    readonly folder: string;
  };
  readonly tools: readonly ToolAudit[];
  /** The calls that make tools `unknown`, with the number of tools. Those that block most tools come first. */
  readonly blocking: readonly { readonly call: string; readonly tools: number }[];
  /** The tools that weren't audited, with the reasons. */
  readonly skipped: readonly Skipped[];
}

/** Options for `auditTools`. */
export interface AuditOptions {
  /** The folder with the tools' code and its tsconfig. Places in code are relative to this folder. @default process.cwd() */
  readonly root?: string;
  /** The files that define tools, relative to the root. The files that they import belong to them. @default the files of the tsconfig */
  readonly entries?: readonly string[];
  /** The effects of calls and programs that the built-in tables don't know or get wrong. @default none */
  readonly known?: AuditKnowledge | undefined;
}

/** Options for `expectHonest`. */
export interface HonestOptions extends AuditOptions {
  /** The parsed JSON of a baseline file, which lists the known lies. @default none */
  readonly baseline?: unknown;
}

const shape = {
  root: text().optional(),
  entries: z.array(text()).optional(),
  known: knowledge.optional(),
} satisfies FieldsOf<AuditOptions>;

/**
 * Compares tools' declarations with their code. Reads the code with the TypeScript checker and runs
 * nothing of it.
 *
 * @param tools A registry or definitions. Their code is found by the tools' names.
 * @throws ToolError `INVALID_ARGUMENT` for invalid options, or if the root isn't a folder.
 * `MISSING_PACKAGE` if TypeScript isn't installed.
 */
export async function auditTools(
  tools: ToolMetadataRegistry | readonly ToolDefinition[],
  options: AuditOptions = {},
): Promise<AuditReport> {
  const entries = entriesOf(tools);
  return auditSource(options, (evaluator) => {
    const found = findTools(evaluator, (file) => !evaluator.code.isTest(file));
    return entries.map((entry) => {
      const { name } = entry;
      const declared = declaredBy(entry);
      if (entry.definition.execute === undefined) return { name, reason: WITHOUT_CODE };
      const own = found.filter((each) => each.name === name);
      const handlers = own.flatMap((each) => each.handlers);
      return own[0] === undefined
        ? judgeTool(name, '', declared, { effects: [], usesKey: false, unknowns: [NOT_FOUND] })
        : { ...own[0], declared, handlers };
    });
  });
}

const WITHOUT_CODE = 'a user, a provider or another program does its work';
const NOT_FOUND: Unknown = { call: 'the code of the tool, which was not found', at: '', via: [] };

function entriesOf(tools: unknown): readonly ToolEntry[] {
  if (isRegistry(tools)) return [...tools];
  if (Array.isArray(tools) && tools.every(isToolDefinition)) return tools.map(entryOf);
  throw invalidArgument('a ToolMetadataRegistry or a list of tool definitions', tools);
}

/** Audits the tools that a folder's code declares, without loading any of them. */
export async function auditFolder(options: AuditOptions = {}): Promise<AuditReport> {
  return auditSource(options, (evaluator, entries) => {
    const { code } = evaluator;
    const wanted = entries.length === 0 ? undefined : reachedFrom(code.program, entries);
    const found = findTools(evaluator, (file) => wanted?.has(file.fileName) ?? !code.isTest(file));
    return found.map((tool) => {
      if (tool.name.includes(HOLE))
        return { name: code.placeOf(tool.node), reason: "its name isn't in the code" };
      return tool.handlers.length > 0 ? tool : { name: tool.name, reason: WITHOUT_CODE };
    });
  });
}

/** Follows the code of a tool and compares it with what the tool declares. */
export function audited(
  evaluator: Evaluator,
  known: KnownCalls,
  { name, node, declared, handlers }: ToolInCode,
): ToolAudit {
  return judgeTool(
    name,
    evaluator.code.placeOf(node),
    declared,
    followCalls(evaluator, known, handlers, node),
  );
}

interface Skipped {
  readonly name: string;
  readonly reason: string;
}

/** Audits the tools that `find` returns from a folder's code, except for those that have a verdict already. */
async function auditSource(
  options: AuditOptions,
  find: (
    evaluator: Evaluator,
    entries: readonly string[],
  ) => readonly (ToolInCode | ToolAudit | Skipped)[],
): Promise<AuditReport> {
  const {
    root: given = process.cwd(),
    entries = [],
    known,
  } = checkOptions(z.strictObject(shape), options, 'options of auditTools');
  const root = resolve(given);
  if ((await stat(root).catch(() => undefined))?.isDirectory() !== true)
    throw invalidArgument('root as a folder that exists', given);
  await loadTypeScript();
  const files = entries.map((file) => resolve(root, file));
  const { program, unread } = loadProgram(root, files);
  const evaluator = new Evaluator(new Code(program, root));
  const calls = new KnownCalls(evaluator, known);
  const tools: ToolAudit[] = [];
  const skipped: Skipped[] = [];
  for (const found of find(evaluator, files))
    if ('reason' in found) skipped.push(found);
    else tools.push('verdict' in found ? found : audited(evaluator, calls, found));
  for (const file of unread)
    skipped.push({
      name: withSlashes(relative(root, file)),
      reason: 'too large or nested too deeply',
    });
  const name = (await nameOf(root)) ?? basename(root);
  const folder = relative(process.cwd(), root) || '.';
  return { subject: { name, folder }, tools, blocking: blockingIn(tools), skipped };
}

/** Counts the unknown tools that each unresolved call blocks. */
function blockingIn(tools: readonly ToolAudit[]): AuditReport['blocking'] {
  const counts = new Map<string, number>();
  for (const { verdict, unknowns } of tools)
    for (const call of new Set(verdict === 'unknown' ? unknowns.map((each) => each.call) : []))
      counts.set(call, (counts.get(call) ?? 0) + 1);
  return [...counts]
    .map(([call, count]) => ({ call, tools: count }))
    .sort((a, b) => b.tools - a.tools);
}

/** Returns the files and everything that they import. */
function reachedFrom(program: Program, files: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const checker = program.getTypeChecker();
  const add = (file: SourceFile | undefined): void => {
    if (file === undefined || file.isDeclarationFile || reached.has(file.fileName)) return;
    reached.add(file.fileName);
    for (const statement of file.statements) {
      const { moduleSpecifier } = statement as {
        readonly moduleSpecifier?: Expression;
      };
      const symbol = moduleSpecifier && checker.getSymbolAtLocation(moduleSpecifier);
      const declaration = symbol?.valueDeclaration;
      if (declaration !== undefined && ts.isSourceFile(declaration)) add(declaration);
    }
  };
  for (const file of files) add(program.getSourceFile(file));
  return reached;
}

async function nameOf(folder: string): Promise<string | undefined> {
  const file = join(folder, 'package.json');
  // Reading a named pipe would never end.
  if ((await stat(file).catch(() => undefined))?.isFile() !== true) return undefined;
  try {
    const data: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isPlainObject(data) && typeof data['name'] === 'string' ? data['name'] : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Asserts that no tool does more than it declares. Works in vitest, Jest and node:test.
 *
 * ```js
 * it('does what it says', () => expectHonest(registry, { root: 'src' }), 60_000);
 * ```
 *
 * @throws AssertionError with every lie, and the path to the call that proves it.
 */
export async function expectHonest(
  source: ToolMetadataRegistry | readonly ToolDefinition[],
  options: HonestOptions = {},
): Promise<void> {
  const { baseline, ...rest } = options;
  const report = await auditTools(source, rest);
  const accepted = baseline === undefined ? [] : readBaseline(baseline);
  const lying = newLies(applyBaseline(report.tools, accepted).tools);
  if (lying.length === 0) return;
  const told = lying.flatMap(({ name, findings }) => [
    `  ${name}`,
    ...liesIn(findings).flatMap(({ message, effect, known: isKnown }) =>
      isKnown === true ? [] : [`    ${message}`, `      ${wayOf(effect!)}`],
    ),
  ]);
  const more = `${lying.length} that ${lying.length === 1 ? 'does' : 'do'} more`;
  const expected = expectedGot('tools that do what they declare', more);
  const message = `${expected}\n\n${told.join('\n')}\n\nCorrect the declarations or the code.`;
  throw new AssertionError({
    message,
    actual: lying.map(({ name }) => name),
    expected: [],
    operator: 'expectHonest',
    stackStartFn: expectHonest,
  });
}
