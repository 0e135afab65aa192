/**
 * The vocabulary of tool metadata: seven enums, each a frozen object with a union type of the same name.
 *
 * They are objects rather than TypeScript `enum`s so that plain literals are accepted (`accessMode: 'write'`),
 * unused ones are dropped by bundlers, and files that use them run under type stripping.
 */

/** The eagerness with which a tool is offered to a model; a lower number is more important. @enum */
export const Priority = Object.freeze({
  /** A tool for every selection. */
  CRITICAL: 0,
  /** A tool for most tasks. */
  HIGH: 1,
  /** A tool for requests that it fits. */
  MEDIUM: 2,
  /** A tool for requests that ask for it. */
  LOW: 3,
});
export type Priority = (typeof Priority)[keyof typeof Priority];

/** The effect that running a tool may have on the world. @enum */
export const AccessMode = Object.freeze({
  /** Changes nothing; its results may be cached. */
  READONLY: 'readonly',
  /** Changes state. */
  WRITE: 'write',
  /** Runs code or programs. */
  EXECUTE: 'execute',
  /** Does several of these, or is unknown. */
  MIXED: 'mixed',
});
export type AccessMode = (typeof AccessMode)[keyof typeof AccessMode];

/** The harm that a wrong call can do; calls from `HIGH` on need approval. @enum */
export const DangerLevel = Object.freeze({
  SAFE: 'safe',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
});
export type DangerLevel = (typeof DangerLevel)[keyof typeof DangerLevel];

/** The kind of work that a call does, for planning which calls may run in parallel. @enum */
export const ExecutionCategory = Object.freeze({
  READ_ONLY: 'read_only',
  WRITE: 'write',
  EXECUTE: 'execute',
  COMPUTE: 'compute',
  NETWORK: 'network',
  MIXED: 'mixed',
});
export type ExecutionCategory = (typeof ExecutionCategory)[keyof typeof ExecutionCategory];

/** The cost of a call. @enum */
export const CostTier = Object.freeze({
  /** Local operations. */
  FREE: 'free',
  /** Local computing. */
  LOW: 'low',
  /** Calls to services outside. */
  MEDIUM: 'medium',
  /** High use of money or resources. */
  HIGH: 'high',
});
export type CostTier = (typeof CostTier)[keyof typeof CostTier];

/** The effects of a call, in the words of tool manifests. @enum */
export const SideEffect = Object.freeze({
  NONE: 'none',
  WRITE: 'write',
  NETWORK: 'network',
  READ_EXTERNAL_SERVICE: 'read_external_service',
  FILESYSTEM: 'filesystem',
  COMPUTE: 'compute',
  SYSTEM: 'system',
  DATABASE: 'database',
});
export type SideEffect = (typeof SideEffect)[keyof typeof SideEffect];

/**
 * The usual phases of an agent's work.
 *
 * Stages are open: a tool may name any other string, and lint reports those outside this list. @enum
 */
export const Stage = Object.freeze({
  INITIAL: 'initial',
  PLANNING: 'planning',
  READING: 'reading',
  ANALYSIS: 'analysis',
  EXECUTION: 'execution',
  VERIFICATION: 'verification',
  COMPLETION: 'completion',
});
export type Stage = (typeof Stage)[keyof typeof Stage];
