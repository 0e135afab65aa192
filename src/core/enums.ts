/**
 * The vocabulary of tool metadata: seven enums, each a frozen object with a union type of the same
 * name.
 *
 * They are objects rather than TypeScript `enum`s so that plain literals work (`accessMode:
 * 'write'`), bundlers drop unused enums, and files that import them run under type stripping.
 */

/** The eagerness with which a tool is offered to a model. A lower number is more important. @enum */
export const Priority = Object.freeze({
  /** A tool that is part of every selection. */
  CRITICAL: 0,
  /** A tool for most tasks. */
  HIGH: 1,
  /** A tool for requests that it fits. */
  MEDIUM: 2,
  /** A tool only for requests that need it. */
  LOW: 3,
});
export type Priority = (typeof Priority)[keyof typeof Priority];

/** The effect that a call can have on the world. @enum */
export const AccessMode = Object.freeze({
  /** Changes nothing. Results may be cached. */
  READONLY: 'readonly',
  /** Changes state. */
  WRITE: 'write',
  /** Runs code or programs. */
  EXECUTE: 'execute',
  /** Does several of these, or isn't known. */
  MIXED: 'mixed',
});
export type AccessMode = (typeof AccessMode)[keyof typeof AccessMode];

/** The harm that a wrong call can do. Calls need approval from `HIGH` on. @enum */
export const DangerLevel = Object.freeze({
  SAFE: 'safe',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
});
export type DangerLevel = (typeof DangerLevel)[keyof typeof DangerLevel];

/** The kind of work that a call does. It decides which calls can run in parallel. @enum */
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
  /** Calls to external services. */
  MEDIUM: 'medium',
  /** Expensive calls, in money or resources. */
  HIGH: 'high',
});
export type CostTier = (typeof CostTier)[keyof typeof CostTier];

/** The effects that a call can have, as tool manifests name them. @enum */
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
 * The set is open: a tool can name any other string, and lint reports stages that aren't in this
 * list. @enum
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
