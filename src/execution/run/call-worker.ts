import { randomUUID } from '../../core/crypto.js';
import type { Clock } from '../../core/clock.js';
import { isWriting } from '../../core/enum-order.js';
import { ToolError } from '../../core/errors.js';
import { digestOf, type Json } from '../../core/plain-data.js';
import type { HealthLog } from '../../providers/rolling-health.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { Approval } from '../../safety/approvals.js';
import type { OutcomeBody } from '../../safety/calls.js';
import { renewedTool } from '../../tool/tool-changed.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { ApprovalDesk } from '../approval-desk.js';
import type { ResultCache, Worked } from '../cache/result-cache.js';
import type { AcceptedInput } from '../call-checker.js';
import type { CheckedOptions, ExecuteOptions } from '../executor-options.js';
import type { Budgets } from '../limits/budgets.js';
import { onAbort } from '../../core/listeners.js';
import type { AbandonedCalls } from '../limits/abandoned-calls.js';
import type { Concurrency, LeavePlace } from '../limits/concurrency.js';
import { failure, thrownFailure } from './failure.js';
import type { HandlerRunner } from './handler-runner.js';
import { readResult } from './read-result.js';
import type { RunningCall } from './running-call.js';
import { aborted, assertWanted, withDeadline } from './with-deadline.js';

export interface CallWorkerOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly concurrency: Concurrency;
  readonly abandoned: AbandonedCalls;
  readonly budgets: Budgets | undefined;
  readonly approvals: ApprovalDesk;
  readonly runner: HandlerRunner;
  readonly cache: ResultCache;
  readonly health: HealthLog;
  readonly registry: ToolMetadataRegistry;
  readonly exposeErrors: CheckedOptions['exposeErrors'];
}

/** A call that may run. */
export interface RunnableCall extends AcceptedInput {
  readonly approval?: Approval | undefined;
  /** Whether the decision over the call does not count any more. */
  readonly isStale: (waited: boolean) => boolean;
  /** Asks the policy again, right before the call starts; an outcome forbids the call. */
  readonly forbiddenNow: () => Promise<OutcomeBody | undefined>;
  /** @throws ToolError when the tool was replaced or removed since the call was judged. */
  readonly assertCurrent: () => void;
}

/** The work of a call that was answered: whether it still runs, and what its end is told to. */
interface Work {
  goesOn: boolean;
  ended: (() => void) | undefined;
}

/** Runs a call that may run: waits for its place, reserves its budget, uses its approval up, and starts the tool. */
export class CallWorker {
  readonly #options: CallWorkerOptions;

  constructor(options: CallWorkerOptions) {
    this.#options = options;
  }

  async work(running: RunningCall, call: RunnableCall): Promise<Worked<OutcomeBody>> {
    const { abandoned, concurrency } = this.#options;
    const { entry } = call;
    this.assertIdle(entry);
    const alone = entry.allowParallel !== true;
    const free = concurrency.tryEnter(entry.name, alone);
    const place = free ?? (await this.#waitForPlace(entry, alone, running.options.signal));
    const work: Work = { goesOn: false, ended: undefined };
    try {
      const forbidden = await this.#prepare(running, call, free === undefined);
      const result = forbidden ?? (await this.#start(running, call, work));
      const isOk = result.status === 'ok';
      return { result, keep: isOk, value: isOk ? result.value : undefined, aborted: result.status === 'error' && result.code === 'ABORTED' };
    } finally {
      if (work.goesOn) work.ended = abandoned.take(running.owner, entry, place, () => running.tellAbandoned());
      else {
        place.leaveAll();
        place.leaveTool();
      }
    }
  }

  /** Puts the tool as it is now in the place of one that has changed: the next call is judged by it. */
  #renew(entry: ToolEntry, error: unknown): void {
    const { registry } = this.#options;
    const renewed = renewedTool(error, entry.definition);
    if (renewed !== undefined && registry.get(entry.name) === entry) registry.register(renewed, { replace: true });
  }

  /** @throws ToolError `ABANDONED_RUNNING` when calls that were given up and still run forbid this one. */
  assertIdle(entry: ToolEntry): void {
    const refusal = this.#options.abandoned.refusalOf(entry);
    if (refusal !== undefined) throw refusal;
  }

  async #waitForPlace(entry: ToolEntry, alone: boolean, signal: AbortSignal | undefined): Promise<LeavePlace> {
    const { abandoned, clock, concurrency } = this.#options;
    const { name, timeoutMs = this.#options.timeoutMs } = entry;
    const enter = async (stop: AbortSignal) => {
      const waiting = new AbortController();
      const ends = [onAbort(stop, () => waiting.abort()), abandoned.watch(() => abandoned.refusalOf(entry) && waiting.abort())];
      const place = await concurrency.enter(name, alone, waiting.signal);
      for (const end of ends) end();
      if (!waiting.signal.aborted && place !== undefined) return place;
      // The place came in the same moment in which the wait was over.
      place?.leaveAll();
      place?.leaveTool();
      if (!stop.aborted) this.assertIdle(entry);
      return undefined;
    };
    const waited = await withDeadline(enter, { clock, timeoutMs, signal });
    if (waited.kind === 'returned' && waited.value !== undefined) return waited.value;
    if (waited.kind === 'threw') throw waited.error;
    if (waited.kind !== 'timeout') throw aborted(name);
    throw new ToolError('TIMEOUT', `Expected ${name} to get its turn within ${timeoutMs} ms, found other calls still running; try again later`, { details: { timeoutMs } });
  }

  /** Does what comes before the start. An approval is used up last: it is not lost for a call that is not going to run. */
  async #prepare(running: RunningCall, { entry, approval, isStale, forbiddenNow, assertCurrent }: RunnableCall, waited: boolean): Promise<OutcomeBody | undefined> {
    const { approvals, budgets } = this.#options;
    const { options } = running;
    const assertStill = () => {
      assertWanted(options.signal, entry.name);
      assertCurrent();
    };
    assertStill();
    const forbidden = isStale(waited) ? await forbiddenNow() : undefined;
    if (forbidden !== undefined) return forbidden;
    if (approval !== undefined && (budgets !== undefined || options.onStart !== undefined)) await approvals.assertUnused(running, approval);
    if (budgets !== undefined) await budgets.reserve(entry, options);
    assertStill();
    if (options.onStart !== undefined) await this.#announce(running, entry, options.onStart);
    assertStill();
    if (approval !== undefined) await approvals.redeem(running, approval);
    assertStill();
    return undefined;
  }

  async #announce({ call, options }: RunningCall, { name, timeoutMs = this.#options.timeoutMs }: ToolEntry, onStart: NonNullable<ExecuteOptions['onStart']>): Promise<void> {
    const told = await withDeadline(() => onStart(call), { clock: this.#options.clock, timeoutMs, signal: options.signal });
    if (told.kind === 'threw') throw told.error;
    if (told.kind === 'aborted') throw aborted(name);
    if (told.kind === 'timeout') throw new ToolError('TIMEOUT', `Expected onStart of ${name} to end within ${timeoutMs} ms, got no end of it. The tool was not started.`, { details: { timeoutMs } });
  }

  async #start(running: RunningCall, { entry, raw, input, approval }: RunnableCall, work: Work): Promise<OutcomeBody> {
    const { cache, clock, health, runner } = this.#options;
    const { options } = running;
    const startedAt = clock.elapsed();
    running.tellStarted();
    const drop = () => cache.dropAfter(entry);
    let result: OutcomeBody;
    try {
      const ended = await runner.run({
        entry,
        input,
        context: running.contextFor(entry.digest, isWriting(entry.accessMode) ? (options.idempotencyKey ?? idempotencyKey(running, entry, raw)) : undefined),
        signal: options.signal,
        passedMs: running.watchedMs,
        approved: approval !== undefined,
        onAttempt: () => void running.attempts++,
        onProvider: (provider) => void (running.provider = provider),
        onLeftRunning: () => {
          work.goesOn = true;
          running.abandoned = true;
        },
        onLate: (stillRunning) => {
          running.tellLate();
          void drop();
          if (stillRunning > 0) return;
          work.goesOn = false;
          work.ended?.();
        },
      });
      if (ended.kind === 'threw') this.#renew(entry, ended.error);
      result =
        ended.kind === 'threw'
          ? thrownFailure(ended.error, entry.name, this.#options.exposeErrors)
          : await readResult(entry, ended.value, (question) => running.pending('question', entry, raw, question));
    } catch (error) {
      result = failure(error);
    } finally {
      await drop();
    }
    const wasGivenUp = result.status === 'error' && result.code === 'ABORTED';
    if (!wasGivenUp) health.record({ kind: 'tool', name: entry.name, success: result.status !== 'error', latencyMs: clock.elapsed() - startedAt, ...(running.provider !== undefined && { provider: running.provider }), ...(running.abandoned && { abandoned: true }) });
    return result;
  }
}

/** Derived where a call has an identity that lasts, so that a repetition after a crash carries the same key. */
function idempotencyKey({ call, options }: RunningCall, entry: ToolEntry, raw: Json): string {
  if (options.conversationId === undefined || call.id === '') return randomUUID();
  return digestOf([options.principal ?? null, options.conversationId, call.id, entry.name, raw]);
}
