import { environment } from '../core/crypto.js';
import { DANGER_LEVELS } from '../core/enum-order.js';
import { DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import type { Flow } from '../core/flow.js';
import { suggestNames } from '../core/issues.js';
import { isPromise, type Json } from '../core/plain-data.js';
import { missingCredentials } from '../safety/built-in-checks.js';
import type { CallContext, Decision, Policy } from '../safety/calls.js';
import type { Grant, Grants } from '../safety/grants.js';
import { unavailableReason } from '../registry/tool-filter.js';
import { checkInput, type InputCheck } from '../tool/check-input.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ConversationLabels } from './conversation-labels.js';
import type { ExecutorFrame } from './executor-options.js';
import { failure } from './read-result.js';
import type { RunningCall } from './running-call.js';
import { aborted, assertWanted, withDeadline } from './with-deadline.js';

/** The time limit for a policy's decision. */
const POLICY_TIMEOUT_MS = 5_000;
/** The verdicts, from least to most strict. */
const VERDICTS: readonly unknown[] = ['allow', 'confirm', 'deny'];

/** A call whose input matches the tool's schema. */
export interface AcceptedCall {
  readonly entry: ToolEntry;
  /**
   * A frozen copy of the input from the caller. Approvals and cached results are bound to this
   * copy.
   */
  readonly raw: Json;
  /** The input as parsed by the tool's schema. */
  readonly input: unknown;
}

/** A call that no policy evaluates, because its options, its tool, or its input are refused. */
interface RefusedCall {
  readonly decision: Decision;
  readonly error: unknown;
  /** The tool whose schema refused the input. */
  readonly entry?: ToolEntry;
}

/** The decision about a call and the facts behind it. */
export interface Judged {
  readonly decision: Decision;
  /** The grant that allows the call. Without the grant, the user would be asked `question`. */
  readonly grant?: Grant;
  readonly question?: Decision;
  /** The conversation's labels at the time of the decision. */
  readonly flow: Flow | undefined;
}

/** Checks a call's input and asks the policy for a decision. */
export class CallJudge {
  readonly #frame: ExecutorFrame;
  readonly #labels: ConversationLabels;
  readonly #grants: Grants;
  /** Returns true if providers answer the tool's calls. Then they need the credentials, not the tool. */
  readonly #isRouted: (entry: ToolEntry) => boolean;

  constructor(
    frame: ExecutorFrame,
    labels: ConversationLabels,
    grants: Grants,
    isRouted: (entry: ToolEntry) => boolean,
  ) {
    this.#frame = frame;
    this.#labels = labels;
    this.#grants = grants;
    this.#isRouted = isRouted;
  }

  /**
   * Returns the call with its parsed input, or explains why the call is refused. Returns a promise
   * only if the schema is asynchronous.
   */
  accept(run: RunningCall): AcceptedCall | RefusedCall | Promise<AcceptedCall | RefusedCall> {
    const { name, input } = run.call;
    const entry = this.#frame.registry.get(name);
    if (run.wrong !== undefined)
      return { decision: denial('invalid-options', failure(run.wrong).message), error: run.wrong };
    if (entry === undefined) {
      const error = unknownTool(name, this.#frame);
      return { decision: denial('unknown-tool', error.message), error };
    }
    run.toolName = entry.name;
    const check = checkInput(entry, input);
    return check instanceof Promise
      ? check.then((settled) => accepted(entry, settled))
      : accepted(entry, check);
  }

  /**
   * Returns the stricter of two decisions (by the executor's policy and the call's own policy),
   * after applying grants.
   * @throws ToolError `ABORTED`.
   */
  async decide(run: RunningCall, { entry, raw, input }: AcceptedCall): Promise<Judged> {
    const { conversationId, policy: beside } = run.options;
    const flow =
      run.flow ??
      (conversationId === undefined ? undefined : await this.#labels.assumed(conversationId));
    const asking = this.#ask(this.#frame.policy, run, entry, input, flow);
    const first = asking instanceof Promise ? await asking : asking;
    const second = beside && (await this.#ask(beside, run, entry, input, flow));
    const isStricter =
      second !== undefined && VERDICTS.indexOf(second.verdict) > VERDICTS.indexOf(first.verdict);
    const decision = isStricter ? second : first;
    // If a tool has providers but its own function runs the call, the tool needs the credentials.
    if (decision.verdict !== 'deny' && entry.providers.length > 0 && !this.#isRouted(entry)) {
      const missing = missingCredentials(entry, this.#frame.env ?? environment());
      if (missing !== undefined)
        return { decision: { ...decision, verdict: 'deny', ...missing }, flow };
    }
    // The policies can ask for different reasons, but a grant covers only one reason.
    const isOneQuestion = first.verdict !== second?.verdict || first.rule === second.rule;
    if (decision.verdict !== 'confirm' || !isOneQuestion || run.approved) return { decision, flow };
    const grant = await this.#grants.covering(run.asked(entry, raw), entry, decision);
    if (grant === undefined) return { decision, flow };
    const reason = `the grant ${grant.id} covers it: ${decision.reason}`;
    const granted = { ...decision, verdict: 'allow', rule: 'grant', reason } as const;
    return { decision: granted, grant, question: decision, flow };
  }

  /**
   * Returns a policy's decision. If the policy throws, takes too long, or returns anything else, the
   * call is denied.
   * @throws ToolError `ABORTED`.
   */
  #ask(
    policy: Policy,
    { call, options }: RunningCall,
    entry: ToolEntry,
    input: unknown,
    flow: Flow | undefined,
  ): Decision | Promise<Decision> {
    const { principal, scopes, flags, persona, conversationId, mode, signal } = options;
    const context = { principal, scopes, flags, persona, conversationId, mode, flow };
    try {
      const asked = { id: call.id, name: entry.name, input };
      const answer = policy.decide(asked, context as CallContext, entry);
      return isPromise(answer) ? this.#inTime(answer, entry.name, signal) : readDecision(answer);
    } catch {
      return denial('policy-error', 'the policy failed');
    }
  }

  async #inTime(
    answer: Promise<Decision>,
    toolName: string,
    signal: AbortSignal | undefined,
  ): Promise<Decision> {
    const limits = { clock: this.#frame.clock, timeoutMs: POLICY_TIMEOUT_MS, signal };
    const settled = await withDeadline(() => answer, limits);
    if (settled.kind === 'aborted') throw aborted(toolName);
    if (settled.kind === 'returned') return readDecision(settled.value);
    const late = `the policy didn't decide within ${POLICY_TIMEOUT_MS} ms`;
    return denial('policy-error', settled.kind === 'timeout' ? late : 'the policy failed');
  }
}

function accepted(entry: ToolEntry, check: InputCheck): AcceptedCall | RefusedCall {
  if (check.ok) return { entry, raw: check.raw, input: check.value };
  const decision = denial('invalid-input', 'the input was refused', entry.dangerLevel);
  return { decision, error: check.error, entry };
}

/** Returns the decision to deny a call without asking a policy. */
function denial(
  rule: string,
  reason: string,
  danger: DangerLevel = DangerLevel.CRITICAL,
): Decision {
  return { verdict: 'deny', rule, reason, danger };
}

function unknownTool(name: string, { registry }: ExecutorFrame): ToolError {
  if (name === '')
    return new ToolError(
      'TOOL_NOT_FOUND',
      'This call has no tool name. Write { id, name, input }.',
    );
  const names = suggestNames(
    name,
    [...registry].map((entry) => entry.name),
  );
  const hint = names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
  return new ToolError(
    'TOOL_NOT_FOUND',
    `There is no tool named ${JSON.stringify(name.slice(0, 128))}.${hint}`,
  );
}

function readDecision(value: unknown): Decision {
  const { verdict, reason, rule, danger } = (value ?? {}) as Partial<Decision>;
  return VERDICTS.includes(verdict) &&
    typeof reason === 'string' &&
    typeof rule === 'string' &&
    DANGER_LEVELS.includes(danger as DangerLevel)
    ? (value as Decision)
    : denial('policy-error', "the policy didn't return a decision");
}

/**
 * The decision about a call that wasn't run. `refused` explains why the call's input is refused or
 * why the call can't run.
 */
export type DecidedCall = Decision & {
  readonly callId: string;
  readonly toolName: string;
  readonly refused?: string;
};

/**
 * Decides about a call without running it or recording anything. `call` is missing if the call's
 * input is refused.
 * @throws ToolError `ABORTED`.
 */
export async function decideCall(
  judge: CallJudge,
  run: RunningCall,
): Promise<{ readonly call?: AcceptedCall; readonly decided: DecidedCall }> {
  const call = await judge.accept(run);
  const facts = { callId: run.call.id, toolName: run.toolName };
  if (!('error' in call)) {
    const { decision } = await judge.decide(run, call);
    return { call, decided: Object.freeze({ ...facts, ...decision }) };
  }
  const { entry, error } = call;
  const refused = failure(error).message;
  // The caller also wants the policy's decision about a call whose input is refused.
  const { decision } =
    entry === undefined
      ? call
      : await judge.decide(run, { entry, raw: null, input: run.call.input });
  return { decided: Object.freeze({ ...facts, ...decision, refused }) };
}

/** @throws ToolError `ABORTED` if the caller aborted, or `TOOL_UNAVAILABLE`. */
export function assertUsable({ options }: RunningCall, entry: ToolEntry): void {
  assertWanted(options.signal, entry.name);
  const reason = entry.available === undefined ? undefined : unavailableReason(entry);
  if (reason !== undefined) throw new ToolError('TOOL_UNAVAILABLE', reason);
}

/**
 * @throws ToolError `TOOL_CHANGED` if the tool was replaced or removed after the policy evaluated
 * the call, or `ABORTED`.
 */
export function assertSame({ registry }: ExecutorFrame, run: RunningCall, entry: ToolEntry): void {
  assertWanted(run.options.signal, entry.name);
  if (registry.get(run.call.name) !== entry)
    throw new ToolError(
      'TOOL_CHANGED',
      `${entry.name} was replaced or removed after the policy evaluated this call, so it didn't run. Call it again.`,
    );
}
