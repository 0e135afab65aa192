import type { Clock } from '../core/clock.js';
import { environment } from '../core/crypto.js';
import { DANGER_LEVELS } from '../core/enum-order.js';
import { DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import type { Flow } from '../core/flow.js';
import { suggestNames } from '../core/issues.js';
import { isPromise, type Json } from '../core/plain-data.js';
import { missingCredentials } from '../safety/built-in-checks.js';
import type { CallContext, Decision, Policy, ToolCall } from '../safety/calls.js';
import type { Grant, Grants } from '../safety/grants.js';
import { unavailableReason } from '../registry/tool-filter.js';
import { checkInput, type InputCheck } from '../tool/check-input.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ConversationLabels } from './conversation-labels.js';
import type { ExecuteOptions, ExecutorFrame, JudgeOptions } from './executor-options.js';
import type { PlannableCall } from './plan-execution.js';
import { assertCall, readCall, readOptions } from './read-call.js';
import { failure } from './read-result.js';
import { RunningCall } from './running-call.js';
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
  /**
   * Returns true if providers answer the tool's calls. If providers answer, the providers need the
   * credentials, not the tool.
   */
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
   * Returns the call with its parsed input. Returns a promise only if the schema is asynchronous.
   *
   * @param refuse Called with the decision if the call is refused.
   * @throws ToolError `TOOL_NOT_FOUND`, or the error that explains why the input is refused.
   */
  accept(
    run: RunningCall,
    refuse: (decision: Decision) => void,
  ): AcceptedCall | Promise<AcceptedCall> {
    const { name, input } = run.call;
    const entry = this.#frame.registry.get(name);
    if (entry === undefined) {
      refuse(denial('unknown-tool', 'there is no tool with this name'));
      throw unknownTool(name, this.#frame);
    }
    run.toolName = entry.name;
    const check = checkInput(entry, input);
    return check instanceof Promise
      ? check.then((settled) => accepted(entry, settled, refuse))
      : accepted(entry, check, refuse);
  }

  /**
   * Returns the stricter of two decisions (by the executor's policy and the call's own policy),
   * after applying grants.
   * @throws ToolError `ABORTED`.
   */
  decide(run: RunningCall, call: AcceptedCall): Judged | Promise<Judged> {
    const { conversationId } = run.options;
    if (run.flow !== undefined || conversationId === undefined)
      return this.#judge(run, call, run.flow);
    return this.#labels.assumed(conversationId).then((flow) => this.#judge(run, call, flow));
  }

  #judge(
    run: RunningCall,
    accepted: AcceptedCall,
    flow: Flow | undefined,
  ): Judged | Promise<Judged> {
    const { entry, input } = accepted;
    const { policy: beside, signal } = run.options;
    const context = contextOf(run.options, flow);
    const call = { id: run.call.id, name: entry.name, input };
    const { policy: own, clock } = this.#frame;
    const first = askPolicy(own, call, entry, context, clock, signal);
    const second = beside && askPolicy(beside, call, entry, context, clock, signal);
    return first instanceof Promise || second instanceof Promise
      ? Promise.all([first, second]).then((both) => this.#conclude(run, accepted, flow, ...both))
      : this.#conclude(run, accepted, flow, first, second);
  }

  #conclude(
    run: RunningCall,
    { entry, raw }: AcceptedCall,
    flow: Flow | undefined,
    first: Decision,
    second: Decision | undefined,
  ): Judged | Promise<Judged> {
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
    return this.#grants.covering(run.asked(entry, raw), entry, decision).then((grant) =>
      grant === undefined
        ? { decision, flow }
        : {
            decision: {
              ...decision,
              verdict: 'allow',
              rule: 'grant',
              reason: `the grant ${grant.id} covers it: ${decision.reason}`,
            },
            grant,
            question: decision,
            flow,
          },
    );
  }
}

/** Returns the options that a policy can see. */
function contextOf(options: ExecuteOptions, flow: Flow | undefined): CallContext {
  const { principal, scopes, flags, persona, conversationId, mode } = options;
  return { principal, scopes, flags, persona, conversationId, mode, flow } as CallContext;
}

function accepted(
  entry: ToolEntry,
  check: InputCheck,
  refuse: (decision: Decision) => void,
): AcceptedCall {
  if (check.ok) return { entry, raw: check.raw, input: check.value };
  refuse({ ...denial('invalid-input', 'the input was refused'), danger: entry.dangerLevel });
  throw check.error;
}

/** Returns the decision to deny a call without asking a policy. */
export function denial(rule: string, reason: string): Decision {
  return { verdict: 'deny', rule, reason, danger: DangerLevel.CRITICAL };
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

/**
 * Returns a policy's decision. If the policy throws, takes too long, or returns anything else, the
 * call is denied.
 * @throws ToolError `ABORTED`.
 */
function askPolicy(
  policy: Policy,
  call: ToolCall,
  entry: ToolEntry,
  context: CallContext,
  clock: Clock,
  signal: AbortSignal | undefined,
): Decision | Promise<Decision> {
  try {
    const answer = policy.decide(call, context, entry);
    return isPromise(answer)
      ? decisionOf(answer.then(readDecision), clock, signal, call.name)
      : readDecision(answer);
  } catch {
    return denial('policy-error', 'the policy failed');
  }
}

async function decisionOf(
  answer: Promise<Decision>,
  clock: Clock,
  signal: AbortSignal | undefined,
  toolName: string,
): Promise<Decision> {
  const limits = { clock, timeoutMs: POLICY_TIMEOUT_MS, signal };
  const settled = await withDeadline(() => answer, limits);
  if (settled.kind === 'aborted') throw aborted(toolName);
  if (settled.kind === 'returned') return settled.value;
  return denial(
    'policy-error',
    settled.kind === 'threw'
      ? 'the policy failed'
      : `the policy didn't decide within ${POLICY_TIMEOUT_MS} ms`,
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
  frame: ExecutorFrame,
  judge: CallJudge,
  planned: PlannableCall,
  options: JudgeOptions,
): Promise<{ run: RunningCall; call?: AcceptedCall; decided: DecidedCall }> {
  const own = readCall(planned);
  let run = new RunningCall(own, {}, frame);
  const end = (of: Decision, refused?: string): DecidedCall => {
    const decided = { callId: own.id, toolName: run.toolName, ...of };
    return Object.freeze(refused === undefined ? decided : { ...decided, refused });
  };
  try {
    run = new RunningCall(own, readOptions(options), frame);
    assertCall(planned);
  } catch (error) {
    const { message } = failure(error);
    return { run, decided: end(denial('invalid-options', message), message) };
  }
  let refused: string | undefined;
  let call: AcceptedCall;
  try {
    call = await judge.accept(run, () => undefined);
  } catch (error) {
    refused = failure(error).message;
    const entry = frame.registry.get(own.name);
    if (entry === undefined) return { run, decided: end(denial('unknown-tool', refused)) };
    // Continues without a valid input, because the caller also wants the policy's decision.
    call = { entry, raw: null, input: own.input };
  }
  const { decision } = await judge.decide(run, call);
  const decided = end(decision, refused);
  return refused === undefined ? { run, call, decided } : { run, decided };
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
