/**
 * The labels that a result can add to a conversation: `private` for the user's own data,
 * `untrusted` for text that someone else may have written.
 */
export const FLOW_LABELS = Object.freeze(['private', 'untrusted'] as const);
export type FlowLabel = (typeof FLOW_LABELS)[number];

/** The possible destinations of a call's arguments: nowhere, or someone other than the user. */
export const FLOW_TARGETS = Object.freeze(['nowhere', 'outside'] as const);
export type FlowTarget = (typeof FLOW_TARGETS)[number];

/** The call that added a label to a conversation. */
export interface FlowCause {
  readonly toolName: string;
  readonly callId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The host that the content came from, if the call's arguments contain a host. */
  readonly from?: string;
  /** Marks a label that is only assumed, because the tool doesn't declare what it reads. */
  readonly inferred?: true;
}

/**
 * A conversation's labels, each with the first call that added the label. An empty object means
 * that the conversation has no labels.
 */
export type Flow = { readonly [Label in FlowLabel]?: FlowCause };
