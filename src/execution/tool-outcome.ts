import type { DangerLevel } from '../core/enums.js';
import type { ToolErrorCode } from '../core/errors.js';
import type { PendingApproval, PendingManualCall, PendingQuestion } from '../safety/pending.js';

/** What became of one call: exactly one of these, whatever the tool did. */
export type ToolOutcome = OutcomeFacts &
  (
    | { readonly status: 'ok'; readonly value: unknown }
    /** The tool failed, or the call could not be run. `message` is for the model. */
    | { readonly status: 'error'; readonly code: ToolErrorCode; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }
    /** The tool wants to know something; the answer is its result. */
    | { readonly status: 'ask_user'; readonly question: string; readonly options?: readonly string[]; readonly pending: PendingQuestion }
    /** The run should end here; `value` is the call's result. */
    | { readonly status: 'halt'; readonly reason: string; readonly value: unknown }
    /** A person or another program answers. */
    | { readonly status: 'manual'; readonly pending: PendingManualCall }
    | { readonly status: 'denied'; readonly reason: string; readonly rule: string; readonly danger: DangerLevel }
    /** A person's yes is needed; with it the same call can be made again. */
    | { readonly status: 'approval_required'; readonly pending: PendingApproval }
  );

export interface OutcomeFacts {
  readonly callId: string;
  readonly toolName: string;
  readonly durationMs: number;
  /** How often the tool was started: 0 when it was refused or its answer came from the cache. */
  readonly attempts: number;
  readonly cached: boolean;
  /** Which provider answered, for tools that have several. */
  readonly provider?: string;
}

/** An outcome without the facts of its call. */
export type OutcomeBody = ToolOutcome extends infer Each ? (Each extends OutcomeFacts ? Omit<Each, keyof OutcomeFacts> : never) : never;
