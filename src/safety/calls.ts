import type { DangerLevel } from '../core/enums.js';
import type { Flow } from '../core/flow.js';
import type { ToolErrorCode } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import type { Verdict } from '../core/tool-event.js';
import type { ContentPart } from '../tool/content.js';
import type { Preview } from '../core/preview.js';
import type { Question } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A call that a model or a program asks for. */
export interface ToolCall {
  /** Unique within a conversation; answers carry it. */
  readonly id: string;
  /** The tool's name or alias. */
  readonly name: string;
  /** The arguments, as plain data. @default {} */
  readonly input?: unknown;
}

/** The caller of a call and its frame; given by the program, never by the model. What is left out is unknown, and allows nothing. */
export interface CallContext {
  /** The user for whom the call is made: approvals, budgets and cached answers belong to them. */
  readonly principal?: string;
  /** The scopes that the principal has; compared with the scopes that a tool's `auth` asks for. */
  readonly scopes?: readonly string[];
  /** The settings that are on; compared with what a manifest says under `requires_flags`. */
  readonly flags?: readonly string[];
  /** The persona under which the agent acts; compared with `personaAllowlist`. */
  readonly persona?: string;
  /** The conversation to which the call belongs: repetitions, budgets and cached answers are counted by it. */
  readonly conversationId?: string;
  /** Narrows the policy's own mode for this call; both hold. */
  readonly mode?: PolicyMode;
  /** The labels of the conversation; an executor gives them. Without them nothing is known of what was read. */
  readonly flow?: Flow;
}

/**
 * The ways in which a policy treats what its rules leave open.
 *
 * `default` asks before every write and every dangerous call; `read-only` refuses whatever can change something;
 * `unattended` refuses what would need approval; `allow-list` refuses all tools but those listed.
 */
export const POLICY_MODES = Object.freeze([
  'default',
  'read-only',
  'unattended',
  'allow-list',
] as const);
export type PolicyMode = (typeof POLICY_MODES)[number];

/** The answer of a policy: what may be done with a call, and why. */
export interface Decision {
  readonly verdict: Verdict;
  /** The reason in words, for the user who is asked and for the model that is refused. */
  readonly reason: string;
  /** The name of what decided: of a rule, or of one of the built-in checks. Models are not told it. */
  readonly rule: string;
  /** The danger of this call: the tool's level, or a higher one that its arguments brought. */
  readonly danger: DangerLevel;
}

/** A judge of calls, such as `SafetyPolicy`; one that throws or answers anything else denies. */
export interface Policy {
  /** @param entry the tool as the executor runs it, which may be newer than what the policy knows under its name. */
  decide(call: ToolCall, context: CallContext, entry?: ToolEntry): Decision | Promise<Decision>;
  /** The treatment of tools that don't declare what they read: with `strict` they bring all labels into their conversation. */
  readonly flows?: { readonly undeclared?: 'strict' | undefined };
}

interface PendingCall {
  /** The id of this wait; one call may wait for several things, one after the other. */
  readonly id: string;
  readonly callId: string;
  readonly toolName: string;
  /** The arguments, as they were asked for. */
  readonly input: Json;
  /** SHA-256 of the tool's metadata when it began to wait. */
  readonly definitionDigest: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A call that needs a user's approval. It can be stored and sent: its signature shows any change. */
export interface PendingApproval extends PendingCall {
  readonly kind: 'approval';
  readonly danger: DangerLevel;
  /** The reason why approval is needed. */
  readonly reason: string;
  readonly rule: string;
  /** The effect of the call, as its tool says. */
  readonly preview?: Preview;
  /** The reason why a tool that has previews gave none. */
  readonly noPreview?: string;
  /** Milliseconds since 1970, by the clock of the state store; later answers are refused. */
  readonly expiresAt: number;
  /** The identity of the state store that keeps it; after a restart, or in another store, it is void. */
  readonly storeIdentity: string;
  readonly signature: string;
}

/** A call that a user or another program answers instead of the tool. */
export interface PendingManualCall extends PendingCall {
  readonly kind: 'manual';
  /** The JSON Schema that the result must meet; for tools with an `outputSchema` that JSON Schema can express. */
  readonly outputSchema?: Json;
}

/** A tool that asked the user something; the answer is its result. */
export interface PendingQuestion extends PendingCall, Question {
  readonly kind: 'question';
  /** The end of the wait, for questions with `timeoutMs`: milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** The thing that a run of tools waits for: plain data, the same for a terminal, an MCP client and a stored session. */
export type Pending = PendingApproval | PendingManualCall | PendingQuestion;

/** The answer to a pending call: the user's yes or no, or the result that a user or program gave in place of the tool. */
type PendingAnswer = 'approved' | 'denied' | { readonly value: Json };

/** A pending call as the store keeps it, with its answer when there is one. */
export type StoredPending = Pending & { readonly answer?: PendingAnswer };

/** The further calls that a user approves together with one. At least one limit is needed; all that are given hold together. */
export interface GrantScope {
  /** Exact values of named arguments. If they are all the arguments of the approved call, a call with more arguments isn't covered. @default any arguments */
  readonly input?: Readonly<Record<string, Json>>;
  /** The number of further calls, 1 to 1,000. @default any */
  readonly uses?: number;
  /** The end, in milliseconds since 1970 by the clock of the state store; at most 24 days away. @default 24 days from now */
  readonly until?: number;
}

/** A user's answer to a call that needs approval: with other arguments when the user changed them, with a grant when further calls are approved too, `later` to leave it pending. */
export type Confirmation =
  boolean | 'later' | { readonly input: unknown } | { readonly grant: GrantScope };

/** Asks a user, and resolves to the answer; one that throws counts as a no. */
export type Confirm = (
  pending: PendingApproval,
  options: { readonly signal?: AbortSignal | undefined },
) => Confirmation | Promise<Confirmation>;

/** The end of one call: exactly one of these, whatever the tool did. `readOutcome` words it for models. */
export type ToolOutcome = OutcomeFacts &
  (
    | {
        readonly status: 'ok';
        readonly value: unknown;
        /** The parts that are more than the value, such as images. */ readonly content?: readonly ContentPart[];
      }
    /**
     * The tool failed, or the call could not be run. `message` is for the model; `value` is what the tool gave with an
     * `INVALID_RESULT`, for programs, and `haltReason` why it wanted the run to end here.
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
    /** The tool wants to know something; the answer is its result. */
    | ({ readonly status: 'ask_user'; readonly pending: PendingQuestion } & Question)
    /** The run should end here; `value` is the call's result, with `content` as that of `ok`. */
    | {
        readonly status: 'halt';
        readonly reason: string;
        readonly value: unknown;
        readonly content?: readonly ContentPart[];
      }
    /** A user or another program answers. */
    | { readonly status: 'manual'; readonly pending: PendingManualCall }
    | {
        readonly status: 'denied';
        readonly reason: string;
        readonly rule: string;
        readonly danger: DangerLevel;
      }
    /** The call needs approval; with it the same call can be made again. */
    | { readonly status: 'approval_required'; readonly pending: PendingApproval }
  );

/** The origin of a failure: a tool said it with `fail`, or threw; other errors are none of the tool's. */
type FailureOrigin = 'reported' | 'thrown';

/** The facts of a call that every outcome carries. */
type OutcomeFacts = {
  readonly callId: string;
  readonly toolName: string;
  readonly durationMs: number;
  /** The number of times the tool was started: 0 when it was refused or its answer came from the cache. */
  readonly attempts: number;
  readonly cached: boolean;
  /** The provider that answered, for tools that have several. */
  readonly provider?: string;
  /** The work of the call still ran when it was answered: it may yet have its effect. */
  readonly abandoned?: true;
  /** Bytes of text that models read of the result, where the tool or the executor says it. @default 65,536 */
  readonly maxResultBytes?: number;
};

/** An outcome without the facts of its call. */
export type OutcomeBody = ToolOutcome extends infer Each
  ? Each extends OutcomeFacts
    ? Omit<Each, keyof OutcomeFacts>
    : never
  : never;
