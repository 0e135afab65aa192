import { AccessMode, SideEffect } from '../core/enums.js';

/** The kinds of effect that a tool can have, on what it reads and on what it changes. */
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

/** What one call of a function does outside the function, before it is known where the call stands. */
export interface CallEffect {
  readonly kind: EffectKind;
  /** `write` changes something that outlives the tool's call; `unknown` depends on what the code does not show. */
  readonly access: 'read' | 'write' | 'unknown';
  /** For a write: true when it overwrites, deletes or stops something, false when it only adds, null when that is not known. */
  readonly destructive: boolean | null;
  /** For a write: true when the same call again changes nothing more, null when that is not known. */
  readonly idempotent: boolean | null;
  /** The call in the terms of its own documentation, as `fs.writeFile` or `git commit`. */
  readonly call: string;
}

/** One effect of a tool, with the way from its handler to the call that decides. */
export interface Effect extends CallEffect {
  /** `does`: an accepted input leads there; `may`: an argument, an environment or unknown code decides. */
  readonly certainty: 'does' | 'may';
  /** The argument of the tool that decides. Missing when none is known to. */
  readonly argument?: string;
  /** `file:line` of the call, relative to the folder that was audited. */
  readonly at: string;
  /** The places on the way, `file:line`, from the handler on. */
  readonly via: readonly string[];
}

/** What the code of one tool was found to do. */
export interface TracedTool {
  readonly name: string;
  /** `file:line` of the function that handles calls, undefined when none was found. */
  readonly handler: string | undefined;
  readonly effects: readonly Effect[];
  /** The reason why something could not be followed, for reports; empty when everything was. */
  readonly unknowns: readonly string[];
}

/** What an effect is in the words of this package's metadata; `words` are for reports. */
interface Meaning {
  readonly words: string;
  readonly accessMode: AccessMode;
  readonly sideEffects: readonly SideEffect[];
}

interface KindMeaning {
  /** True for what leaves the machine, or acts in a browser (`openWorldHint`); null where the kind does not say. */
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

/** The one table from effects to metadata; execution category, danger and annotations follow from it. What only reads this machine is no side effect. */
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

/** Returns what an effect means; one that is not known counts as a write. */
export function meaningOf({ access, kind }: Effect): Meaning {
  return MEANING[kind][access === 'read' ? 'reads' : 'writes'];
}

/** Returns what an effect does, in words: `changes files (fs.writeFile) where "filename" says so`. */
export function doingOf(effect: Effect): string {
  const { access, argument, call, certainty } = effect;
  const words =
    access === 'unknown' || (certainty === 'may' && argument === undefined)
      ? `perhaps ${meaningOf(effect).words}`
      : meaningOf(effect).words;
  return `${words} (${call})${certainty === 'may' && argument !== undefined ? ` where "${argument}" says so` : ''}`;
}

/** Returns true for an effect to which an accepted input leads: always, or where an argument says so. */
export function isProven({ certainty, argument }: Effect): boolean {
  return certainty === 'does' || argument !== undefined;
}
