/**
 * The vocabulary of tool metadata: seven enums, each a frozen object and a union type with the same
 * name.
 *
 * The enums are objects instead of TypeScript enums so that plain literals work (`accessMode:
 * 'write'`) and bundlers can drop unused enums. Files that import these objects also work with type
 * stripping.
 */

/**
 * The priority of a tool when tools are offered to a model. Lower numbers are more important. @enum
 */
export const Priority = Object.freeze({
  /** A priority for tools that are part of every selection. */
  CRITICAL: 0,
  /** A priority for tools that are useful for most tasks. */
  HIGH: 1,
  /** A priority for tools that are offered if they match the request. */
  MEDIUM: 2,
  /** A priority for tools that are offered only if the request needs them. */
  LOW: 3,
});
export type Priority = (typeof Priority)[keyof typeof Priority];

/** The kind of access that a call has. @enum */
export const AccessMode = Object.freeze({
  /** Changes nothing. Results can be cached. */
  READONLY: 'readonly',
  /** Changes state. */
  WRITE: 'write',
  /** Runs code or other programs. */
  EXECUTE: 'execute',
  /** Does several of the above, or it's unknown what the call does. */
  MIXED: 'mixed',
});
export type AccessMode = (typeof AccessMode)[keyof typeof AccessMode];

/** The amount of harm that a wrong call can do. Calls need approval from `HIGH` upwards. @enum */
export const DangerLevel = Object.freeze({
  SAFE: 'safe',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
});
export type DangerLevel = (typeof DangerLevel)[keyof typeof DangerLevel];

/** The kind of work that a call does. Determines which calls can run in parallel. @enum */
export const ExecutionCategory = Object.freeze({
  READ_ONLY: 'read_only',
  WRITE: 'write',
  EXECUTE: 'execute',
  COMPUTE: 'compute',
  NETWORK: 'network',
  MIXED: 'mixed',
});
export type ExecutionCategory = (typeof ExecutionCategory)[keyof typeof ExecutionCategory];

/** The approximate cost of a call. @enum */
export const CostTier = Object.freeze({
  /** Local operations. */
  FREE: 'free',
  /** Local computation. */
  LOW: 'low',
  /** Calls to external services. */
  MEDIUM: 'medium',
  /** Calls that are expensive in money or resources. */
  HIGH: 'high',
});
export type CostTier = (typeof CostTier)[keyof typeof CostTier];

/** The side effects that a call can have, named as in tool manifests. @enum */
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
 * The set is open: tools can declare any other string, and lint reports stages that aren't in this
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
