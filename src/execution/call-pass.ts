import type { Confirm, Decision, OutcomeBody } from '../safety/calls.js';
import { DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { unavailableReason } from '../registry/tool-filter.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ApprovalDesk } from './approval-desk.js';
import type { Arounds } from './around.js';
import type { AcceptedInput, CallChecker, DatedDecision } from './call-checker.js';
import type { CallWorker, RunnableCall } from './call-worker.js';
import type { ConversationFlow } from './conversation-flow.js';
import type { ExecutorFrame } from './executor-options.js';
import type { Places } from './places.js';
import type { RepeatGuard } from './repeat-guard.js';
import { cacheFrame, isCacheable, type ResultCache } from './result-cache.js';
import type { RunningCall } from './running-call.js';
import { assertWanted, untilAborted } from './with-deadline.js';

interface PassParts {
  readonly desk: ApprovalDesk;
  readonly places: Places;
  readonly worker: CallWorker;
  readonly cache: ResultCache;
  readonly repeats: RepeatGuard;
  readonly checker: CallChecker;
  readonly arounds: Arounds;
  readonly flows: ConversationFlow;
  /** Functions that ask by the executor's own `confirm`. */
  readonly askOwn: WeakSet<Confirm>;
}

/** Takes each call through what stands between its arguments and its work: schema, policy, approval, repetitions, cached answers. */
export class CallPass {
  readonly #frame: ExecutorFrame;
  readonly #parts: PassParts;

  constructor(frame: ExecutorFrame, parts: PassParts) {
    this.#frame = frame;
    this.#parts = parts;
  }

  /** Takes a call from its arguments to its end. @throws what the call ends with, where it is refused. */
  async carryOut(running: RunningCall): Promise<OutcomeBody> {
    return this.decide(running, await this.accept(running));
  }

  /** Returns the call with its input as the tool's schema gives it. @throws ToolError what its options or input are refused for. */
  async accept(running: RunningCall): Promise<AcceptedInput> {
    if (running.refused !== undefined) {
      running.tellDecision({
        verdict: 'deny',
        rule: 'invalid-options',
        reason: 'the options of the call are refused',
        danger: DangerLevel.CRITICAL,
      });
      throw running.refused;
    }
    const pass = this.#parts.checker.pass(running.call);
    return this.#parts.checker.accept(running, pass instanceof Promise ? await pass : pass);
  }

  /** Has the policy decide, asks where approval is needed, and runs the call. @param before a decision that still counts. */
  async decide(
    running: RunningCall,
    accepted: AcceptedInput,
    before?: DatedDecision,
  ): Promise<OutcomeBody> {
    const { call, options } = running;
    const { entry, raw } = accepted;
    const dated = before ?? (await this.#parts.checker.decide(running, accepted));
    const { decision } = dated;
    if (decision.verdict === 'deny') return denied(decision);
    assertUsable(running, entry);
    const asked = {
      callId: call.id,
      toolName: entry.name,
      definitionDigest: entry.digest,
      principal: options.principal,
      conversationId: options.conversationId,
      input: raw,
    };
    let approval =
      options.approval === undefined
        ? undefined
        : await this.#parts.desk.verify(running, options.approval, asked, entry);
    // A manual call is a user's work already.
    if (approval === undefined && decision.verdict === 'confirm' && !entry.manual) {
      this.#parts.places.assertIdle(entry); // Before the user is asked for nothing.
      const answer = await this.#parts.desk.ask(
        running,
        asked,
        accepted,
        decision,
        this.#confirmOf(options.confirm),
      );
      if ('outcome' in answer) return answer.outcome;
      const { edited } = answer;
      approval = answer.approval;
      running.useApproval(
        approval,
        edited === undefined ? raw : edited.input,
        edited !== undefined,
      );
      // Other arguments, or another tool, are another call.
      if (edited !== undefined || !this.#parts.checker.isCurrent(accepted, call.name))
        return this.carryOut(running);
      if (!this.#parts.checker.isRecent(dated)) return this.decide(running, accepted);
      assertUsable(running, entry);
    }
    let grant = this.#parts.checker.grantOf(decision);
    let lapsed = false;
    const useGrant = async (looksOnly = false) =>
      !(lapsed =
        approval === undefined &&
        grant !== undefined &&
        !(await this.#parts.desk.useGrant(running, grant, looksOnly)));
    let turned: DatedDecision | undefined;
    const forbiddenNow = async () => {
      const now = await this.#parts.checker.decide(running, accepted);
      const { verdict } = now.decision;
      grant = this.#parts.checker.grantOf(now.decision);
      if (verdict === 'confirm' && approval === undefined) turned = now;
      return verdict === 'deny' || turned !== undefined ? denied(now.decision) : undefined;
    };
    let outdated = false;
    const isOutdated = async () =>
      (outdated =
        approval !== undefined && (await this.#parts.desk.isOutdated(running, approval, accepted)));
    const isStale = (waited: boolean) =>
      (waited && approval !== undefined) || !this.#parts.checker.isRecent(dated);
    const body = await this.#run(running, {
      ...accepted,
      approval,
      isStale,
      forbiddenNow,
      isOutdated,
      useGrant,
      assertCurrent: () =>
        this.#parts.checker.assertCurrent(accepted, call.name, approval !== undefined),
    });
    if (outdated) {
      running.dropApproval();
      return this.decide(running, accepted);
    }
    // Nothing was run: approval is asked for without a place being taken up.
    if (lapsed) return this.decide(running, accepted);
    return turned === undefined ? body : this.decide(running, accepted, turned);
  }

  /** Returns the function that asks: the call's own `confirm`, and the executor's when there is none or it leaves the call pending. */
  #confirmOf(given: Confirm | undefined): Confirm | undefined {
    const { confirm: own } = this.#frame;
    if (given === undefined || own === undefined || this.#parts.askOwn.has(given))
      return given ?? own;
    return async (pending, options) => {
      const answer = await given(pending, options);
      return answer === 'later' ? own(pending, options) : answer;
    };
  }

  async #run(running: RunningCall, runnable: Omit<RunnableCall, 'arounds'>): Promise<OutcomeBody> {
    const arounds = this.#parts.arounds.current;
    const { entry, raw, input, approval } = runnable;
    const { conversationId, signal } = running.options;
    running.maxResultBytes = entry.maxResultBytes ?? this.#frame.maxResultBytes;
    // Before the content is there: a crash must not lose what a model may have seen.
    await this.#parts.flows.record(running, entry, input);
    if (entry.manual) {
      await this.#parts.cache.dropAfter(entry); // Nobody tells when the user does it.
      return { status: 'manual', pending: running.pendingManual(entry, raw) };
    }
    if (conversationId !== undefined && !this.#parts.repeats.admit(conversationId, entry, raw)) {
      throw new ToolError(
        'LOOP_DETECTED',
        `Expected progress, got ${this.#frame.maxRepeats} equal calls of ${entry.name} before this one. Use what they answered, or try something else.`,
      );
    }
    this.#parts.worker.assertExecutable(entry);
    const work = () => this.#parts.worker.work(running, { ...runnable, arounds });
    if (approval !== undefined || this.#frame.cacheEntries === 0 || !isCacheable(entry))
      return (await work()).result;
    const frame = cacheFrame(entry, input, running.options, (reason) =>
      running.tell({ type: 'cache-skipped', reason }),
    );
    if (frame === undefined) return (await work()).result;
    const answer = await untilAborted(
      this.#parts.cache.answer(entry, raw, frame, arounds.id, work),
      signal,
      entry.name,
    );
    if (!answer.hit) return answer.result;
    running.cached = true;
    return { status: 'ok', ...answer.answer };
  }
}

/** @throws ToolError `ABORTED` when the caller has given up, `TOOL_UNAVAILABLE`. */
export function assertUsable({ options }: RunningCall, entry: ToolEntry): void {
  assertWanted(options.signal, entry.name);
  const reason = unavailableReason(entry);
  if (reason !== undefined) throw new ToolError('TOOL_UNAVAILABLE', reason);
}

export function denied({ reason, rule, danger }: Decision): OutcomeBody {
  return { status: 'denied', reason, rule, danger };
}
