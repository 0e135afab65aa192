import { glob } from 'tinyglobby';
import { AssertionError } from 'node:assert';
import { readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { aFunction, checkOptions, milliseconds, text, type FieldsOf } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { isRegistry } from '../../registry/is-registry.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Effect, TracedTool } from '../effect.js';
import type { AuditKnowledge } from '../known/known-value.js';
import { traceTools } from '../trace/trace-tools.js';
import { runTools, type RunChoice, type RunResult } from '../run/run-tools.js';
import { applyBaseline, liesIn, newLies, readBaseline } from './baseline.js';
import { factsOfEntry, type DeclaredFacts } from './declared-facts.js';
import { judgeTool, type AuditFinding, type ToolAudit } from './judge-tool.js';

/** The audited tools, with a verdict for each. */
export interface AuditReport {
  readonly subject: {
    readonly kind: 'tools' | 'mcp-server';
    readonly name: string;
    readonly version?: string;
    /**
     * The audited folder, relative to the working directory. All places in the report are relative
     * to this folder.
     */
    readonly folder: string;
  };
  readonly tools: readonly ToolAudit[];
  /** The effects that nearly all tools share, such as writing logs. The verdicts ignore them. */
  readonly shared: readonly Effect[];
  /** The tools and files that weren't audited, with the reasons. */
  readonly skipped: readonly Skipped[];
  /**
   * The effects observed when running tools, and the limits that applied. Missing if no tool ran.
   */
  readonly ran?: RunResult;
}

/** A tool or file that wasn't audited. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

/** Options that all kinds of audits share. */
interface TraceOptions {
  /**
   * The effects of calls and programs that the built-in tables don't know or get wrong.
   * @default none
   */
  readonly known?: AuditKnowledge;
  /** Receives a sentence about the current step, to show progress. @default none */
  readonly onProgress?: (doing: string) => void;
}

/** Options for `auditTools`. */
export interface AuditOptions extends TraceOptions {
  /**
   * The folder with the tools' code. Places in code are relative to this folder. @default
   * process.cwd()
   */
  readonly root?: string;
  /**
   * The files that define tools, relative to the root. @default every code file below the root that
   * contains a tool's name
   */
  readonly entries?: readonly string[];
  /**
   * Effects that you observed yourself, by tool name. These effects are added to the effects found
   * in the code.
   * @default none
   */
  readonly observed?: ReadonlyMap<string, readonly Effect[]>;
  /**
   * Also runs the tools that `files` export, in scratch copies of the root, with the examples in
   * the tools' schemas. An effect observed in a run counts as proven.
   * @default no tool runs
   */
  readonly run?: RunChoice;
}

/** The option that makes an audit run tools. */
export const runChoice = z.strictObject({
  files: z.array(text()).optional(),
  inputs: z.record(z.string(), z.array(z.unknown())).optional(),
  generate: z.boolean().optional(),
  unsafe: z.boolean().optional(),
  timeoutMs: milliseconds().optional(),
} satisfies FieldsOf<RunChoice>);

/** The option that says what your own calls and programs do. */
export const knowledge = z.strictObject({
  calls: z.record(z.string(), z.enum(['read', 'write', 'none'])).optional(),
  programs: z.record(z.string(), z.enum(['read', 'write', 'unknown'])).optional(),
} satisfies FieldsOf<AuditKnowledge>);

/** Options for `expectHonest`. */
export interface HonestOptions extends AuditOptions {
  /** The parsed JSON of a baseline file, which lists the known lies. @default none */
  readonly baseline?: unknown;
}

const shape = {
  root: text().optional(),
  entries: z.array(text()).optional(),
  observed: z.instanceof(Map<string, readonly Effect[]>).optional(),
  run: runChoice.optional(),
  known: knowledge.optional(),
  onProgress: aFunction<(doing: string) => void>().optional(),
} satisfies FieldsOf<AuditOptions>;

/**
 * Compares tools' declarations with the effects of their code. Follows the code from each handler
 * through all calls. Runs tools only if `run` is set.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options or if the root isn't a folder.
 * `MISSING_PACKAGE` if oxc-parser or oxc-resolver isn't installed.
 */
export async function auditTools(
  registry: ToolMetadataRegistry,
  options: AuditOptions = {},
): Promise<AuditReport> {
  if (!isRegistry(registry)) throw invalidArgument('a ToolMetadataRegistry', registry);
  const {
    root: given = process.cwd(),
    entries,
    known,
    observed,
    run,
    onProgress,
  } = checkOptions(z.strictObject(shape), options, 'options of auditTools');
  const root = resolve(given);
  if ((await stat(root).catch(() => undefined))?.isDirectory() !== true)
    throw invalidArgument('root as a folder that exists', given);
  const all: readonly ToolEntry[] = [...registry];
  const skipped = all
    .filter(({ definition }) => definition.execute === undefined)
    .map((entry): Skipped => ({ name: entry.name, reason: whyWithoutCode(entry) }));
  const audited = all.filter(({ definition }) => definition.execute !== undefined);
  const declared = new Map(audited.map((entry) => [entry.name, factsOfEntry(entry)]));
  if (run !== undefined && run.files === undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'the files of the tools that are run',
        'none',
        "Pass them: run: { files: ['src/tools'] }. Each process loads them again.",
      ),
    );
  const ran =
    run === undefined
      ? undefined
      : await runTools(audited, { files: run.files! }, { ...run, root, onProgress });
  return auditDeclared(
    {
      kind: 'tools',
      name: (await packageOf(root)).name ?? basename(root),
      folder: relative(process.cwd(), root) || '.',
    },
    root,
    entries ?? (await filesNaming([...declared.keys()], root)),
    declared,
    { known, observed, ran, onProgress, skipped },
  );
}

function whyWithoutCode({ manual, providers, handlerRef }: ToolEntry): string {
  if (manual) return 'a user or another program does its work';
  if (providers.length > 0)
    return `its work is done by ${providers.map(({ name }) => name).join(', ')}`;
  return handlerRef === undefined
    ? 'it has no function'
    : `its function, ${handlerRef}, is not attached`;
}

interface JudgeOptions {
  readonly known: AuditKnowledge | undefined;
  readonly observed: AuditOptions['observed'] | undefined;
  readonly ran: RunResult | undefined;
  readonly onProgress: AuditOptions['onProgress'] | undefined;
  readonly skipped: readonly Skipped[];
}

/** Follows the code of each tool, and determines the tool's verdict. */
export async function auditDeclared(
  subject: AuditReport['subject'],
  root: string,
  entries: readonly string[],
  declared: ReadonlyMap<string, DeclaredFacts>,
  { known, observed, ran, onProgress, skipped }: JudgeOptions,
): Promise<AuditReport> {
  onProgress?.(`reading the code of ${declared.size} tools`);
  const traced = await traceTools(
    { root, entries, tools: [...declared.keys()].map((name) => ({ name })) },
    { known },
  );
  const tracedByName = new Map(traced.tools.map((tool) => [tool.name, tool]));
  const tools = [...declared].map(([name, facts]) => {
    const tool = tracedByName.get(name) ?? { name, handler: undefined, effects: [], unknowns: [] };
    return judgeTool(
      facts,
      withSeen(tool, [
        ...(observed?.get(name) ?? []),
        ...(ran?.tools.find((each) => each.name === name)?.effects ?? []),
      ]),
    );
  });
  return {
    subject,
    tools,
    shared: traced.shared,
    skipped: [...skipped, ...traced.skipped],
    ...(ran && { ran }),
  };
}

/**
 * Replaces a call's effect with the effect observed at the same place. A tool whose code wasn't
 * found still has no handler, no matter what was observed.
 */
function withSeen(tool: TracedTool, effects: readonly Effect[]): TracedTool {
  const seen = effects.map((effect) =>
    effect.at === '' ? { ...effect, at: tool.handler ?? tool.name } : effect,
  );
  const isSeen = ({ at, call }: Effect) =>
    seen.some((each) => each.call === call && each.at === at);
  return { ...tool, effects: [...seen, ...tool.effects.filter((effect) => !isSeen(effect))] };
}

/** Returns the package.json of a folder, or nothing if it can't be read. */
export async function packageOf(folder: string): Promise<{
  readonly name?: string;
  readonly version?: string;
  readonly bin?: unknown;
  readonly main?: unknown;
}> {
  const { name, version, bin, main } = await manifestOf(join(folder, 'package.json')).catch(
    (): Readonly<Record<string, unknown>> => ({}),
  );
  return {
    ...(typeof name === 'string' && { name }),
    ...(typeof version === 'string' && { version }),
    bin,
    main,
  };
}

/** Reads a `package.json`, but only if it's a file: reading a named pipe would never end. */
async function manifestOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  const data: unknown = (await stat(file)).isFile()
    ? JSON.parse(await readFile(file, 'utf8'))
    : undefined;
  return isPlainObject(data) ? data : {};
}

const CODE = '**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}';
const LEFT_OUT = ['**/node_modules/**', '**/*.d.{ts,mts,cts}', '**/coverage/**'];
const TESTS = /(?:^|\/)(?:tests?|__tests__|specs?)\/|\.(?:test|spec|bench)\.[cm]?[jt]sx?$/;
const BUILT = /(?:^|\/)(?:dist|build|out)\//;
/** Maximum size in bytes of a file that is searched for tools. Larger files are bundles. */
const MOST_BYTES = 2 ** 21;

/**
 * Returns the files that contain the tool's name. Tests and built files are used only if no other
 * file contains the name.
 */
async function filesNaming(names: readonly string[], root: string): Promise<readonly string[]> {
  const files = (
    await glob(CODE, { cwd: root, ignore: LEFT_OUT, followSymbolicLinks: false })
  ).sort();
  const naming = new Map<string, string[]>();
  for (const file of files) {
    const path = join(root, file);
    if ((await stat(path)).size > MOST_BYTES) continue;
    const words = new Set((await readFile(path, 'utf8')).match(/[\w.-]+/g));
    for (const name of names)
      if (words.has(name)) naming.set(name, [...(naming.get(name) ?? []), file]);
  }
  const ranks = [
    (file: string) => !TESTS.test(file) && !BUILT.test(file),
    (file: string) => !TESTS.test(file),
    () => true,
  ];
  return [
    ...new Set(
      [...naming.values()].flatMap(
        (all) => ranks.map((fits) => all.filter(fits)).find(({ length }) => length > 0) ?? [],
      ),
    ),
  ].sort();
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
  registry: ToolMetadataRegistry,
  options: HonestOptions = {},
): Promise<void> {
  const { baseline, ...rest } = options;
  const report = await auditTools(registry, rest);
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
        .map((finding) => `    ${finding.message}${wayOf(finding, '\n      ')}`)
        .join('\n')}`,
  );
  const message = `${expectedGot(`${tools.length} tools that do what they declare`, `${lying.length} that ${lying.length === 1 ? 'does' : 'do'} more`)}\n\n${told.join('\n')}\n\nCorrect the declarations: tooldex audit --fix shows how.`;
  throw new AssertionError({
    message,
    actual: lying.map(({ name }) => name),
    expected: [],
    operator: 'expectHonest',
    stackStartFn: expectHonest,
  });
}

/** Returns the path from the handler to the call. */
export function wayOf({ effect }: AuditFinding, before = ''): string {
  return effect === undefined
    ? ''
    : `${before}${[...effect.via.filter((place) => place !== effect.at), effect.at].join(' → ')}`;
}
