import { AccessMode, SideEffect } from '../../core/enums.js';
import type { Effect, EffectKind } from '../effect.js';

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
const reads = (words: string, ...sideEffects: readonly SideEffect[]): Meaning => ({ words, accessMode: READONLY, sideEffects });
const writes = (words: string, ...places: readonly SideEffect[]): Meaning => ({ words, accessMode: WRITE, sideEffects: [SideEffect.WRITE, ...places] });

/** The one table from effects to metadata; execution category, danger and annotations follow from it. What only reads this machine is no side effect. */
export const MEANING: Readonly<Record<EffectKind, KindMeaning>> = {
  'fs-read': { outside: false, reads: reads('reads files'), writes: writes('changes files', SideEffect.FILESYSTEM) },
  'fs-write': { outside: false, reads: reads('looks at files'), writes: writes('changes files', SideEffect.FILESYSTEM) },
  'net-read': { outside: true, reads: reads('reads from a service', SideEffect.READ_EXTERNAL_SERVICE), writes: writes('changes something at a service', SideEffect.NETWORK) },
  'net-write': { outside: true, reads: reads('reads from a service', SideEffect.READ_EXTERNAL_SERVICE), writes: writes('changes something at a service', SideEffect.NETWORK) },
  'process-spawn': { outside: null, reads: reads('runs a program that reads'), writes: { words: 'runs a program that changes something', accessMode: EXECUTE, sideEffects: [SideEffect.SYSTEM] } },
  'db-read': { outside: null, reads: reads('reads a database', SideEffect.DATABASE), writes: writes('changes a database', SideEffect.DATABASE) },
  'db-write': { outside: null, reads: reads('reads a database', SideEffect.DATABASE), writes: writes('changes a database', SideEffect.DATABASE) },
  'memory-state': { outside: false, reads: reads('reads memory'), writes: writes('changes memory that later calls see') },
  'browser-action': { outside: true, reads: reads('looks at a page', SideEffect.READ_EXTERNAL_SERVICE), writes: writes('acts in a browser', SideEffect.NETWORK) },
  'env-read': { outside: false, reads: reads('reads the environment'), writes: { words: 'changes the environment', accessMode: EXECUTE, sideEffects: [SideEffect.SYSTEM] } },
};

/** Returns what an effect means; one that is not known counts as a write. */
export function meaningOf({ access, kind }: Effect): Meaning {
  return MEANING[kind][access === 'read' ? 'reads' : 'writes'];
}

/** Returns what an effect does, in words: `changes files (fs.writeFile) where "filename" says so`. */
export function doingOf(effect: Effect): string {
  const { access, argument, call, certainty } = effect;
  const words = access === 'unknown' || (certainty === 'may' && argument === undefined) ? `perhaps ${meaningOf(effect).words}` : meaningOf(effect).words;
  return `${words} (${call})${certainty === 'may' && argument !== undefined ? ` where "${argument}" says so` : ''}`;
}

/** Returns true for an effect to which an accepted input leads: always, or where an argument says so. */
export function isProven({ certainty, argument }: Effect): boolean {
  return certainty === 'does' || argument !== undefined;
}
