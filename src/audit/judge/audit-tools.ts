import { AssertionError } from 'node:assert';
import { readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import type { Expression, Program, SourceFile } from 'typescript';
import { z } from 'zod';
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
import { findTools, type FoundTool } from '../tools/find-tools.js';
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
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
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
  return auditSource(options, (evaluator, known) => {
    const found = findTools(evaluator, (file) => !evaluator.code.isTest(file));
    const withoutCode = entries.filter(({ definition }) => definition.execute === undefined);
    return {
      tools: entries
        .filter((entry) => !withoutCode.includes(entry))
        .map((entry) =>
          auditLoaded(
            evaluator,
            known,
            entry,
            found.filter(({ name }) => name === entry.name),
          ),
        ),
      skipped: withoutCode.map(({ name }) => ({ name, reason: WITHOUT_CODE })),
    };
  });
}

const WITHOUT_CODE = 'a user, a provider or another program does its work';

function entriesOf(tools: unknown): readonly ToolEntry[] {
  if (isRegistry(tools)) return [...tools];
  if (Array.isArray(tools) && tools.every(isToolDefinition)) return tools.map(entryOf);
  throw invalidArgument('a ToolMetadataRegistry or a list of tool definitions', tools);
}

function auditLoaded(
  evaluator: Evaluator,
  known: KnownCalls,
  entry: ToolEntry,
  found: readonly FoundTool[],
): ToolAudit {
  const declared = declaredBy(entry);
  const [first] = found;
  if (first === undefined)
    return judgeTool(entry.name, '', declared, {
      effects: [],
      usesKey: false,
      unknowns: [NOT_FOUND],
    });
  return audited(evaluator, known, {
    ...first,
    declared,
    handlers: found.flatMap(({ handlers }) => handlers),
  });
}

const NOT_FOUND: Unknown = { call: 'the code of the tool, which was not found', at: '', via: [] };

/** Audits the tools that a folder's code declares, without loading any of them. */
export async function auditFolder(options: AuditOptions = {}): Promise<AuditReport> {
  return auditSource(options, (evaluator, known, entries) => {
    const wanted = entries.length === 0 ? undefined : reachedFrom(evaluator.code.program, entries);
    const found = findTools(evaluator, (file) =>
      wanted === undefined ? !evaluator.code.isTest(file) : wanted.has(file.fileName),
    );
    const isNamed = ({ name }: FoundTool) => !name.includes(HOLE);
    const hasCode = ({ handlers }: FoundTool) => handlers.length > 0;
    return {
      tools: found
        .filter((tool) => isNamed(tool) && hasCode(tool))
        .map((tool) => audited(evaluator, known, tool)),
      skipped: [
        ...found
          .filter((tool) => isNamed(tool) && !hasCode(tool))
          .map(({ name }) => ({ name, reason: WITHOUT_CODE })),
        ...found
          .filter((tool) => !isNamed(tool))
          .map(({ node }) => ({
            name: evaluator.code.placeOf(node),
            reason: "its name isn't in the code",
          })),
      ],
    };
  });
}

/** Follows the code of a tool and compares it with what the tool declares. */
export function audited(
  evaluator: Evaluator,
  known: KnownCalls,
  { name, node, declared, handlers }: FoundTool,
): ToolAudit {
  return judgeTool(
    name,
    evaluator.code.placeOf(node),
    declared,
    followCalls(evaluator, known, handlers, node),
  );
}

type Audit = (
  evaluator: Evaluator,
  known: KnownCalls,
  entries: readonly string[],
) => Pick<AuditReport, 'tools' | 'skipped'>;

async function auditSource(options: AuditOptions, audit: Audit): Promise<AuditReport> {
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
  const { tools, skipped } = audit(evaluator, new KnownCalls(evaluator, known), files);
  const name = (await nameOf(root)) ?? basename(root);
  return {
    subject: { name, folder: relative(process.cwd(), root) || '.' },
    tools,
    blocking: blockingIn(tools),
    skipped: [
      ...skipped,
      ...unread.map((file) => ({
        name: relative(root, file),
        reason: 'too large or nested too deeply',
      })),
    ],
  };
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
 * it('does what it says', () => expectHonest(registry, { root: 'src' }));
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
  const tools =
    baseline === undefined
      ? report.tools
      : applyBaseline(report.tools, readBaseline(baseline)).tools;
  const lying = newLies(tools);
  if (lying.length === 0) return;
  const told = lying.map(
    ({ name, findings }) =>
      `  ${name}\n${liesIn(findings)
        .filter(({ known }) => known !== true)
        .map(linesOf)
        .join('\n')}`,
  );
  const message = `${expectedGot(`${tools.length} tools that do what they declare`, `${lying.length} that ${lying.length === 1 ? 'does' : 'do'} more`)}\n\n${told.join('\n')}\n\nCorrect the declarations or the code.`;
  throw new AssertionError({
    message,
    actual: lying.map(({ name }) => name),
    expected: [],
    operator: 'expectHonest',
    stackStartFn: expectHonest,
  });
}

function linesOf({ message, effect }: ToolAudit['findings'][number]): string {
  return `    ${message}${effect === undefined ? '' : `\n      ${wayOf(effect)}`}`;
}
