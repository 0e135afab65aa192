import { AccessMode, SideEffect } from '../core/enums.js';

/** The kinds of effects that a tool can have outside itself. */
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

/** The effect of one function call. `Effect` adds the call's place in the code. */
export interface CallEffect {
  readonly kind: EffectKind;
  /**
   * `write`: the call changes something that still exists afterwards. `unknown`: the code doesn't
   * show whether the call changes anything.
   */
  readonly access: 'read' | 'write' | 'unknown';
  /**
   * For a write: true if the call overwrites, deletes or stops something, false if it only adds
   * something, null if that's unknown.
   */
  readonly destructive: boolean | null;
  /** For a write: true if repeating the call changes nothing more, null if that's unknown. */
  readonly idempotent: boolean | null;
  /** The call's name in its documentation, such as `fs.writeFile` or `git commit`. */
  readonly call: string;
}

/** An effect of a tool, with the path from its handler to the call that causes it. */
export interface Effect extends CallEffect {
  /**
   * `does` if an ordinary call of the tool causes the effect. `may` if the effect depends on an
   * argument, a variable or unknown code.
   */
  readonly certainty: 'does' | 'may';
  /** The argument that decides whether the effect happens. Missing if no such argument is known. */
  readonly argument?: string;
  /** The call's `file:line`, relative to the audited folder. */
  readonly at: string;
  /** The calls on the path as `file:line`, starting with the handler. */
  readonly via: readonly string[];
}

/** The findings about the code of one tool. */
export interface TracedTool {
  readonly name: string;
  /** The handler's `file:line`, or undefined if no handler was found. */
  readonly handler: string | undefined;
  readonly effects: readonly Effect[];
  /**
   * The reasons why some code couldn't be followed, for reports. Empty if all code could be
   * followed.
   */
  readonly unknowns: readonly string[];
}

/** The tool metadata that matches an effect. Reports describe the effect with `words`. */
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
 * The tool metadata for each kind of effect. Execution category, danger and annotations are derived
 * from this metadata. Reading data on this machine isn't a side effect.
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

/** Returns the metadata for an effect. An unknown effect is treated as a write. */
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

/** Returns true if some input certainly causes the effect. */
export function isProven({ certainty, argument }: Effect): boolean {
  return certainty === 'does' || argument !== undefined;
}
