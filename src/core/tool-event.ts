import type { DangerLevel } from './enums.js';
import type { ToolErrorCode } from './errors.js';
import type { FlowLabel } from './flow.js';

// A user's generated declarations can inline type aliases, but not interfaces.

/** The fields that every event about a call has. */
export type CallFacts = {
  readonly callId: string;
  readonly toolName: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly principal?: string;
  readonly conversationId?: string;
};

/** The decision about a call. */
export type Verdict = 'allow' | 'confirm' | 'deny';

/** The way a call ended. */
type OutcomeStatus =
  'ok' | 'error' | 'ask_user' | 'halt' | 'manual' | 'denied' | 'approval_required';

/** An event about tool calls. A single stream serves audit, health, metrics, and progress. */
export type ToolEvent =
  | (CallFacts & {
      readonly type: 'decision';
      readonly verdict: Verdict;
      readonly reason: string;
      readonly rule: string;
      readonly danger: DangerLevel;
    })
  | (CallFacts & {
      readonly type: 'approval';
      /**
       * `covered` means that a grant covered the call, so the user wasn't asked. For `covered`,
       * `pendingId` is the grant's id.
       */ readonly state: 'requested' | 'granted' | 'denied' | 'redeemed' | 'refused' | 'covered';
      readonly pendingId: string;
      readonly reason?: string;
    })
  /**
   * The call is about to add a label that the conversation doesn't have yet. `from` is the host
   * in the call's arguments.
   */
  | (CallFacts & { readonly type: 'flow'; readonly label: FlowLabel; readonly from?: string })
  /**
   * A tool that declares what it reads is running without a conversation, so its labels can't be
   * stored. This event is reported only once.
   */
  | (CallFacts & { readonly type: 'flow-unknown' })
  /**
   * A call without principal and conversation waits for approval in a shared store. Another
   * executor's equal call with the same id could use the approval. This event is reported only once.
   */
  | (CallFacts & { readonly type: 'caller-unknown' })
  | (CallFacts & { readonly type: 'call-started' })
  | (CallFacts & { readonly type: 'call-progress'; readonly progress: unknown })
  | (CallFacts & {
      readonly type: 'call-settled';
      readonly status: OutcomeStatus;
      readonly code?: ToolErrorCode;
      readonly durationMs: number;
      /**
       * The number of times the tool was started: 0 if the call was refused or answered from the cache.
       */
      readonly attempts: number;
      readonly cached: boolean;
      readonly provider?: string;
      /** Marks a call that was answered while the tool was still working. */
      readonly abandoned?: true;
    })
  /** The call was answered while its work was still running. */
  | (CallFacts & { readonly type: 'call-abandoned' })
  /** The cache isn't used, because it's unknown which state the result depends on. */
  | (CallFacts & { readonly type: 'cache-skipped'; readonly reason: string })
  /**
   * A tool finished after its deadline, or after the caller had aborted. The result was dropped.
   */
  | (CallFacts & { readonly type: 'late-result' })
  | (ProviderFacts & {
      readonly type: 'provider-attempt';
      readonly success: boolean;
      readonly latencyMs: number;
      readonly kind: 'call' | 'check' | 'probe';
    })
  | (ProviderFacts & {
      readonly type: 'provider-ejected';
      readonly reason: string;
      readonly failures: number;
      readonly backoffMs: number;
    })
  | (ProviderFacts & { readonly type: 'provider-recovered' })
  | { readonly type: 'state-unavailable' | 'state-available'; readonly at: number };

/** The fields that every event about a provider has. */
export type ProviderFacts = {
  readonly toolName: string;
  readonly provider: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};
