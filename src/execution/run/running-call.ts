import { randomUUID } from '../../core/crypto.js';
import type { Clock } from '../../core/clock.js';
import type { ToolError } from '../../core/errors.js';
import type { Listeners } from '../../core/listeners.js';
import { cloneFrozen, type Json } from '../../core/plain-data.js';
import type { CallFacts, ToolEvent } from '../../core/tool-event.js';
import type { Approval } from '../../safety/approvals.js';
import type { Decision, OutcomeBody, PendingManualCall, PendingQuestion, ToolCall, ToolOutcome } from '../../safety/calls.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import type { Question } from '../../tool/question.js';
import { jsonSchemaOf } from '../../tool/schema/json-schema-of.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { ExecuteOptions } from '../executor-options.js';
import { failure } from './failure.js';
import { assertNoMisnomer, copyCall, copyOptions } from './copy-request.js';

/** Characters of a tool's name that are told, when there is no such tool. */
const LONGEST_NAME = 128;

/** One call while it is carried out: what was asked, and what became of it so far. */
export class RunningCall {
  toolName: string;
  attempts = 0;
  /** How much of the time of the call telemetry took before it began. */
  watchedMs = 0;
  cached = false;
  provider: string | undefined;
  /** Whether work of the call went on when it was answered. */
  abandoned = false;
  #call: ToolCall;
  #options: ExecuteOptions;
  readonly #startedAt: number;
  readonly #clock: Clock;
  readonly #listeners: Listeners<ToolEvent>;
  #settled = false;
  #told: Pick<Decision, 'danger'> | undefined;
  /** Why the call cannot be made at all. */
  readonly refused: ToolError | undefined;

  constructor(call: ToolCall, options: ExecuteOptions, clock: Clock, listeners: Listeners<ToolEvent>) {
    this.#call = copyCall(call);
    try {
      this.#options = copyOptions(options);
      assertNoMisnomer(call);
    } catch (error) {
      this.#options = {};
      this.refused = error as ToolError;
    }
    this.#clock = clock;
    this.#listeners = listeners;
    this.#startedAt = clock.elapsed();
    this.toolName = this.#call.name.slice(0, LONGEST_NAME);
  }

  get call(): ToolCall {
    return this.#call;
  }

  get options(): ExecuteOptions {
    return this.#options;
  }

  /** Goes on with a person's yes, to the arguments that were asked for or to others. */
  useApproval(approval: Approval, input: unknown, edited: boolean): void {
    this.#call = Object.freeze({ ...this.#call, input });
    this.#options = { ...this.#options, approval };
    if (edited) this.#told = undefined;
  }

  /** Tells the first decision over the call and its arguments, and a later one only if it says something else. */
  tellDecision({ verdict, reason, rule, danger }: Decision): void {
    if (this.#told?.danger === danger && verdict !== 'deny') return;
    this.#told = { danger };
    this.#listeners.tell({ type: 'decision', ...this.#facts(), verdict, reason, rule, danger });
  }

  tellApproval(state: 'requested' | 'redeemed', pendingId: string): void {
    this.#listeners.tell({ type: 'approval', ...this.#facts(), state, pendingId });
  }

  /** Does something with an approval; when that throws, or rejects, the refusal is told. */
  orTellRefused<T>({ pendingId }: Approval, use: () => T): T {
    const tell = (error: unknown): never => {
      const { message } = failure(error) as Extract<OutcomeBody, { status: 'error' }>;
      this.#listeners.tell({ type: 'approval', ...this.#facts(), state: 'refused', pendingId: String(pendingId), reason: message });
      throw error;
    };
    try {
      const result = use();
      return result instanceof Promise ? (result.catch(tell) as T) : result;
    } catch (error) {
      return tell(error);
    }
  }

  tellStarted(): void {
    this.#listeners.tell({ type: 'call-started', ...this.#facts() });
  }

  tellCacheSkipped(reason: string): void {
    this.#listeners.tell({ type: 'cache-skipped', ...this.#facts(), reason });
  }

  tellAbandoned(): void {
    this.#listeners.tell({ type: 'call-abandoned', ...this.#facts() });
  }

  tellLate(): void {
    this.#listeners.tell({ type: 'late-result', ...this.#facts() });
  }

  /** What the tool's work is told of its call. */
  contextFor(definitionDigest: string, idempotencyKey: string | undefined): ToolContext {
    const { principal, conversationId, context } = this.#options;
    return {
      callId: this.#call.id,
      definitionDigest,
      ...(context !== undefined && { context }),
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      reportProgress: (progress) => this.#tellProgress(progress),
    };
  }

  pending(kind: 'manual', entry: ToolEntry, input: Json): PendingManualCall;
  pending(kind: 'question', entry: ToolEntry, input: Json, question: Question): PendingQuestion;
  pending(kind: 'manual' | 'question', entry: ToolEntry, input: Json, question?: Question): PendingManualCall | PendingQuestion {
    const { principal, conversationId } = this.#options;
    const facts = { id: randomUUID(), callId: this.#call.id, toolName: entry.name, input, definitionDigest: entry.digest, principal, conversationId, createdAt: this.#clock.now() };
    const promise = kind === 'manual' ? promiseOf(entry) : {};
    const expiry = question?.timeoutMs === undefined ? {} : { expiresAt: facts.createdAt + question.timeoutMs };
    return cloneFrozen({ kind, ...facts, ...promise, ...question, ...expiry }) as PendingManualCall | PendingQuestion;
  }

  /** The outcome with the facts of the call; told as an event. */
  settle(body: OutcomeBody): ToolOutcome {
    this.#settled = true;
    const durationMs = this.#clock.elapsed() - this.#startedAt;
    const facts = { durationMs, attempts: this.attempts, cached: this.cached, ...(this.provider !== undefined && { provider: this.provider }), ...(this.abandoned && { abandoned: true as const }) };
    this.#listeners.tell({ type: 'call-settled', ...this.#facts(), status: body.status, ...(body.status === 'error' && { code: body.code }), ...facts });
    return Object.freeze({ callId: this.#call.id, toolName: this.toolName, ...facts, ...body });
  }

  #tellProgress(progress: unknown): void {
    if (this.#settled) return; // A call that was given up has nothing more to say.
    try {
      this.#listeners.tell({ type: 'call-progress', ...this.#facts(), progress: cloneFrozen(progress) });
    } catch {
      // What is no plain data is not worth failing the call.
    }
  }

  /** The call's id, and whose call it is. */
  get owner(): Pick<CallFacts, 'callId' | 'principal' | 'conversationId'> {
    const { principal, conversationId } = this.#options;
    return { callId: this.#call.id, ...(principal !== undefined && { principal }), ...(conversationId !== undefined && { conversationId }) };
  }

  #facts(): CallFacts {
    return { ...this.owner, toolName: this.toolName, at: this.#clock.now() };
  }
}

/** What the result of a call that is answered elsewhere must be like, where JSON Schema can say it. */
function promiseOf({ outputSchema }: ToolEntry): Pick<PendingManualCall, 'outputSchema'> {
  try {
    return outputSchema === undefined ? {} : { outputSchema: cloneFrozen(jsonSchemaOf(outputSchema, 'output')) as Json };
  } catch {
    return {};
  }
}
