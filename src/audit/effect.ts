import { AccessMode, SideEffect } from '../core/enums.js';

/** The kinds of effects that a tool can have on its surroundings. */
export type EffectKind =
  | 'fs-read'
  | 'fs-write'
  | 'net-read'
  | 'net-write'
  | 'process-spawn'
  | 'db-read'
  | 'db-write'
  | 'memory-state'
  | 'browser-action'
  | 'env-read';

/** The effect of one function call, without its place in the code. */
export interface CallEffect {
  readonly kind: EffectKind;
  /**
   * `write` changes something that outlasts the call. `unknown` depends on facts that the code
   * doesn't show.
   */
  readonly access: 'read' | 'write' | 'unknown';
  /**
   * For a write: true if it overwrites, deletes or stops something, false if it only adds, null if
   * that's unknown.
   */
  readonly destructive: boolean | null;
  /** For a write: true if the same call again changes nothing more, null if that's unknown. */
  readonly idempotent: boolean | null;
  /** The call as named in its documentation, such as `fs.writeFile` or `git commit`. */
  readonly call: string;
}

/** An effect of a tool, with the path from its handler to the call that causes it. */
export interface Effect extends CallEffect {
  /**
   * `does` if some accepted input leads there. `may` if an argument, a variable or unknown code
   * decides.
   */
  readonly certainty: 'does' | 'may';
  /** The tool's argument that decides. Missing if none is known. */
  readonly argument?: string;
  /** The call's `file:line`, relative to the audited folder. */
  readonly at: string;
  /** The places on the path as `file:line`, starting with the handler. */
  readonly via: readonly string[];
}

/** The findings about the code of one tool. */
export interface TracedTool {
  readonly name: string;
  /** The handler's `file:line`, or undefined if no handler was found. */
  readonly handler: string | undefined;
  readonly effects: readonly Effect[];
  /**
   * The reasons why some code couldn't be followed, for reports. Empty if all of it could be
   * followed.
   */
  readonly unknowns: readonly string[];
}

/** The meaning of an effect in terms of this package's metadata. `words` are for reports. */
interface Meaning {
  readonly words: string;
  readonly accessMode: AccessMode;
  readonly sideEffects: readonly SideEffect[];
}

interface KindMeaning {
  /**
   * True for effects that leave the machine or act in a browser (`openWorldHint`). Null if the kind
   * doesn't determine it.
   */
  readonly outside: boolean | null;
  readonly reads: Meaning;
  readonly writes: Meaning;
}

const { READONLY, WRITE, EXECUTE } = AccessMode;
const reads = (words: string, ...sideEffects: readonly SideEffect[]): Meaning => ({
  words,
  accessMode: READONLY,
  sideEffects,
});
const writes = (words: string, ...places: readonly SideEffect[]): Meaning => ({
  words,
  accessMode: WRITE,
  sideEffects: [SideEffect.WRITE, ...places],
});

/**
 * The meaning of each kind of effect. Execution category, danger and annotations are derived from
 * it. Reading this machine isn't a side effect.
 */
export const MEANING: Readonly<Record<EffectKind, KindMeaning>> = {
  'fs-read': {
    outside: false,
    reads: reads('reads files'),
    writes: writes('changes files', SideEffect.FILESYSTEM),
  },
  'fs-write': {
    outside: false,
    reads: reads('looks at files'),
    writes: writes('changes files', SideEffect.FILESYSTEM),
  },
  'net-read': {
    outside: true,
    reads: reads('reads from a service', SideEffect.READ_EXTERNAL_SERVICE),
    writes: writes('changes something at a service', SideEffect.NETWORK),
  },
  'net-write': {
    outside: true,
    reads: reads('reads from a service', SideEffect.READ_EXTERNAL_SERVICE),
    writes: writes('changes something at a service', SideEffect.NETWORK),
  },
  'process-spawn': {
    outside: null,
    reads: reads('runs a program that reads'),
    writes: {
      words: 'runs a program that changes something',
      accessMode: EXECUTE,
      sideEffects: [SideEffect.SYSTEM],
    },
  },
  'db-read': {
    outside: null,
    reads: reads('reads a database', SideEffect.DATABASE),
    writes: writes('changes a database', SideEffect.DATABASE),
  },
  'db-write': {
    outside: null,
    reads: reads('reads a database', SideEffect.DATABASE),
    writes: writes('changes a database', SideEffect.DATABASE),
  },
  'memory-state': {
    outside: false,
    reads: reads('reads memory'),
    writes: writes('changes memory that later calls see'),
  },
  'browser-action': {
    outside: true,
    reads: reads('looks at a page', SideEffect.READ_EXTERNAL_SERVICE),
    writes: writes('acts in a browser', SideEffect.NETWORK),
  },
  'env-read': {
    outside: false,
    reads: reads('reads the environment'),
    writes: {
      words: 'changes the environment',
      accessMode: EXECUTE,
      sideEffects: [SideEffect.SYSTEM],
    },
  },
};

/** Returns the meaning of an effect. An unknown effect counts as a write. */
export function meaningOf({ access, kind }: Effect): Meaning {
  return MEANING[kind][access === 'read' ? 'reads' : 'writes'];
}

/** Describes an effect in words: `changes files (fs.writeFile) where "filename" says so`. */
export function doingOf(effect: Effect): string {
  const { access, argument, call, certainty } = effect;
  const words =
    access === 'unknown' || (certainty === 'may' && argument === undefined)
      ? `perhaps ${meaningOf(effect).words}`
      : meaningOf(effect).words;
  return `${words} (${call})${certainty === 'may' && argument !== undefined ? ` where "${argument}" says so` : ''}`;
}

/** Returns true if some accepted input leads to the effect, always or depending on an argument. */
export function isProven({ certainty, argument }: Effect): boolean {
  return certainty === 'does' || argument !== undefined;
}
