/** The labels of what a result carries into a conversation: the user's own data, and text that others may have written. */
export const FLOW_LABELS = Object.freeze(['private', 'untrusted'] as const);
export type FlowLabel = (typeof FLOW_LABELS)[number];

/** The side to which a call carries its arguments: nowhere but the user's own, or to others too. */
export const FLOW_TARGETS = Object.freeze(['nowhere', 'outside'] as const);
export type FlowTarget = (typeof FLOW_TARGETS)[number];

/** The call that brought a label into a conversation. */
export interface FlowCause {
  readonly toolName: string;
  readonly callId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The host from which its content came, where its arguments name one. */
  readonly from?: string;
  /** The tool does not declare what it reads; the strict side was assumed. */
  readonly inferred?: true;
}

/** The labels of a conversation: for each one the first call that brought it. An empty object means nothing. */
export type Flow = { readonly [Label in FlowLabel]?: FlowCause };
