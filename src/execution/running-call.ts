import type { Flow, FlowLabel } from '../core/flow.js';
import { cloneFrozen, type Json } from '../core/plain-data.js';
import type { CallFacts, ToolEvent } from '../core/tool-event.js';
import type {
  Decision,
  OutcomeBody,
  PendingApproval,
  PendingManualCall,
  PendingQuestion,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import type { AskedCall } from '../safety/waiting-calls.js';
import type { Question } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import { jsonSchemaOf } from '../tool/tool-schema.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';

/** The maximum length of an unknown tool's name in events, in characters. */
const LONGEST_NAME = 128;

/** An event about a call, without the fields that all events have. */
type CallEvent = ToolEvent extends infer Each
  ? Each extends CallFacts
    ? Omit<Each, keyof CallFacts>
    : never
  : never;

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** The state that a call shares with the other calls in its `executeAll`. */
export interface Batch {
  /** The labels of the conversation when the model made the calls. @default the current labels */
  readonly flow?: Flow | undefined;
  /** Waits for the call's turn to ask the user. */
  readonly turn?: (() => Promise<void>) | undefined;
}
export const NO_BATCH: Batch = Object.freeze({});

/** An answer to a question: arguments that the user edited, and the person who answered. */
export interface Answering {
  readonly input?: unknown;
  readonly by?: string | undefined;
}

/** A call that the user approved, with the user's arguments if they differ from the model's. */
export interface ApprovedCall {
  readonly is: 'approved';
  readonly pending: PendingApproval;
  readonly edited?: { readonly input: Json };
  /** The answer that `confirm` returned. It's stored when the call starts. */
  readonly answer?: Answering;
}

/** A call in progress: the request, and its state so far. */
export class RunningCall {
  toolName: string;
  attempts = 0;
  cached = false;
  provider: string | undefined;
  /** The maximum size of the result shown to models, in bytes, if the tool or executor sets it. */
  maxResultBytes: number | undefined;
  /** The labels that this call added to its conversation. */
  labels: readonly FlowLabel[] = [];
  /** True if the call was answered while its work was still running. */
  isAbandoned = false;
  /** The user's approval, once the call continues with it. */
  approved: ApprovedCall | undefined;
  call: ToolCall;
  readonly options: ExecuteOptions;
  readonly flow: Flow | undefined;
  readonly turn: (() => Promise<void>) | undefined;
  readonly #frame: ExecutorFrame;
  readonly #startedAt: number;
  #isSettled = false;
  #told: Decision | undefined;

  constructor(
    call: ToolCall,
    options: ExecuteOptions,
    frame: ExecutorFrame,
    { flow, turn }: Batch = NO_BATCH,
  ) {
    this.call = call;
    this.flow = flow;
    this.turn = turn;
    this.options = options;
    this.#frame = frame;
    this.#startedAt = frame.clock.elapsed();
    this.toolName = call.name.length > LONGEST_NAME ? call.name.slice(0, LONGEST_NAME) : call.name;
  }

  /** The call's id, principal and conversation. */
  get owner(): Pick<CallFacts, 'callId' | 'principal' | 'conversationId'> {
    const { principal, conversationId } = this.options;
    const owner: Mutable<Pick<CallFacts, 'callId' | 'principal' | 'conversationId'>> = {
      callId: this.call.id,
    };
    if (principal !== undefined) owner.principal = principal;
    if (conversationId !== undefined) owner.conversationId = conversationId;
    return owner;
  }

  /** The caller, the current time and what was read, for a record of the call. */
  get recorded(): Pick<CallFacts, 'at' | 'principal' | 'conversationId'> & {
    readonly labels?: readonly FlowLabel[];
  } {
    const { callId: _, ...owner } = this.owner;
    const at = this.#frame.clock.now();
    return this.labels.length === 0 ? { ...owner, at } : { ...owner, at, labels: this.labels };
  }

  /** The last decision that was reported. */
  get decision(): Decision | undefined {
    return this.#told;
  }

  /** Returns the facts that identify the call in the ledger. */
  asked({ name: toolName, digest: definitionDigest }: ToolEntry, raw: Json): AskedCall {
    const { principal, conversationId } = this.options;
    const { id: callId } = this.call;
    // The ledger knows an edited call by the model's arguments.
    const { input } = this.approved?.pending ?? { input: raw };
    return { callId, toolName, definitionDigest, principal, conversationId, input };
  }

  /** Continues with the user's approval, for the original or for edited arguments. */
  with(approved: ApprovedCall): this {
    const { edited } = approved;
    this.approved = approved;
    if (edited !== undefined) {
      this.call = Object.freeze({ ...this.call, input: edited.input });
      this.#told = undefined;
    }
    return this;
  }

  tell(event: CallEvent): void {
    const { listeners, clock } = this.#frame;
    if (listeners.size === 0) return;
    // Assigns to a single object, because spreading objects of many shapes is slow.
    listeners.tell(Object.assign(this.owner, { toolName: this.toolName, at: clock.now() }, event));
  }

  /**
   * Reports the first decision about the call and its arguments. Reports a later decision only if
   * it differs from the last reported decision.
   */
  tellDecision({ verdict, reason, rule, danger }: Decision): void {
    if (this.#told?.danger === danger && verdict !== 'deny') return;
    this.#told = { verdict, reason, rule, danger };
    this.tell({ type: 'decision', verdict, reason, rule, danger });
  }

  /** Returns the context for the tool. The context's signal is created on first use. */
  contextFor(
    definitionDigest: string,
    stop: { readonly signal: AbortSignal },
    idempotencyKey?: string,
  ): ToolContext {
    const { principal, conversationId, context } = this.options;
    const told: Mutable<ToolContext> = {
      callId: this.call.id,
      toolName: this.toolName,
      definitionDigest,
      reportProgress: (progress: unknown) => this.#tellProgress(progress),
      get signal() {
        return stop.signal;
      },
    };
    if (principal !== undefined) told.principal = principal;
    if (conversationId !== undefined) told.conversationId = conversationId;
    if (context !== undefined) told.context = context;
    if (idempotencyKey !== undefined) told.idempotencyKey = idempotencyKey;
    return told;
  }

  pendingManual(entry: ToolEntry, input: Json): PendingManualCall {
    const facts = this.#pendingFacts(entry, input);
    return cloneFrozen({ kind: 'manual', ...facts, ...outputSchemaOf(entry) });
  }

  pendingQuestion(entry: ToolEntry, input: Json, question: Question): PendingQuestion {
    const facts = this.#pendingFacts(entry, input);
    const { timeoutMs } = question;
    const expiry = timeoutMs === undefined ? {} : { expiresAt: facts.createdAt + timeoutMs };
    return cloneFrozen({ kind: 'question', ...facts, ...question, ...expiry });
  }

  /** Completes the outcome with information about the call, and reports it as an event. */
  settle(body: OutcomeBody): ToolOutcome {
    this.#isSettled = true;
    const { attempts, cached, provider, maxResultBytes } = this;
    const facts: Mutable<
      Pick<ToolOutcome, 'durationMs' | 'attempts' | 'cached' | 'provider' | 'abandoned'>
    > = {
      durationMs: this.#frame.clock.elapsed() - this.#startedAt,
      attempts,
      cached,
    };
    if (provider !== undefined) facts.provider = provider;
    if (this.isAbandoned) facts.abandoned = true;
    const { status } = body;
    if (this.#frame.listeners.size > 0)
      this.tell({
        type: 'call-settled',
        status,
        ...(status === 'error' && { code: body.code }),
        ...facts,
      });
    const outcome = Object.assign({ callId: this.call.id, toolName: this.toolName }, facts, body);
    const isBound =
      status === 'ok' || status === 'halt' || (status === 'error' && body.origin !== undefined);
    if (isBound && maxResultBytes !== undefined) Object.assign(outcome, { maxResultBytes });
    return Object.freeze(outcome);
  }

  #pendingFacts({ name, digest }: ToolEntry, input: Json) {
    return {
      id: '', // Set when the call is stored.
      ...this.owner,
      toolName: name,
      input,
      definitionDigest: digest,
      createdAt: this.#frame.clock.now(),
    };
  }

  #tellProgress(progress: unknown): void {
    if (this.#isSettled) return; // An abandoned call has nothing more to report.
    try {
      this.tell({ type: 'call-progress', progress: cloneFrozen(progress) });
    } catch {
      // Ignores invalid progress data, because it isn't worth failing the call.
    }
  }
}

/** Returns the schema that an external answer must match, if JSON Schema can express it. */
function outputSchemaOf({ outputSchema }: ToolEntry): Pick<PendingManualCall, 'outputSchema'> {
  return outputSchema === undefined
    ? {}
    : { outputSchema: cloneFrozen(jsonSchemaOf(outputSchema, 'output')) as Json };
}
