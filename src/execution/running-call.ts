import { randomUUID } from '../core/crypto.js';
import type { Flow } from '../core/flow.js';
import { cloneFrozen, type Json } from '../core/plain-data.js';
import type { CallFacts, ToolEvent } from '../core/tool-event.js';
import type { Approval, ApprovedCall } from '../safety/approvals.js';
import type {
  Decision,
  OutcomeBody,
  PendingManualCall,
  PendingQuestion,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import type { Question } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import { jsonSchemaOf } from '../tool/tool-schema.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';

/** Characters of a tool's name that are told, when there is no such tool. */
const LONGEST_NAME = 128;

/** An event about a call, without the facts that every one has. */
type CallEvent = ToolEvent extends infer Each
  ? Each extends CallFacts
    ? Omit<Each, keyof CallFacts>
    : never
  : never;

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** One call while it is carried out: what was asked, and what became of it so far. */
export class RunningCall {
  toolName: string;
  attempts = 0;
  cached = false;
  provider: string | undefined;
  /** Bytes of the result that models read, where it is said. */
  maxResultBytes: number | undefined;
  /** The work of the call went on when it was answered. */
  isAbandoned = false;
  /** The labels that the conversation had when the model made the call, for one of several calls; otherwise what it has read by now counts. */
  flow: Flow | undefined;
  /** Waits until it's this call's turn to ask the user, for one of several calls. */
  turn: (() => Promise<void>) | undefined;
  call: ToolCall;
  options: ExecuteOptions;
  readonly #frame: ExecutorFrame;
  readonly #startedAt: number;
  #isSettled = false;
  #told: Decision | undefined;

  constructor(call: ToolCall, options: ExecuteOptions, frame: ExecutorFrame) {
    this.call = call;
    this.options = options;
    this.#frame = frame;
    this.#startedAt = frame.clock.elapsed();
    this.toolName = call.name.length > LONGEST_NAME ? call.name.slice(0, LONGEST_NAME) : call.name;
  }

  /** The call's id, and whose call it is. */
  get owner(): Pick<CallFacts, 'callId' | 'principal' | 'conversationId'> {
    const { principal, conversationId } = this.options;
    const owner: Mutable<Pick<CallFacts, 'callId' | 'principal' | 'conversationId'>> = {
      callId: this.call.id,
    };
    if (principal !== undefined) owner.principal = principal;
    if (conversationId !== undefined) owner.conversationId = conversationId;
    return owner;
  }

  /** The facts of the call that its record begins with. */
  get recorded(): Pick<CallFacts, 'at' | 'principal' | 'conversationId'> {
    const { callId: _, ...owner } = this.owner;
    return { ...owner, at: this.#frame.clock.now() };
  }

  /** The last decision that was told. */
  get decision(): Decision | undefined {
    return this.#told;
  }

  /** Returns the call as an approval is bound to it. */
  asked({ name: toolName, digest: definitionDigest }: ToolEntry, input: Json): ApprovedCall {
    const { principal, conversationId } = this.options;
    const { id: callId } = this.call;
    return { callId, toolName, definitionDigest, principal, conversationId, input };
  }

  /** Goes on with a user's approval, of the arguments that were asked for or of others. */
  approved(approval: Approval, edited: { readonly input: unknown } | undefined): this {
    if (edited !== undefined) {
      this.call = Object.freeze({ ...this.call, input: edited.input });
      this.#told = undefined;
    }
    this.options = { ...this.options, approval };
    return this;
  }

  tell(event: CallEvent): void {
    const { listeners, clock } = this.#frame;
    if (listeners.size === 0) return;
    // Assigned to one object: spreading objects of many shapes took a quarter of a call's time.
    listeners.tell(Object.assign(this.owner, { toolName: this.toolName, at: clock.now() }, event));
  }

  /** Tells the first decision over the call and its arguments, and a later one only if it says something else. */
  tellDecision({ verdict, reason, rule, danger }: Decision): void {
    if (this.#told?.danger === danger && verdict !== 'deny') return;
    this.#told = { verdict, reason, rule, danger };
    this.tell({ type: 'decision', verdict, reason, rule, danger });
  }

  /** Returns what the tool's work is told of its call; its signal is made when it's asked for. */
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

  /** Returns the outcome with the facts of the call; told as an event. */
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
      id: randomUUID(),
      ...this.owner,
      toolName: name,
      input,
      definitionDigest: digest,
      createdAt: this.#frame.clock.now(),
    };
  }

  #tellProgress(progress: unknown): void {
    if (this.#isSettled) return; // A call that was given up has nothing more to say.
    try {
      this.tell({ type: 'call-progress', progress: cloneFrozen(progress) });
    } catch {
      // What is no plain data is not worth failing the call.
    }
  }
}

/** Returns what the result of a call that is answered elsewhere must be like, where JSON Schema can say it. */
function outputSchemaOf({ outputSchema }: ToolEntry): Pick<PendingManualCall, 'outputSchema'> {
  try {
    return outputSchema === undefined
      ? {}
      : { outputSchema: cloneFrozen(jsonSchemaOf(outputSchema, 'output')) as Json };
  } catch {
    return {};
  }
}
