/** The kind of thing that a call touches. */
export type EffectKind =
  'files' | 'network' | 'database' | 'program' | 'memory' | 'environment' | 'time' | 'known';

/** The effect of one call, by the documentation of what it calls. */
export interface CallEffect {
  readonly kind: EffectKind;
  /** `unknown` if neither the code nor a table says whether the call changes something. */
  readonly access: 'read' | 'write' | 'unknown';
  /** The call's name, such as `fs.writeFile` or `git commit`. */
  readonly call: string;
  /** True if the call removes or stops something. */
  readonly deletes?: boolean;
  /** True if the call moves money. */
  readonly pays?: boolean;
  /** True if only a temporary file is touched. */
  readonly temporary?: boolean;
}

/** An effect of a tool, with the path from its function to the call. */
export interface Effect extends CallEffect {
  /** The call's `file:line`, relative to the audited folder. */
  readonly at: string;
  /** The calls on the path as `file:line`, starting in the tool's function. */
  readonly via: readonly string[];
}

/** The words for reading and changing each kind of thing. */
const DOING: Readonly<Record<EffectKind, readonly [read: string, write: string]>> = {
  files: ['reads files', 'changes files'],
  network: ['reads from a service', 'changes something at a service'],
  database: ['reads a database', 'changes a database'],
  program: ['runs a program that reads', 'runs a program that changes something'],
  memory: ['reads memory', 'changes memory that later calls see'],
  environment: ['reads the environment', 'changes the environment'],
  time: ['reads the time', 'changes the time'],
  known: ['reads, as you said', 'changes something, as you said'],
};

/** Describes an effect in words: `changes files (fs.writeFile)`. */
export function doingOf({ access, call, kind }: CallEffect): string {
  const [read, write] = DOING[kind];
  return `${access === 'read' ? read : write} (${call})`;
}

/** Returns the path from the tool's function to the call. */
export function wayOf({ at, via }: Effect): string {
  return [...via.filter((place, index) => place !== via[index - 1] && place !== at), at].join(
    ' → ',
  );
}
