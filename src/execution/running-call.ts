import type { Flow, FlowLabel } from '../core/flow.js';
import { cloneFrozen, type Json } from '../core/plain-data.js';
import type { CallFacts, ToolEvent } from '../core/tool-event.js';
import type {
  Decision,
  OutcomeBody,
  PendingApproval,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import type { AskedCall } from '../safety/waiting-calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';
import type { PlannableCall } from './plan-execution.js';
import { assertCall, readCall, readOptions } from './read-call.js';

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
/** The options of a call that has none, which need no check. */
export const NO_OPTIONS: ExecuteOptions = Object.freeze({});
const NO_BATCH: Batch = Object.freeze({});

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
  /** The error that explains why the call or its options are refused. */
  readonly wrong: unknown;
  /** The last decision that was reported. */
  decision: Decision | undefined;
  readonly #startedAt: number;
  #isSettled = false;

  constructor(
    call: PlannableCall,
    options: ExecuteOptions,
    frame: ExecutorFrame,
    { flow, turn }: Batch = NO_BATCH,
  ) {
    this.call = readCall(call);
    this.flow = flow;
    this.turn = turn;
    this.#frame = frame;
    this.#startedAt = frame.clock.elapsed();
    this.toolName = this.call.name.slice(0, LONGEST_NAME);
    try {
      assertCall(call);
      this.options = options === NO_OPTIONS ? options : readOptions(options);
    } catch (error) {
      this.options = NO_OPTIONS;
      this.wrong = error;
    }
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
      this.decision = undefined;
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
    if (this.decision?.danger === danger && verdict !== 'deny') return;
    this.decision = { verdict, reason, rule, danger };
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

  #tellProgress(progress: unknown): void {
    if (this.#isSettled) return; // An abandoned call has nothing more to report.
    try {
      this.tell({ type: 'call-progress', progress: cloneFrozen(progress) });
    } catch {
      // Ignores invalid progress data, because it isn't worth failing the call.
    }
  }
}
