/**
 * The vocabulary of tool metadata: seven enums, each a frozen object with a union type of the same name.
 *
 * They are objects rather than TypeScript `enum`s so that plain literals are accepted (`accessMode: 'write'`),
 * unused ones are dropped by bundlers, and files that use them run under type stripping.
 */

/** How eagerly a tool is offered to a model; a lower number is more important. */
export const Priority = Object.freeze({
  /** Always offered. */
  CRITICAL: 0,
  /** Offered for most tasks. */
  HIGH: 1,
  /** Offered when it fits the request. */
  MEDIUM: 2,
  /** Offered only when the request asks for it. */
  LOW: 3,
});
export type Priority = (typeof Priority)[keyof typeof Priority];

/** What running a tool may do to the world. */
export const AccessMode = Object.freeze({
  /** Changes nothing; its results may be cached. */
  READONLY: 'readonly',
  /** Changes state. */
  WRITE: 'write',
  /** Runs code or programs. */
  EXECUTE: 'execute',
  /** Several of these, or unknown. */
  MIXED: 'mixed',
});
export type AccessMode = (typeof AccessMode)[keyof typeof AccessMode];

/** How bad a wrong call can be; from `HIGH` on a person is asked. */
export const DangerLevel = Object.freeze({
  SAFE: 'safe',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
});
export type DangerLevel = (typeof DangerLevel)[keyof typeof DangerLevel];

/** What kind of work a call is, for planning which calls may run side by side. */
export const ExecutionCategory = Object.freeze({
  READ_ONLY: 'read_only',
  WRITE: 'write',
  EXECUTE: 'execute',
  COMPUTE: 'compute',
  NETWORK: 'network',
  MIXED: 'mixed',
});
export type ExecutionCategory = (typeof ExecutionCategory)[keyof typeof ExecutionCategory];

/** What a call costs. */
export const CostTier = Object.freeze({
  /** Local operations. */
  FREE: 'free',
  /** Local computing. */
  LOW: 'low',
  /** Calls to services outside. */
  MEDIUM: 'medium',
  /** Heavy on money or resources. */
  HIGH: 'high',
});
export type CostTier = (typeof CostTier)[keyof typeof CostTier];

/** What a call touches, in the words of tool manifests. */
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
 * Stages are open: a tool may name any other string, and lint reports those outside this list.
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
