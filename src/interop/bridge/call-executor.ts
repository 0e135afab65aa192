import type { DangerLevel } from '../../core/enums.js';
import type { ToolErrorCode } from '../../core/errors.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { CallContext, Decision, PendingApproval, ToolCall } from '../../safety/calls.js';

/** Asks a person about one call; anything but `true` (or other arguments for it) is a no. */
export type AskPerson = (pending: PendingApproval, options: { readonly signal?: AbortSignal | undefined }) => boolean | { readonly input: unknown } | Promise<boolean | { readonly input: unknown }>;

export interface CallOptions extends CallContext {
  readonly signal?: AbortSignal;
  readonly confirm?: AskPerson;
}

/** What became of a call, as far as other frameworks can be told. */
export type ExecutorOutcome =
  | { readonly status: 'ok'; readonly value: unknown }
  | { readonly status: 'error'; readonly code: ToolErrorCode; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }
  | { readonly status: 'ask_user'; readonly question: string; readonly options?: readonly string[] }
  | { readonly status: 'halt'; readonly reason: string; readonly value: unknown }
  | { readonly status: 'manual' }
  | { readonly status: 'denied'; readonly reason: string; readonly rule: string; readonly danger: DangerLevel }
  | { readonly status: 'approval_required'; readonly pending?: PendingApproval };

/** What makes the calls: a `ToolExecutor` fits. */
export interface CallExecutor {
  execute(call: ToolCall, options?: CallOptions): Promise<ExecutorOutcome>;
  /** What its policy would decide; without it, calls that need a yes are found out about when they are made. */
  dryRun?(calls: readonly ToolCall[], options?: CallContext): Promise<readonly { readonly decision: Decision; readonly refused?: string }[]>;
  /** Tells of progress. @returns what ends it. */
  on?(listener: (event: ToolEvent) => void): () => void;
}
