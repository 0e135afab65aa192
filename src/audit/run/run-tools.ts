import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { isDangerous } from '../../core/enum-order.js';
import { isToolError } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';
import { sampleOf } from '../../json-schema/sample-value.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Effect } from '../effect.js';
import { changesSince, makeScratch, snapshotOf, type Change, type Scratch } from './scratch.js';
import {
  distinctEffects,
  effectsOfSeen,
  hostsIn,
  placesIn,
  requestIn,
  withoutSockets,
  type Seen,
  type SeenHost,
} from './seen-effects.js';
import {
  GAPS_OF_A_PRELOAD,
  openSession,
  type RunAnswer,
  type RunSubject,
  type Session,
} from './session.js';

/** Options for running tools in an audit. */
export interface RunOptions {
  /**
   * The folder that is copied for each tool. Places in code are relative to it. @default an empty
   * one
   */
  readonly root?: string | undefined;
  /**
   * Another folder with audited code, such as a server's package. It isn't copied. @default none
   */
  readonly code?: string | undefined;
  /** The inputs of tools by name, in addition to the `examples` in their schemas. @default none */
  readonly inputs?: Readonly<Record<string, readonly unknown[]>> | undefined;
  /** Runs tools that have no input with a minimal one that fits their schema. @default false */
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
   * them.
   */
  readonly files?: readonly string[] | undefined;
}

/** The effects observed when running a tool. */
export interface RunReport {
  readonly name: string;
  /** The way its first call ended. If the tool failed, some effects may be missing. */
  readonly status: RunAnswer['status'];
  readonly message?: string;
  /** Its effects. `at` is empty if no place in the code is known. */
  readonly effects: readonly Effect[];
  readonly files: readonly {
    readonly path: string;
    readonly where: 'root' | 'outside';
    readonly change: Change['change'] | 'refused';
  }[];
  readonly programs: readonly string[];
  readonly hosts: readonly SeenHost[];
  /** The names of the environment variables that it read, or `*` for all. */
  readonly env: readonly string[];
  readonly ms: number;
  /**
   * True if a second identical call changed anything more, so that the tool isn't idempotent. Null
   * if that's unknown.
   */
  readonly secondChanged: boolean | null;
}

/** The effects observed when running tools, and the limits they ran under. */
export interface RunResult {
  readonly tools: readonly RunReport[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly held: {
    readonly by: readonly string[];
    readonly gaps: readonly string[];
  };
}

/** Maximum number of inputs that each tool runs with. */
const MOST_INPUTS = 3;
/** Maximum number of tools that run in parallel. Each has its own processes. */
const MOST_AT_ONCE = 4;

/**
 * Runs tools to observe their effects. Each tool runs in its own processes and in a scratch copy of
 * the root, twice in a row. The network and programs are replaced with stubs.
 *
 * @param tools The tools to run. @default all tools of a server
 * @throws ToolError for a server that doesn't start, or starts without the recorder.
 */
export async function runTools(
  tools: readonly ToolEntry[] | undefined,
  subject: RunSubject,
  options: RunOptions,
): Promise<RunResult> {
  const skipped: { readonly name: string; readonly reason: string }[] = [];
  const notes = new Set<string>();
  const entries = tools ?? (await entriesOf(subject, options));
  const reports = new Map<ToolEntry, RunReport>();
  const left = entries.flatMap((entry) => {
    const inputs = inputsOf(entry, options);
    if (typeof inputs !== 'string') return [{ entry, inputs }];
    skipped.push({ name: nameOf(entry), reason: inputs });
    return [];
  });
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { entry, inputs } = next;
      options.onProgress?.(`running ${nameOf(entry)}`);
      try {
        reports.set(entry, await runOne(entry, inputs, subject, options, notes));
      } catch (error) {
        skipped.push({
          name: nameOf(entry),
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, availableParallelism()) }, work));
  const by = [...(notes.size === 0 ? ['Node’s permission model'] : []), 'the recorder'];
  return {
    tools: entries.flatMap((entry) => reports.get(entry) ?? []),
    skipped,
    held: {
      by,
      gaps: [...GAPS_OF_A_PRELOAD, ...notes],
    },
  };
}

/** The tool's name, or its name at the server if it has one. */
const nameOf = ({ name, providers }: ToolEntry) =>
  providers[0]?.name === 'mcp' ? String(providers[0].config?.['tool']) : name;

/** Lists a server's tools, under the same limits as calls. */
async function entriesOf(subject: RunSubject, options: RunOptions): Promise<readonly ToolEntry[]> {
  return inScratch(subject, options, false, async ({ session: { entries = [] } }) =>
    Promise.resolve(entries),
  );
}

/** Returns the inputs to run a tool with, or the reason why it doesn't run. */
function inputsOf(
  entry: ToolEntry,
  { inputs = {}, generate = false, unsafe = false }: RunOptions,
): readonly unknown[] | string {
  if (entry.manual || (entry.definition.execute === undefined && entry.providers.length === 0))
    return 'a user or another program does its work';
  if (!unsafe && requiresApproval(entry))
    return `its calls need approval: it ${entry.requiresConsent ? 'requires consent' : isDangerous(entry.dangerLevel) ? `declares or is given the danger ${entry.dangerLevel}` : `is declared ${entry.accessMode}`}`;
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

/** The observations from two calls in one process. */
interface Phase {
  readonly answers: readonly RunAnswer[];
  /** The changes after the first call, and after both. */
  readonly first: readonly Change[];
  readonly both: readonly Change[];
  readonly records: readonly Seen[];
  readonly effects: readonly Effect[];
  readonly ms: number;
}

async function runOne(
  entry: ToolEntry,
  inputs: readonly unknown[],
  subject: RunSubject,
  options: RunOptions,
  notes: Set<string>,
): Promise<RunReport> {
  const seen: Phase[] = [];
  const effects: Effect[] = [];
  let secondChanged: boolean | null = null;
  for (const [index, input] of inputs.entries()) {
    const run = async (): Promise<Phase> => {
      const phase = await runPhase(entry, input, subject, options, notes);
      seen.push(phase);
      effects.push(...phase.effects);
      return phase;
    };
    const twice = await run();
    if (!hasEnded(twice.answers)) continue;
    const more = stateOf(twice.first) !== stateOf(twice.both);
    if (more || secondChanged === null) secondChanged = more;
    const [one, two] = twice.answers;
    const answersDiffer =
      one!.status === 'ok' && two!.status === 'ok' && one!.digest !== two!.digest;
    if (index > 0 || !answersDiffer || twice.both.length > 0) continue;
    // Differences due to chance or the clock also occur in another process.
    const again = await run();
    if (again.answers.some(({ digest }, at) => digest !== twice.answers[at]!.digest)) continue;
    secondChanged = true;
    effects.push({
      kind: 'memory-state',
      access: 'write',
      destructive: null,
      idempotent: false,
      call: 'state in memory, because the same call returns something else the second time',
      certainty: 'does',
      at: '',
      via: [],
    });
  }
  const { status, message } = seen[0]!.answers[0]!;
  const records = seen.flatMap((phase) => phase.records);
  const changes = seen.flatMap((phase) => [...phase.first, ...phase.both]);
  const inPackage = (path: string) =>
    options.code !== undefined && path.startsWith(options.code)
      ? relative(options.code, path)
      : path;
  const refused = records.flatMap((record) =>
    record.refused === true
      ? (record.targets ?? []).map((path) => ({
          path: inPackage(path),
          where: 'outside' as const,
          change: 'refused' as const,
        }))
      : [],
  );
  // It's unknown what a refused write would have led to.
  if (refused.length > 0) secondChanged = null;
  const files = [
    ...changes.map(({ path, change }) => ({
      path,
      where: path.startsWith('../') ? ('outside' as const) : ('root' as const),
      change,
    })),
    ...refused,
  ];
  const programs = records.flatMap(({ module, args: [program, words] }) =>
    module === 'child_process'
      ? [[program, ...(Array.isArray(words) ? (words as readonly unknown[]) : [])].join(' ')]
      : [],
  );
  const env = records.flatMap(({ module, path }) =>
    module === 'process' && path[0] === 'env' ? [path[1]!] : [],
  );
  return {
    name: nameOf(entry),
    status,
    ...(message !== undefined && { message }),
    effects: distinctEffects(effects).map((effect) =>
      effect.kind === 'fs-write' && secondChanged !== null
        ? { ...effect, idempotent: !secondChanged }
        : effect,
    ),
    files: [...new Map(files.map((file) => [`${file.change} ${file.path}`, file])).values()],
    programs: [...new Set(programs)],
    hosts: hostsIn(records),
    env: [...new Set(env)].sort(),
    ms: seen[0]!.ms,
    secondChanged,
  };
}

const stateOf = (changes: readonly Change[]) =>
  JSON.stringify(changes.map(({ path, content }) => [path, content]).sort());
interface Opened {
  readonly session: Session;
  readonly scratch: Scratch;
  /** The requests that reached the sink. */
  readonly asked: readonly Seen[];
}

/**
 * Starts a process in a scratch folder, with a sink instead of the network. Removes both after the
 * work.
 */
async function inScratch<T>(
  subject: RunSubject,
  { root }: RunOptions,
  isPermitted: boolean,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const scratch = makeScratch(root);
  const asked: Seen[] = [];
  const sink = createServer((request, response) => {
    asked.push({
      module: 'http',
      path: ['request'],
      args: [request.method, `http://${request.headers.host ?? 'unknown'}${request.url}`],
      frames: [],
    });
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end('{}');
  });
  sink.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((done) => sink.listen(scratch.sink, done));
  try {
    const session = await openSession(subject, scratch, root, isPermitted);
    try {
      return await work({ session, scratch, asked });
    } finally {
      await session.close();
    }
  } finally {
    sink.closeAllConnections();
    sink.close();
    scratch.remove();
  }
}

/** Makes two calls in a new process. */
async function runPhase(
  entry: ToolEntry,
  input: unknown,
  subject: RunSubject,
  options: RunOptions,
  notes: Set<string>,
): Promise<Phase> {
  const { timeoutMs = 10_000 } = options;
  const work = async ({ session, scratch, asked }: Opened): Promise<Phase> => {
    const call = (id: string) =>
      session.call({ id, name: nameOf(entry), input, timeoutMs, scratch: scratch.folder });
    const before = snapshotOf(scratch);
    const from = statSync(scratch.record).size;
    const startedAt = performance.now();
    const answers = [await call('1')];
    const ms = Math.round(performance.now() - startedAt);
    const first = changesSince(scratch, before);
    if (hasEnded(answers)) answers.push(await call('2'));
    await session.close();
    const both = changesSince(scratch, before);
    const records = readRecord(scratch, from);
    const seen = {
      answers,
      first,
      both,
      records: [...records, ...unseenRequests(asked, records)],
      ms,
    };
    return { ...seen, effects: effectsIn(seen, scratch, options) };
  };
  const held = await inScratch(subject, options, true, work).catch((error: unknown) => {
    if (!isToolError(error)) throw error;
  });
  if (
    held?.answers.some(({ message }) => message !== undefined && RESTRICTED.test(message)) === false
  )
    return held;
  notes.add(
    `Node’s permission model is off for ${nameOf(entry)}: it ${held === undefined ? 'does not start' : 'cannot do its work'} under it`,
  );
  return inScratch(subject, options, false, work);
}

/**
 * The messages of Node's permission model when it refuses something. It also refuses some things
 * inside its bounds, such as changing the mode of an open file.
 */
const RESTRICTED = /Access to this API has been restricted|permission model is enabled/i;

const hasEnded = (answers: readonly RunAnswer[]) =>
  answers.every(({ status }) => status !== 'timeout' && status !== 'crashed');

/**
 * Reads the lines that a recorder has written since some position. If its process was killed, the
 * last line may be cut.
 */
function readRecord({ record }: Scratch, from: number): readonly Seen[] {
  const rows = readFileSync(record).subarray(from).toString('utf8').split('\n');
  return rows.flatMap((row) => {
    try {
      return [JSON.parse(row) as Seen];
    } catch {
      return [];
    }
  });
}

/** Returns the requests that reached the sink without going through the recorded functions. */
function unseenRequests(asked: readonly Seen[], records: readonly Seen[]): readonly Seen[] {
  const known = new Set(records.map((record) => JSON.stringify(requestIn(record))));
  return asked.filter((request) => !known.has(JSON.stringify(requestIn(request))));
}

/**
 * Returns the effects of two calls. Writes in the scratch folder count only if they leave something
 * behind.
 */
function effectsIn(
  { records, first, both }: Omit<Phase, 'effects'>,
  scratch: Scratch,
  options: RunOptions,
): readonly Effect[] {
  const subject = [scratch.root, ...(options.code === undefined ? [] : [options.code])];
  // If the second call changes a file that the first created, it overwrites the file.
  const made = new Map(first.map(({ path, content }) => [path, content]));
  const changes = [
    ...first,
    ...both.map((each) => ({
      ...each,
      change:
        each.change === 'created' && (made.get(each.path) ?? each.content) !== each.content
          ? ('changed' as const)
          : each.change,
    })),
  ].map((each) => ({ ...each, path: join(scratch.root, each.path) }));
  const explained = new Set<string>();
  const placed = new Set(
    records.filter(({ frames }) => frames.length > 0).flatMap(({ targets = [] }) => targets),
  );
  const written = new Set<string>();
  const effects = withoutSockets(records).flatMap((record) => {
    const { module, path: steps, targets = [], refused, frames } = record;
    const hit = changes.filter(({ path }) => targets.some((target) => path.startsWith(target)));
    for (const { path } of hit) explained.add(path);
    // Deleting a missing file counts as a write. Deleting a file that the same calls created
    // doesn't.
    const isDeletion =
      /^(?:rm|rmdir|unlink)(?:Sync)?$/.test(steps.at(-1)!) &&
      !targets.some((target) => [...written].some((made) => target.startsWith(made)));
    for (const target of targets) written.add(target);
    const isWithoutTrace =
      targets.length > 0 && refused === undefined && hit.length === 0 && !isDeletion;
    const isToldElsewhere =
      targets.length > 0 && frames.length === 0 && targets.every((target) => placed.has(target));
    // A worker's effects are recorded by the worker.
    if (module === 'worker_threads' || isWithoutTrace || isToldElsewhere) return [];
    return effectsOfSeen(record, subject).map((effect): Effect => {
      if (effect.kind !== 'fs-write' || hit.length === 0 || effect.destructive === false)
        return effect;
      return {
        ...effect,
        access: 'write',
        destructive: hit.some(({ change }) => change !== 'created'),
      };
    });
  });
  const unexplained = changes.filter(({ path }) => !explained.has(path));
  if (unexplained.length === 0) return effects;
  const destructive = unexplained.some(({ change }) => change !== 'created');
  const program = records.find(({ module }) => module === 'child_process');
  const { at, via } =
    program === undefined ? { at: '', via: [] } : placesIn(program.frames, subject);
  return [
    ...effects,
    {
      kind: 'fs-write',
      access: 'write',
      destructive,
      idempotent: null,
      call: 'a change to files that no Node function made',
      certainty: 'does',
      at,
      via,
    },
  ];
}
