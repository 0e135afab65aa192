import type { DangerLevel } from '../core/enums.js';
import type { Flow } from '../core/flow.js';
import type { ToolErrorCode } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import type { Verdict } from '../core/tool-event.js';
import type { ContentPart } from '../tool/content.js';
import type { Preview } from '../core/preview.js';
import type { Question } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A call that a model or program wants to make. */
export interface ToolCall {
  /** Unique within a conversation. Answers refer to this id. */
  readonly id: string;
  /** The tool's name or alias. */
  readonly name: string;
  /** The arguments, as plain data. @default {} */
  readonly input?: unknown;
}

/**
 * The caller and the circumstances of a call. The context comes from the program, never from the
 * model. A missing field means unknown, and an unknown value never allows a call.
 */
export interface CallContext {
  /**
   * The user on whose behalf the call is made. Approvals, budgets, and cached results are kept
   * separately for each principal.
   */
  readonly principal?: string;
  /** The principal's scopes, compared with the scopes that a tool's `auth` requires. */
  readonly scopes?: readonly string[];
  /** The flags that are set, compared with a manifest's `requires_flags`. */
  readonly flags?: readonly string[];
  /** The agent's persona, compared with `personaAllowlist`. */
  readonly persona?: string;
  /**
   * The conversation to which the call belongs. Repeats, budgets, and cached results are tracked
   * per conversation.
   */
  readonly conversationId?: string;
  /**
   * A mode for this call, in addition to the policy's own mode. The call must be allowed by both
   * modes.
   */
  readonly mode?: PolicyMode;
  /**
   * The conversation's labels, filled in by the executor. If missing, it's unknown what the
   * conversation has read.
   */
  readonly flow?: Flow;
}

/**
 * The policy modes. The mode decides on calls that no rule covers.
 *
 * - `default` asks for approval of every write and every dangerous call.
 * - `read-only` denies everything that can change something.
 * - `unattended` denies everything that would need approval.
 * - `allow-list` denies all tools that aren't listed.
 */
export const POLICY_MODES = Object.freeze([
  'default',
  'read-only',
  'unattended',
  'allow-list',
] as const);
export type PolicyMode = (typeof POLICY_MODES)[number];

/** A policy's decision: whether a call can run, and why. */
export interface Decision {
  readonly verdict: Verdict;
  /**
   * The reason in words, for the user who is asked for approval or for the model whose call is
   * denied.
   */
  readonly reason: string;
  /** The name of the rule or built-in check behind the decision. Models don't see this name. */
  readonly rule: string;
  /** The danger of this call: the tool's level, or a higher level caused by the arguments. */
  readonly danger: DangerLevel;
}

/**
 * An object that decides on calls, such as `SafetyPolicy`. If `decide` throws or returns
 * anything but a decision, the call is denied.
 */
export interface Policy {
  /**
   * @param entry The tool that the executor will run. The executor's tool may be newer than the
   * tool that the policy knows by that name.
   */
  decide(call: ToolCall, context: CallContext, entry?: ToolEntry): Decision | Promise<Decision>;
  /**
   * The treatment of tools that don't declare `reads`: with `strict`, they add all labels to their
   * conversation.
   */
  readonly flows?: { readonly undeclared?: 'strict' | undefined };
}

interface PendingCall {
  /** Identifies this wait. One call can wait several times in succession. */
  readonly id: string;
  readonly callId: string;
  readonly toolName: string;
  /** The original arguments. */
  readonly input: Json;
  /** The SHA-256 of the tool's metadata when the wait began. */
  readonly definitionDigest: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/**
 * A call that needs a user's approval. You can store and send a pending call: an answer to a
 * changed copy is refused.
 */
export interface PendingApproval extends PendingCall {
  readonly kind: 'approval';
  readonly danger: DangerLevel;
  /** The reason why the call needs approval. */
  readonly reason: string;
  readonly rule: string;
  /** The effect of the call, according to its tool. */
  readonly preview?: Preview;
  /** The reason why a tool with previews produced none. */
  readonly noPreview?: string;
  /** Milliseconds since 1970, on the state store's clock. Later answers are refused. */
  readonly expiresAt: number;
  /**
   * The identity of the state store that contains the call. The call is invalid in any other store,
   * and after a restart.
   */
  readonly storeIdentity: string;
}

/** A call that a user or another program answers instead of the tool. */
export interface PendingManualCall extends PendingCall {
  readonly kind: 'manual';
  /**
   * The JSON Schema that the result must match, if the tool has an `outputSchema` that JSON Schema
   * can express.
   */
  readonly outputSchema?: Json;
}

/** A tool's question to the user. The answer becomes the tool's result. */
export interface PendingQuestion extends PendingCall, Question {
  readonly kind: 'question';
  /** The time at which a question with `timeoutMs` expires, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/**
 * A call that a run is waiting for. The pending call is plain data, and has the same format for a
 * terminal, an MCP client, and a stored session.
 */
export type Pending = PendingApproval | PendingManualCall | PendingQuestion;

/** The answer to a pending call: the user's yes or no, or a result that replaces the tool's. */
type PendingAnswer = 'approved' | 'denied' | { readonly value: Json };

/** A pending call as stored, with its answer, if any. */
export type StoredPending = Pending & {
  readonly answer?: PendingAnswer;
  /** The person who answered, if the answer names one. */
  readonly by?: string;
};

/** An answer or another action of an operator, as stored. */
export interface OperatorAction {
  readonly action: 'approve' | 'deny' | 'answer' | 'grant' | 'revoke';
  /** The person who acted, if known. */
  readonly operator?: string;
  /** The id of the pending call, or of the grant for `revoke`. */
  readonly id: string;
  readonly toolName?: string;
  readonly principal?: string;
  /** Milliseconds since 1970, on the store's clock. */
  readonly at: number;
}

/**
 * The further calls that a user approves together with one call. Set at least one limit; if you set
 * several, all of them apply.
 */
export interface GrantScope {
  /**
   * The exact values of named arguments. If these are all the arguments of the approved call, calls
   * with additional arguments aren't covered.
   * @default any arguments
   */
  readonly input?: Readonly<Record<string, Json>>;
  /** The maximum number of further calls, from 1 to 1,000. @default any */
  readonly uses?: number;
  /**
   * The end of the grant, in milliseconds since 1970 on the state store's clock, at most 24 days
   * from now.
   * @default 24 days from now
   */
  readonly until?: number;
}

/**
 * The user's answer to a call that needs approval. `{ input }` approves the call with other
 * arguments, `{ grant }` also approves further calls, and `'later'` leaves the call pending. `by`
 * names the person who approved.
 */
export type Confirmation =
  | boolean
  | 'later'
  | { readonly input: unknown; readonly by?: string }
  | { readonly grant: GrantScope; readonly by?: string }
  | { readonly by: string };

/** Asks a user and resolves to the answer. If the function throws, the call is denied. */
export type Confirm = (
  pending: PendingApproval,
  options: { readonly signal?: AbortSignal | undefined },
) => Confirmation | Promise<Confirmation>;

/**
 * The outcome of one call. Every call has exactly one outcome, whatever its tool does.
 * `readOutcome` converts an outcome to text for models.
 */
export type ToolOutcome = OutcomeFacts &
  (
    | {
        readonly status: 'ok';
        readonly value: unknown;
        /** Content in addition to the value, such as images. */ readonly content?: readonly ContentPart[];
      }
    /**
     * The tool failed, or the call couldn't run. `message` is for the model. With `INVALID_RESULT`,
     * `value` is the tool's return value, for programs only, and `haltReason` is set if the tool
     * wanted to end the run.
     */
    | {
        readonly status: 'error';
        readonly code: ToolErrorCode;
        readonly message: string;
        readonly details?: Readonly<Record<string, unknown>>;
        readonly origin?: FailureOrigin;
        readonly value?: unknown;
        readonly haltReason?: string;
      }
    /** The tool needs information from the user. The answer becomes the call's result. */
    | ({ readonly status: 'ask_user'; readonly pending: PendingQuestion } & Question)
    /** The run should end here. `value` is the call's result, with `content` as for `ok`. */
    | {
        readonly status: 'halt';
        readonly reason: string;
        readonly value: unknown;
        readonly content?: readonly ContentPart[];
      }
    /** A user or another program answers this call. */
    | { readonly status: 'manual'; readonly pending: PendingManualCall }
    | {
        readonly status: 'denied';
        readonly reason: string;
        readonly rule: string;
        readonly danger: DangerLevel;
      }
    /** The call needs approval. After approval, make the same call again. */
    | { readonly status: 'approval_required'; readonly pending: PendingApproval }
  );

/**
 * The kind of failure: the tool reported the failure with `fail`, or threw an error. Missing if the
 * error didn't come from the tool.
 */
type FailureOrigin = 'reported' | 'thrown';

/** The fields that all outcomes have. */
type OutcomeFacts = {
  readonly callId: string;
  readonly toolName: string;
  readonly durationMs: number;
  /**
   * The number of times the tool was started. 0 if the call was refused or answered from the cache.
   */
  readonly attempts: number;
  readonly cached: boolean;
  /** The provider that answered, if the tool has several. */
  readonly provider?: string;
  /** True if the work was still running when the call was answered, so it may still take effect. */
  readonly abandoned?: true;
  /**
   * The maximum size of the result shown to models, in bytes, if the tool or the executor sets it.
   * @default 65,536
   */
  readonly maxResultBytes?: number;
};

/** An outcome without the fields about its call. */
export type OutcomeBody = ToolOutcome extends infer Each
  ? Each extends OutcomeFacts
    ? Omit<Each, keyof OutcomeFacts>
    : never
  : never;
