import type { DangerLevel } from './enums.js';
import type { ToolErrorCode } from './errors.js';
import type { FlowLabel } from './flow.js';

// Aliases of object types and not interfaces: declarations that users emit spell them out where they cannot be imported.

/** The facts that every event about a call carries. */
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

/** An event about the calls of tools: one stream for audit, health, metrics and progress. */
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
      /** `covered`: a grant took the place of a question; `pendingId` is then its id. */ readonly state:
        'requested' | 'granted' | 'denied' | 'redeemed' | 'refused' | 'covered';
      readonly pendingId: string;
      readonly reason?: string;
    })
  /** The call is going to read what the conversation had not read yet; `from` is the host that its arguments name. */
  | (CallFacts & { readonly type: 'flow'; readonly label: FlowLabel; readonly from?: string })
  /** A tool that declares what it reads runs without a conversation, so nothing can be kept of it; reported once. */
  | (CallFacts & { readonly type: 'flow-unknown' })
  | (CallFacts & { readonly type: 'call-started' })
  | (CallFacts & { readonly type: 'call-progress'; readonly progress: unknown })
  | (CallFacts & {
      readonly type: 'call-settled';
      readonly status: OutcomeStatus;
      readonly code?: ToolErrorCode;
      readonly durationMs: number;
      /** The number of times the tool was started: 0 if it was refused or its answer came from the cache. */
      readonly attempts: number;
      readonly cached: boolean;
      readonly provider?: string;
      /** The work of the call still ran when it was answered. */
      readonly abandoned?: true;
    })
  /** The call is answered while its work goes on. */
  | (CallFacts & { readonly type: 'call-abandoned' })
  /** The answer of a cached tool is neither looked up nor kept, because the state it belongs to is unknown. */
  | (CallFacts & { readonly type: 'cache-skipped'; readonly reason: string })
  /** A tool answered after its time was up or its caller had gone; the answer was dropped. */
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

/** The facts that every event about a provider carries. */
export type ProviderFacts = {
  readonly toolName: string;
  readonly provider: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};
