import type { DangerLevel } from '../core/enums.js';
import type { Flow } from '../core/flow.js';
import type { ToolErrorCode } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import type { Verdict } from '../core/tool-event.js';
import type { ContentPart } from '../tool/content.js';
import type { Preview } from '../core/preview.js';
import type { Question } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A call that a model or program asks for. */
export interface ToolCall {
  /** Unique within a conversation. Answers carry it. */
  readonly id: string;
  /** The tool's name or alias. */
  readonly name: string;
  /** The arguments, as plain data. @default {} */
  readonly input?: unknown;
}

/**
 * The caller of a call and its circumstances. It comes from the program, never from the model. A
 * missing field is unknown and allows nothing.
 */
export interface CallContext {
  /** The user behind the call. Approvals, budgets and cached answers belong to this user. */
  readonly principal?: string;
  /** The principal's scopes, compared with the scopes that a tool's `auth` requires. */
  readonly scopes?: readonly string[];
  /** The flags that are on, compared with a manifest's `requires_flags`. */
  readonly flags?: readonly string[];
  /** The agent's persona, compared with `personaAllowlist`. */
  readonly persona?: string;
  /**
   * The call's conversation. Repetitions, budgets and cached answers are counted per conversation.
   */
  readonly conversationId?: string;
  /** A mode for this call, applied on top of the policy's own mode. Both must allow the call. */
  readonly mode?: PolicyMode;
  /**
   * The conversation's labels, filled in by the executor. Without them, nothing is known about what
   * was read.
   */
  readonly flow?: Flow;
}

/**
 * The policy modes. They decide about calls that no rule covers.
 *
 * - `default` asks before every write and every dangerous call.
 * - `read-only` refuses anything that can change something.
 * - `unattended` refuses what would need approval.
 * - `allow-list` refuses every tool that isn't listed.
 */
export const POLICY_MODES = Object.freeze([
  'default',
  'read-only',
  'unattended',
  'allow-list',
] as const);
export type PolicyMode = (typeof POLICY_MODES)[number];

/** A policy's answer: whether a call may run, and why. */
export interface Decision {
  readonly verdict: Verdict;
  /** The reason in words, for the user who is asked or the model that is refused. */
  readonly reason: string;
  /** The name of the rule or built-in check that decided. Models don't see it. */
  readonly rule: string;
  /** The danger of this call: the tool's level, or a higher level because of the arguments. */
  readonly danger: DangerLevel;
}

/**
 * Decides about calls, as `SafetyPolicy` does. A policy that throws or returns anything else denies
 * the call.
 */
export interface Policy {
  /**
   * @param entry The tool as the executor runs it. It may be newer than the one the policy knows by
   * that name.
   */
  decide(call: ToolCall, context: CallContext, entry?: ToolEntry): Decision | Promise<Decision>;
  /**
   * The treatment of tools that don't declare `reads`: with `strict`, they add all labels to their
   * conversation.
   */
  readonly flows?: { readonly undeclared?: 'strict' | undefined };
}

interface PendingCall {
  /** Identifies this wait. One call may wait several times, one wait after another. */
  readonly id: string;
  readonly callId: string;
  readonly toolName: string;
  /** The original arguments. */
  readonly input: Json;
  /** SHA-256 of the tool's metadata when the wait began. */
  readonly definitionDigest: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/**
 * A call that needs a user's approval. You can store and send it: its signature reveals any change.
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
  /** Milliseconds since 1970, by the state store's clock. Later answers are refused. */
  readonly expiresAt: number;
  /**
   * The identity of the state store that keeps the call. The call is void in any other store, and
   * after a restart.
   */
  readonly storeIdentity: string;
  readonly signature: string;
}

/** A call that a user or another program answers in place of the tool. */
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
  /** Expiry of a question with `timeoutMs`, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/**
 * The thing a run waits for. It's plain data, the same for a terminal, an MCP client and a stored
 * session.
 */
export type Pending = PendingApproval | PendingManualCall | PendingQuestion;

/** The answer to a pending call: the user's yes or no, or a result given in place of the tool's. */
type PendingAnswer = 'approved' | 'denied' | { readonly value: Json };

/** A pending call as the store keeps it, with its answer if there is one. */
export type StoredPending = Pending & { readonly answer?: PendingAnswer };

/**
 * The further calls that a user approves together with one call. Set at least one limit; if you set
 * several, all of them apply.
 */
export interface GrantScope {
  /**
   * Exact values of named arguments. If they are all the arguments of the approved call, a call
   * with additional arguments isn't covered.
   * @default any arguments
   */
  readonly input?: Readonly<Record<string, Json>>;
  /** Maximum number of further calls, 1 to 1,000. @default any */
  readonly uses?: number;
  /**
   * End of the grant, in milliseconds since 1970 by the state store's clock, at most 24 days
   * from now.
   * @default 24 days from now
   */
  readonly until?: number;
}

/**
 * The user's answer to a call that needs approval. `{ input }` approves other arguments, `{ grant
 * }` approves further calls too, and `later` leaves the call pending.
 */
export type Confirmation =
  boolean | 'later' | { readonly input: unknown } | { readonly grant: GrantScope };

/** Asks a user and resolves to the answer. If it throws, the call is denied. */
export type Confirm = (
  pending: PendingApproval,
  options: { readonly signal?: AbortSignal | undefined },
) => Confirmation | Promise<Confirmation>;

/**
 * The end of one call. Every call ends in exactly one of these ways, whatever its tool does.
 * `readOutcome` puts it into words for models.
 */
export type ToolOutcome = OutcomeFacts &
  (
    | {
        readonly status: 'ok';
        readonly value: unknown;
        /** Content beyond the value, such as images. */ readonly content?: readonly ContentPart[];
      }
    /**
     * The tool failed, or the call couldn't run. `message` is for the model. After
     * `INVALID_RESULT`, `value` is what the tool returned, for programs, and `haltReason` is set if
     * the tool wanted to end the run.
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
    /** The tool needs to know something from the user. The answer becomes its result. */
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
    /** The call needs approval. Once it's approved, make the same call again. */
    | { readonly status: 'approval_required'; readonly pending: PendingApproval }
  );

/**
 * The origin of a failure: the tool reported it with `fail`, or it threw. Missing if the error
 * didn't come from the tool.
 */
type FailureOrigin = 'reported' | 'thrown';

/** The facts that every outcome carries. */
type OutcomeFacts = {
  readonly callId: string;
  readonly toolName: string;
  readonly durationMs: number;
  /** Number of times the tool was started. 0 if the call was refused or answered from the cache. */
  readonly attempts: number;
  readonly cached: boolean;
  /** The provider that answered, if the tool has several. */
  readonly provider?: string;
  /** True if the work was still running when the call was answered, so it may yet take effect. */
  readonly abandoned?: true;
  /**
   * Maximum bytes of the result that models read, if the tool or the executor says.
   * @default 65,536
   */
  readonly maxResultBytes?: number;
};

/** An outcome without the facts of its call. */
export type OutcomeBody = ToolOutcome extends infer Each
  ? Each extends OutcomeFacts
    ? Omit<Each, keyof OutcomeFacts>
    : never
  : never;
