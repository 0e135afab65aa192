/** A call that a model or a program asks for. */
export interface ToolCall {
  /** Unique within a conversation; answers carry it. */
  readonly id: string;
  /** The tool's name or alias. */
  readonly name: string;
  /** The arguments, as plain data. @default {} */
  readonly input?: unknown;
}

/** Who calls, and in which frame; given by the program, never by the model. */
export interface CallContext {
  /** For whom the call is made: approvals, budgets and cached answers belong to them. */
  readonly principal?: string;
  /** What the principal may reach; compared with the scopes that a tool's `auth` asks for. */
  readonly scopes?: readonly string[];
  /** Under which persona the agent acts; compared with `personaAllowlist`. */
  readonly persona?: string;
  readonly conversationId?: string;
  /** Narrows the policy's own mode for this call; both hold. */
  readonly mode?: PolicyMode;
}

/**
 * How a policy treats what its rules leave open.
 *
 * `default` asks before every write and every dangerous call; `read-only` refuses whatever can change something;
 * `unattended` refuses what would have to be asked; `allow-list` refuses all tools but those listed.
 */
export const POLICY_MODES = Object.freeze(['default', 'read-only', 'unattended', 'allow-list'] as const);
export type PolicyMode = (typeof POLICY_MODES)[number];
