import path from 'node:path';
import type { Effect, TracedTool } from '../effect.js';
import type { AuditKnowledge } from '../known/known-value.js';
import { GUESSED, Handlers, type Candidate } from './handlers.js';
import { Interpreter } from './interpret.js';
import { Machine, type Condition, type Entry } from './machine.js';
import { operationsIn } from './openapi-documents.js';
import { Program, entriesOf, folderOf, packageWith, type Node, type Skipped } from './program.js';
import { argumentsIn, deepTags, mergeTags, options, type Tags } from './values.js';

interface TraceSubject {
  /** The folder with the code of a package or project. */
  readonly root: string;
  /**
   * The files where the program starts, relative to the root.
   * @default the files that package.json names
   */
  readonly entries?: readonly string[];
  /** The tools, by name. */
  readonly tools: readonly { readonly name: string }[];
}

interface TraceOptions {
  /** The time limit in milliseconds. @default 90,000 */
  readonly timeoutMs?: number;
  readonly now?: () => number;
  /** The effects of calls and programs that you know yourself. */
  readonly known?: AuditKnowledge | undefined;
}

export interface Trace {
  readonly tools: readonly TracedTool[];
  /**
   * Effects that nearly all tools share, such as logs and telemetry. These effects aren't in any
   * tool's list.
   */
  readonly shared: readonly Effect[];
  readonly skipped: readonly Skipped[];
}

/** The observations from following a tool's call. */
interface Traced {
  readonly name: string;
  readonly handler?: string | undefined;
  readonly entries: readonly Entry[];
  readonly reads: ReadonlyMap<string, ReadonlySet<Node | undefined>>;
  readonly returned: Tags;
  readonly unknowns: readonly string[];
  /**
   * The function that is probably the handler. Several tools may have the same probable handler.
   */
  readonly guess?: Node | undefined;
}

/**
 * The minimum share of tools that must make the same write, such as a log entry, for the write to
 * be treated as the server's own effect.
 */
const BOOKED = 0.8;
const MAX_BOOT_STEPS = 12_000_000;
const MAX_TOOL_STEPS = 500_000;
/**
 * Matches names of functions that log calls. A write that several tools share through such a
 * function is treated as the server's own effect.
 */
const BOOKKEEPING =
  /log(?:ger|ging)?$|^log|telemetr|track|analytic|metric|usage|histor|^audit|auth|token|credential|refresh|cache|capture|report|posthog|sentry|survey|onboard|notif|version|heartbeat|session|migrat|middleware/iu;
/** Matches names of functions that get or check something that several tools need. */
const NEEDED = /^_?#?(?:get|is|has|read|load|validate|resolve|check|require)[A-Z_]/u;
const MADE = /^_?#?(?:ensure|init|initialize|initialise|setup|connect|getOrCreate)(?:[A-Z_]|$)/u;
const BOOKS = /histor|telemetr|analytic|logger|logging|metrics|posthog|tracking|usage-?track/iu;

/**
 * Follows the code of tools from their handlers to the calls with effects. Doesn't run the code.
 * First, the program's start is followed to find the handlers. Then each handler is followed with
 * arguments whose values are unknown.
 */
export async function traceTools(
  { root, entries, tools }: TraceSubject,
  { timeoutMs = 90_000, now = Date.now, known }: TraceOptions = {},
): Promise<Trace> {
  const started = now();
  const deadline = started + timeoutMs;
  const names = new Set(tools.map(({ name }) => name));
  const entered = new Set<string>();
  for (let round = 0; ; round++) {
    const program = await Program.open(root);
    for (const pkg of entered) program.entered.add(pkg);
    const machine = new Machine(program, deadline, now);
    const interpreter = new Interpreter(machine, known);
    const handlers = new Handlers(machine, interpreter, names);
    const files =
      entries === undefined
        ? entriesOf(program.root)
        : entries.map((file) => path.resolve(program.root, file));
    start(machine, handlers, program, interpreter, files);
    // If a package only starts another package, the tools are in the other package.
    const inner =
      handlers.missing().length > Math.min(2, names.size / 2) &&
      handlers.dispatchers.length < 100 &&
      round < 4
        ? packageWith(program, files, handlers.missing())
        : undefined;
    if (inner !== undefined && !entered.has(inner.pkg) && now() < deadline) {
      entered.add(inner.pkg);
      continue;
    }
    const traced = tools.map(({ name }) => traceOne(machine, interpreter, handlers, name));
    const { tools: found, ...rest } = finish(machine, traced, program.skipped);
    // A server may generate its tools from a document. If the server's code doesn't show the
    // effects of these tools, the document does.
    const operation = found.every(({ handler }) => handler !== undefined)
      ? () => undefined
      : operationsIn(program);
    return {
      ...rest,
      tools: found.map((tool) => {
        const told = tool.handler === undefined ? operation(tool.name) : undefined;
        return told === undefined
          ? tool
          : { name: tool.name, handler: told.at, effects: told.effects, unknowns: [] };
      }),
    };
  }
}

/** Follows the program's start, and then looks for the handlers that are still missing. */
function start(
  machine: Machine,
  handlers: Handlers,
  program: Program,
  { modules }: Interpreter,
  files: readonly string[],
): void {
  machine.limit = machine.steps + MAX_BOOT_STEPS;
  for (const file of files) {
    const module = program.module(file);
    if (module !== undefined) machine.attempt(() => void modules.load(module));
  }
  machine.attempt(() => modules.initialiseBundled());
  handlers.collect();
  const search = (folder: string | undefined): void => {
    if (handlers.missing().length > 0 && folder !== undefined)
      machine.attempt(() => handlers.search(program, folder));
  };
  search(program.root);
  machine.attempt(() => handlers.makers(program, program.root));
  for (const pkg of program.entered) search(folderOf(program, files, pkg));
}

const nothing = (name: string, reason: string): Traced => ({
  name,
  entries: [],
  reads: new Map(),
  returned: [],
  unknowns: [reason],
});

function traceOne(
  machine: Machine,
  interpreter: Interpreter,
  handlers: Handlers,
  name: string,
): Traced {
  if (machine.isOver) return nothing(name, 'there was no time left');
  const candidates = [...(handlers.found.get(name) ?? [])].sort((a, b) => a.rank - b.rank);
  const [best] = candidates;
  // To see how the arguments reach the handler, the dispatcher is followed with the tool's name.
  for (const dispatcher of best?.rank === 1 ? [] : handlers.dispatchers.slice(0, 6)) {
    const { hits, traced, visited } = runOne(machine, interpreter, handlers, name, dispatcher);
    const reached = candidates.find((one) => visited.has(functionIn(one)?.node as Node));
    if (reached !== undefined)
      return { ...traced, handler: placeOfHandler(machine, reached) ?? traced.handler };
    // A dispatcher that compares the tool's name is better evidence than a function that only
    // contains it.
    if (hits > 0 && (best === undefined || best.rank >= GUESSED)) return traced;
  }
  if (best === undefined) return nothing(name, 'its handler was not found');
  const { traced } = runOne(machine, interpreter, handlers, name, best);
  return {
    ...traced,
    handler: placeOfHandler(machine, best) ?? traced.handler,
    ...(best.rank >= GUESSED && { guess: functionIn(best)?.node }),
  };
}

const functionIn = ({ fn }: Candidate) => options(fn).find((one) => one.t === 'fn');

function placeOfHandler(machine: Machine, candidate: Candidate): string | undefined {
  const fn = functionIn(candidate);
  return fn && machine.at({ module: fn.module, node: fn.node });
}

function runOne(
  machine: Machine,
  interpreter: Interpreter,
  handlers: Handlers,
  name: string,
  candidate: Candidate,
): { traced: Traced; visited: ReadonlySet<Node>; hits: number } {
  interpreter.forget();
  machine.toolName = name;
  const fn = functionIn(candidate);
  let returned: Tags = [];
  const met = machine.isolated(() => {
    machine.limit = machine.steps + MAX_TOOL_STEPS;
    const isDone = machine.attempt(() => {
      if (fn === undefined) return;
      const self = interpreter.classes.madeOf(candidate.self);
      const args = handlers.argumentsFor(candidate, name);
      const value = machine.invoke(fn, self, args, { module: fn.module, node: fn.node });
      returned = mergeTags(deepTags(value, 6), machine.touch(value, 6));
    });
    if (!isDone) machine.unknownCall('it takes too many steps to be followed');
  });
  machine.toolName = undefined;
  const { entries, firstHit, hits, reads, unknowns, visited } = met;
  const handler = firstHit ? machine.at(firstHit) : placeOfHandler(machine, candidate);
  return {
    traced: { name, handler, entries, reads, returned, unknowns: [...unknowns] },
    visited,
    hits,
  };
}

/**
 * Returns how certain an effect is under these conditions, and the argument that decides whether it
 * happens.
 */
function certaintyOf(conditions: readonly Condition[]): {
  readonly certainty: 'does' | 'may';
  readonly argument?: string;
} {
  let argument: string | undefined;
  for (const { kind, tags, special } of conditions) {
    if (kind !== 'test') return { certainty: 'may' };
    if (!special) continue;
    const [named] = argumentsIn(tags);
    if (named !== undefined) argument ??= named.slice(4);
    else if (tags.some((tag) => tag.startsWith('env:'))) return { certainty: 'may' };
  }
  return argument === undefined ? { certainty: 'does' } : { certainty: 'may', argument };
}

// ── from observations to effects ──
function finish(machine: Machine, traced: readonly Traced[], skipped: readonly Skipped[]): Trace {
  const handled = traced.filter(({ handler }) => handler !== undefined);
  // Tools with the same guessed handler count as one tool, because it's only the guess that gives
  // them the same effects.
  const handlers = new Set(handled.map(({ guess, name }) => guess ?? name)).size;
  const all = new Map(traced.map((one) => [one.name, effectsOf(machine, one, handled)]));
  const count = (
    keys: (key: string, met: Met) => Iterable<string>,
  ): ReadonlyMap<string, number> => {
    const tools = new Map<string, Set<unknown>>();
    for (const { name, guess } of traced)
      for (const one of new Set(
        [...(all.get(name) ?? [])]
          .filter(([, { effect }]) => effect.access !== 'read')
          .flatMap(([key, value]) => [...keys(key, value)]),
      ))
        tools.set(one, (tools.get(one) ?? new Set()).add(guess ?? name));
    return new Map([...tools].map(([key, some]) => [key, some.size]));
  };
  const booked = count(
    (key, { ways }) => new Set([...ways.values()].flat().map((root) => `${root} ${key}`)),
  );
  // Returns true if an effect is the server's own. Most tools share the server's logging, and all
  // tools share the code around the handlers.
  const isShared = (key: string, { ways, effect }: Met): boolean =>
    effect.access !== 'read' &&
    [...ways.values()].every((roots) =>
      roots.some(
        (root) =>
          (booked.get(`${root} ${key}`) ?? 0) >=
          (root.startsWith('way ')
            ? Math.max(3, handlers)
            : root.startsWith('made ')
              ? 2
              : Math.max(2, handlers * BOOKED)),
      ),
    );
  const shared = new Map<string, Effect>();
  const tools = traced.map(({ name, handler, unknowns }) => ({
    name,
    handler,
    effects: [...(all.get(name) ?? [])].flatMap(([key, met]) => {
      if (!isShared(key, met)) return [met.effect];
      shared.set(key, met.effect);
      return [];
    }),
    unknowns,
  }));
  return { tools, shared: [...shared.values()], skipped };
}

/**
 * An effect of a tool. For each path to the effect, `ways` contains the functions that may be
 * shared with other tools.
 */
interface Met {
  readonly effect: Effect;
  readonly ways: ReadonlyMap<string, readonly string[]>;
}

function effectsOf(
  machine: Machine,
  traced: Traced,
  handled: readonly Traced[],
): ReadonlyMap<string, Met> {
  const met = new Map<string, Met>();
  const removed = traced.entries.some(
    (entry) =>
      entry.temporary !== undefined &&
      /unlink|rm|remove/u.test(entry.effect.call) &&
      !entry.conditions.some(({ kind }) => kind === 'catch'),
  );
  for (const entry of traced.entries) {
    if (entry.temporary !== undefined && removed) continue;
    if (
      entry.state !== undefined &&
      ((!entry.state.includes('[]') && machine.once.has(entry.state)) ||
        machine.released.has(entry.state) ||
        !isSeen(entry.state, traced, handled))
    )
      continue;
    const { certainty, argument: named } = certaintyOf(entry.conditions);
    // For an unknown call, the argument decides only whether the call is made, not what the call
    // does.
    const argument = entry.effect.access === 'unknown' ? undefined : named;
    const effect: Effect = {
      ...entry.effect,
      certainty,
      ...(argument === undefined ? {} : { argument }),
      at: machine.at(entry.place),
      via: entry.via.slice(1).map((place) => machine.at(place)),
    };
    const key = `${effect.kind} ${effect.access} ${effect.call} ${effect.at}`;
    const known = met.get(key);
    const roots = rootsOf(machine, entry);
    const ways = new Map([...(known?.ways ?? []), [roots.join(), roots]]);
    met.set(key, {
      effect:
        known === undefined || strength(effect) > strength(known.effect) ? effect : known.effect,
      ways,
    });
  }
  return met;
}

/** Returns the functions on a call's path that log, or that get or check something shared. */
function rootsOf(machine: Machine, entry: Entry): readonly string[] {
  const once = entry.conditions
    .flatMap(({ tags }) => tags)
    .filter((tag) => tag.startsWith('state:') && machine.once.has(tag.slice(6)));
  let kept = false;
  const named = entry.names.flatMap((name, index) => {
    const { module } = entry.via[index + 1] ?? entry.place;
    const books =
      index > 0 && (BOOKKEEPING.test(name) || BOOKS.test(module.name.split('/').at(-1) ?? ''));
    const first = books && !kept;
    kept ||= books;
    return first || (index > 0 && (NEEDED.test(name) || MADE.test(name)))
      ? [`${MADE.test(name) ? 'made ' : ''}${name}@${module.name}`]
      : [];
  });
  const way =
    entry.effect.kind === 'net-write' || entry.effect.kind.startsWith('db-')
      ? []
      : [`way ${entry.via.map((place) => machine.at(place)).join(' ')}`];
  return [...new Set([...once, ...named, ...way])];
}

const strength = ({ certainty, argument }: Effect): number =>
  certainty === 'does' ? 2 : argument === undefined ? 0 : 1;

/**
 * Returns true if the changed memory reaches an answer, or if another tool reads the memory in a
 * different function. Locks, rate limits and counters are read only in the function that changes
 * them.
 */
function isSeen(state: string, traced: Traced, handled: readonly Traced[]): boolean {
  const tag = `state:${state}`;
  const keepers = new Set(
    handled.flatMap(({ entries }) =>
      entries.filter((entry) => entry.state === state).map(({ by }) => by),
    ),
  );
  return handled.some(
    (other) =>
      other.returned.includes(tag) ||
      (other.name !== traced.name &&
        [...(other.reads.get(state) ?? [])].some((reader) => !keepers.has(reader))),
  );
}
