/** The kinds of effect that a tool can have, on what it reads and on what it changes. */
export type EffectKind = 'fs-read' | 'fs-write' | 'net-read' | 'net-write' | 'process-spawn' | 'db-read' | 'db-write' | 'memory-state' | 'browser-action' | 'env-read';

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
