import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { isDangerous } from '../../core/enum-order.js';
import { isPlainObject } from '../../core/plain-data.js';
import { sampleOf } from '../../json-schema/sample-value.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Effect } from '../effect.js';
import { changesBetween, makeScratch, snapshotOf, type Change, type Scratch } from './scratch.js';
import {
  distinctEffects,
  effectsOfSeen,
  hostsIn,
  type Seen,
  type SeenHost,
} from './seen-effects.js';
import { openSession, type RunAnswer, type RunSubject, type Session } from './session.js';

/** Options for running tools in an audit. */
export interface RunOptions {
  /**
   * The folder that is copied for each tool. Places in code are relative to this folder. @default
   * an empty one
   */
  readonly root?: string | undefined;
  /**
   * Another folder with audited code, such as a server's package. Unlike the root, this folder
   * isn't copied.
   * @default none
   */
  readonly code?: string | undefined;
  /**
   * Inputs to call tools with, by tool name. The `examples` in the tools' schemas are used too.
   * @default none
   */
  readonly inputs?: Readonly<Record<string, readonly unknown[]>> | undefined;
  /**
   * Also runs tools that have no examples, with a minimal input that fits the tool's schema.
   * @default false
   */
  readonly generate?: boolean | undefined;
  /** Also runs tools that need approval. @default false */
  readonly unsafe?: boolean | undefined;
  /** Timeout for a call in milliseconds. @default 10,000 */
  readonly timeoutMs?: number | undefined;
  /** Receives the name of the tool that runs next. @default none */
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/** The options for running tools as part of an audit. */
export interface RunChoice extends Pick<
  RunOptions,
  'inputs' | 'generate' | 'unsafe' | 'timeoutMs'
> {
  /**
   * The files, folders or globs that export the tools, relative to the root. Each process loads
   * these files.
   */
  readonly files?: readonly string[] | undefined;
}

/** The effects observed when running a tool. */
export interface RunReport {
  readonly name: string;
  /** The outcome of the first call. If the tool failed, some effects may be missing. */
  readonly status: RunAnswer['status'];
  readonly message?: string | undefined;
  /** The tool's effects. `at` is empty for an effect whose place in the code isn't known. */
  readonly effects: readonly Effect[];
  readonly files: readonly {
    readonly path: string;
    readonly where: 'root' | 'outside';
    readonly change: Change['change'] | 'refused';
  }[];
  readonly programs: readonly string[];
  readonly hosts: readonly SeenHost[];
  /** The names of the environment variables that the tool read, or `*` for all. */
  readonly env: readonly string[];
  /**
   * True if a second identical call changed anything more, which means the tool isn't idempotent.
   * Null if that's unknown.
   */
  readonly secondChanged: boolean | null;
}

/** The effects observed when running tools, and the limits that applied. */
export interface RunResult {
  readonly tools: readonly RunReport[];
  readonly skipped: readonly NotRun[];
  readonly held: {
    readonly by: readonly string[];
    readonly gaps: readonly string[];
  };
}

/** A tool that wasn't run. */
interface NotRun {
  readonly name: string;
  readonly reason: string;
}

/** Maximum number of inputs that each tool is called with. */
const MOST_INPUTS = 3;
/** Maximum number of tools that run in parallel. Each tool has its own process. */
const MOST_AT_ONCE = 4;
/** The limits that apply to every run. */
const HELD = {
  by: ['Node’s permission model', 'the recorder'],
  gaps: [
    "reading: the user's files can be read without being copied",
    'a tool built to deceive it, which can reach Node’s own functions in other ways',
  ],
};

/**
 * Runs tools to observe their effects. Each tool runs twice in a row, in its own process and its
 * own scratch copy of the root. The network and programs are replaced with stubs.
 *
 * @param tools The tools to run. @default all tools of a server
 * @throws ToolError for a server that doesn't start, or starts without the recorder.
 */
export async function runTools(
  tools: readonly ToolEntry[] | undefined,
  subject: RunSubject,
  options: RunOptions,
): Promise<RunResult> {
  const entries = tools ?? (await inScratch(subject, options, ({ entries = [] }) => entries));
  const results: (RunReport | NotRun)[] = [];
  const left = [...entries.entries()];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, entry] = next;
      results[index] = await runOne(entry, subject, options).catch((error: Error) => ({
        name: nameOf(entry),
        reason: error.message,
      }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, availableParallelism()) }, work));
  return {
    tools: results.filter((each) => 'status' in each),
    skipped: results.filter((each) => 'reason' in each),
    held: HELD,
  };
}

/** The tool's name. For an MCP server's tool, the name that the server uses. */
const nameOf = ({ name, providers }: ToolEntry) =>
  providers[0]?.name === 'mcp' ? String(providers[0].config?.['tool']) : name;

/** Returns the inputs to run a tool with, or the reason why the tool doesn't run. */
function inputsOf(
  entry: ToolEntry,
  { inputs = {}, generate = false, unsafe = false }: RunOptions,
): readonly unknown[] | string {
  if (entry.manual || (entry.definition.execute === undefined && entry.providers.length === 0))
    return 'a user or another program does its work';
  if (!unsafe && requiresApproval(entry))
    return `its calls need approval: it ${entry.requiresConsent ? 'requires consent' : isDangerous(entry.dangerLevel) ? `has the danger level ${entry.dangerLevel}` : `is declared ${entry.accessMode}`}`;
  const examples = entry.inputJsonSchema['examples'];
  const own = [
    ...(Object.hasOwn(inputs, nameOf(entry)) ? inputs[nameOf(entry)]! : []),
    ...(Array.isArray(examples) ? examples.filter(isPlainObject) : []),
  ].slice(0, MOST_INPUTS);
  if (own.length > 0) return own;
  return generate
    ? [sampleOf({ ...entry.inputJsonSchema, type: 'object' })]
    : 'its input schema has no examples';
}

async function runOne(
  entry: ToolEntry,
  subject: RunSubject,
  options: RunOptions,
): Promise<RunReport | NotRun> {
  const name = nameOf(entry);
  const inputs = inputsOf(entry, options);
  if (typeof inputs === 'string') return { name, reason: inputs };
  options.onProgress?.(`running ${name}`);
  return inScratch(subject, options, async (session, scratch) => {
    const from = statSync(scratch.record).size;
    const answers: RunAnswer[] = [];
    const changes: Change[] = [];
    let secondChanged: boolean | null = null;
    let before = snapshotOf(scratch);
    /** Makes a call, and returns true if it changed files. */
    const call = async (input: unknown): Promise<boolean> => {
      const id = String(answers.length);
      answers.push(await session.call({ id, name, input, timeoutMs: options.timeoutMs ?? 10_000 }));
      const after = snapshotOf(scratch);
      const changed = changesBetween(before, after);
      changes.push(...changed);
      before = after;
      return changed.length > 0;
    };
    for (const input of inputs) {
      await call(input);
      if (answers.at(-1)!.status === 'ok')
        secondChanged = (await call(input)) || secondChanged === true;
    }
    await session.close();
    const records = readRecord(scratch, from);
    const refused = records.filter((record) => record.refused);
    // If a write was refused, the second call doesn't show whether the tool is idempotent.
    if (refused.length > 0) secondChanged = null;
    const { code } = options;
    const files = [
      ...changes.map(({ path, change }) => {
        const inRoot = relative(scratch.root, path).replaceAll('\\', '/');
        const where: 'root' | 'outside' = inRoot.startsWith('../') ? 'outside' : 'root';
        return { path: inRoot, where, change };
      }),
      ...refused
        .flatMap(({ targets }) => targets)
        .map((path) => ({
          path: code !== undefined && path.startsWith(code) ? relative(code, path) : path,
          where: 'outside' as const,
          change: 'refused' as const,
        })),
    ];
    const programs = records
      .filter(({ module }) => module === 'child_process')
      .map(({ args }) => (args.flat() as readonly string[]).join(' '));
    const env = records.flatMap(({ path: [first, variable] }) =>
      first === 'env' ? [variable!] : [],
    );
    const subjects = [scratch.root, ...(code === undefined ? [] : [code])];
    return {
      name,
      ...answers[0]!,
      effects: distinctEffects(effectsIn(records, changes, subjects)).map((effect) =>
        effect.kind === 'fs-write' && secondChanged !== null
          ? { ...effect, idempotent: !secondChanged }
          : effect,
      ),
      files: [...new Map(files.map((file) => [`${file.change} ${file.path}`, file])).values()],
      programs: [...new Set(programs)],
      hosts: hostsIn(records),
      env: [...new Set(env)].sort(),
      secondChanged,
    };
  });
}

/**
 * Starts a process in a scratch folder, with a sink in place of the network. Removes the folder and
 * the sink when the work is done.
 */
async function inScratch<T>(
  subject: RunSubject,
  { root }: RunOptions,
  work: (session: Session, scratch: Scratch) => T | Promise<T>,
): Promise<T> {
  const scratch = makeScratch(root);
  const sink = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end('{}'),
  );
  sink.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((done) => sink.listen(scratch.sink, done));
  try {
    const session = await openSession(subject, scratch, root);
    try {
      return await work(session, scratch);
    } finally {
      await session.close();
    }
  } finally {
    sink.closeAllConnections();
    sink.close();
    scratch.remove();
  }
}

/**
 * Reads the lines that a recorder has written after a position in its file. The last line may be
 * incomplete if the process was killed.
 */
function readRecord({ record }: Scratch, from: number): readonly Seen[] {
  const rows = readFileSync(record).subarray(from).toString('utf8').split('\n');
  return rows.flatMap((row) => (row.endsWith('}') ? [JSON.parse(row) as Seen] : []));
}

/**
 * Returns the effects of recorded calls. A write in the scratch folder counts as an effect only if
 * it changed something.
 */
function effectsIn(
  records: readonly Seen[],
  changes: readonly Change[],
  subject: readonly string[],
): readonly Effect[] {
  const explained = new Set<Change>();
  const placed = new Set(
    records.filter(({ frames }) => frames.length > 0).flatMap(({ targets }) => targets),
  );
  const effects = records.flatMap((record) => {
    const { targets, refused, frames } = record;
    const hit = changes.filter(({ path }) => targets.some((target) => path.startsWith(target)));
    for (const change of hit) explained.add(change);
    const isWithoutTrace = targets.length > 0 && !refused && hit.length === 0;
    // Node finishes some writes later. Such writes are skipped, because the call that started the
    // write is recorded.
    const isFinish = frames.length === 0 && targets.some((target) => placed.has(target));
    if (isWithoutTrace || isFinish) return [];
    return effectsOfSeen(record, subject).map((effect): Effect => {
      if (effect.kind !== 'fs-write' || hit.length === 0 || effect.destructive === false)
        return effect;
      const destructive = hit.some(({ change }) => change !== 'created');
      return { ...effect, access: 'write', destructive };
    });
  });
  const unexplained = changes.filter((change) => !explained.has(change));
  if (unexplained.length === 0) return effects;
  return [
    ...effects,
    {
      kind: 'fs-write',
      access: 'write',
      destructive: unexplained.some(({ change }) => change !== 'created'),
      idempotent: null,
      call: 'a change to files that no Node function made',
      certainty: 'does',
      at: '',
      via: [],
    },
  ];
}
