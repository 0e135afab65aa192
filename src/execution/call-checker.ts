import { environment } from '../core/crypto.js';
import type { Clock } from '../core/clock.js';
import type { Flow } from '../core/flow.js';
import { DangerLevel } from '../core/enums.js';
import { DANGER_LEVELS } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { canonicalJson, isShownByJson, type Json } from '../core/plain-data.js';
import { suggestNames } from '../core/issues.js';
import { missingCredentials } from '../safety/built-in-checks.js';
import { areNamed, isUsersOwn } from '../safety/call-flow.js';
import type { Grant, Grants } from '../safety/grants.js';
import type { CallContext, CheckedCall, Decision, Policy, ToolCall } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import { checkInput, type InputCheck } from '../tool/check-input.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ConversationFlow } from './conversation-flow.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';
import { previewOf } from './preview-call.js';
import type { RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/** A policy may ask elsewhere, but a call does not wait for it for ever. */
const POLICY_TIMEOUT_MS = 5_000;
/** A decision counts as long as it may take to be made. After a longer wait the policy is asked again. */
const DECISION_MS = POLICY_TIMEOUT_MS;
/** The stricter come later. */
const VERDICTS: readonly unknown[] = ['allow', 'confirm', 'deny'];

/** A call whose tool is known and whose input was given to the tool's schema. */
interface InputPass {
  readonly entry: ToolEntry;
  readonly check: InputCheck;
}

/** A call whose input its tool's schema accepts. */
export interface AcceptedInput {
  readonly entry: ToolEntry;
  /** The input as it was given: what approvals and cached answers are bound to. */
  readonly raw: Json;
  /** The input as the schema gives it. */
  readonly input: unknown;
}

/** The policy's decision over a call, and its moment on the clock that only counts on. */
export interface DatedDecision {
  readonly decision: Decision;
  readonly decidedAt: number;
}

interface Sealed {
  readonly accepted: AcceptedInput;
  readonly dated: DatedDecision;
  /** The caller and frame for which it was decided. */
  readonly frame: string;
  /** The policy that was asked beside the executor's own. */
  readonly policy: Policy | undefined;
  /** The program's own context, which policies may read. */
  readonly context: unknown;
}

/** Takes a call through its one pass: the tool's schema once, the policy once. */
export class CallChecker {
  readonly #frame: ExecutorFrame;
  /** A tool whose calls go to its providers needs no credentials itself: they do. */
  readonly #isRouted: (entry: ToolEntry) => boolean;
  readonly #flows: ConversationFlow;
  readonly #grants: Grants;
  /** The grants on which decisions rest. */
  readonly #grantOf = new WeakMap<Decision, Grant>();
  /** Checked calls, known by identity: data that looks like one is a plain call. */
  readonly #sealed = new WeakMap<object, Sealed>();
  /** The inputs that were checked when calls were planned. */
  readonly #planned = new WeakMap<object, InputPass>();

  constructor(
    frame: ExecutorFrame,
    flows: ConversationFlow,
    grants: Grants,
    isRouted: (entry: ToolEntry) => boolean,
  ) {
    this.#frame = frame;
    this.#flows = flows;
    this.#grants = grants;
    this.#isRouted = isRouted;
  }

  /** Returns the calls with their input as the tools' schemas give it, where a plan needs it: the tools that name conflict keys. */
  async plannable(calls: readonly ToolCall[]): Promise<readonly ToolCall[]> {
    return Promise.all(
      calls.map(async (call) => {
        if (this.#frame.registry.get(call.name)?.conflictKeys === undefined) return call;
        const pass = (await this.#pass(call))!;
        this.#planned.set(call, pass);
        return pass.check.ok ? { id: call.id, name: call.name, input: pass.check.value } : call;
      }),
    );
  }

  /** Returns the input of a call, checked now or when it was planned; a promise only if the schema's answer is one. */
  pass(call: ToolCall): InputPass | Promise<InputPass> | undefined {
    const planned = this.#planned.get(call);
    this.#planned.delete(call);
    return planned !== undefined && this.isCurrent(planned, call.name) ? planned : this.#pass(call);
  }

  #pass(call: ToolCall): InputPass | Promise<InputPass> | undefined {
    const entry = this.#frame.registry.get(call.name);
    if (entry === undefined) return undefined;
    const check = checkInput(entry, call.input);
    return check instanceof Promise
      ? check.then((settled) => ({ entry, check: settled }))
      : { entry, check };
  }

  /** @throws ToolError `TOOL_NOT_FOUND`, and what the input is refused for; both are told as decisions. */
  accept(running: RunningCall, pass: InputPass | undefined): AcceptedInput {
    const { call } = running;
    if (pass === undefined) {
      running.tellDecision({
        verdict: 'deny',
        rule: 'unknown-tool',
        reason: 'there is no tool of this name',
        danger: DangerLevel.CRITICAL,
      });
      const names = suggestNames(
        call.name,
        [...this.#frame.registry].map(({ name }) => name),
      );
      throw new ToolError(
        'TOOL_NOT_FOUND',
        `Expected the name of a known tool, got ${call.name === '' ? 'a call without one. Give { id, name, input }.' : `${JSON.stringify(call.name.slice(0, 128))}.${names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`}`}`,
      );
    }
    const { entry, check } = pass;
    running.toolName = entry.name;
    if (check.ok) return { entry, raw: check.raw, input: check.value };
    running.tellDecision({
      verdict: 'deny',
      rule: 'invalid-input',
      reason: 'the input is refused',
      danger: entry.dangerLevel,
    });
    throw check.error;
  }

  /** Returns true if a pass still is of the tool that calls of this name reach: one that was registered again may check otherwise. */
  isCurrent({ entry }: { readonly entry: ToolEntry }, name = entry.name): boolean {
    return this.#frame.registry.get(name) === entry;
  }

  /** @throws ToolError `INVALID_APPROVAL` or `TOOL_CHANGED` when the tool was replaced or removed since the call was judged. */
  assertCurrent(accepted: AcceptedInput, name: string, isApproved: boolean): void {
    if (this.isCurrent(accepted, name)) return;
    if (isApproved)
      throw new ToolError(
        'INVALID_APPROVAL',
        'Expected the tool that was approved, got one that was replaced or removed. Ask again.',
      );
    throw new ToolError(
      'TOOL_CHANGED',
      `Expected ${accepted.entry.name} as it was when the call was judged, got one that was replaced or removed. Nothing was run; call it again.`,
    );
  }

  /** Returns the policy's decision, told when it says something new. @throws ToolError `ABORTED` when the caller gives up before. */
  async decide(running: RunningCall, accepted: AcceptedInput): Promise<DatedDecision> {
    const { entry, input } = accepted;
    const { clock, env } = this.#frame;
    const { call, options } = running;
    const flow =
      running.flow ??
      (options.conversationId === undefined
        ? undefined
        : await this.#flows.assumed(options.conversationId));
    const asked = { id: call.id, name: entry.name, input };
    let decision = await this.judge(asked, entry, options, flow);
    // Of a tool that names no sensitive arguments a call is the user's only as far as its preview shows; others wait for nothing.
    const isShown =
      flow?.untrusted !== undefined &&
      entry.preview !== undefined &&
      entry.sensitive === undefined &&
      isUsersOwn(entry, input, options.userText);
    if (decision.verdict === 'allow' && isShown && (await this.#reachesOthers(running, accepted)))
      decision = await this.judge(asked, entry, { ...options, userText: [] }, flow);
    // A tool that has providers, and is run by its own function all the same, needs its credentials itself.
    const missing =
      decision.verdict === 'deny' || entry.providers.length === 0 || this.#isRouted(entry)
        ? undefined
        : missingCredentials(entry, env ?? environment());
    const complete: Decision =
      missing === undefined ? decision : { ...decision, verdict: 'deny' as const, ...missing };
    running.tellDecision(complete);
    return { decision: complete, decidedAt: clock.elapsed() };
  }

  /** Returns true if the preview of a call shows a recipient whom the user did not name. */
  async #reachesOthers(running: RunningCall, accepted: AcceptedInput): Promise<boolean> {
    const { preview } = await previewOf(this.#frame, running, accepted);
    return preview === undefined || !areNamed(preview.recipients ?? [], running.options.userText);
  }

  /**
   * Returns the decision of the executor's policy, or of the call's own where that is stricter, once a user's grants have covered what
   * they cover: each policy asks for its own reason, and must be covered by itself.
   *
   * @throws ToolError `ABORTED` when the caller gives up before.
   */
  async judge(
    call: ToolCall,
    entry: ToolEntry | undefined,
    options: ExecuteOptions,
    flow: Flow | undefined,
  ): Promise<Decision> {
    const decisions = await askPolicies(this.#frame, call, entry, options, flow);
    const [first, second] = await Promise.all(
      decisions.map((each) => this.#covered(call, entry, options, each)),
    );
    if (second === undefined) return first!;
    const [one, other] = [this.grantOf(first!), this.grantOf(second)];
    // Of two grants only one would be counted.
    if (one !== undefined && other !== undefined && one.id !== other.id) return decisions[0]!;
    if (first!.verdict === second.verdict)
      return one === undefined && other !== undefined ? second : first!;
    return VERDICTS.indexOf(second.verdict) > VERDICTS.indexOf(first!.verdict) ? second : first!;
  }

  /** Returns the decision, or one that allows the call where a user's grant covers it. */
  async #covered(
    call: ToolCall,
    entry: ToolEntry | undefined,
    context: CallContext,
    decision: Decision,
  ): Promise<Decision> {
    const grant =
      entry === undefined ? undefined : await this.#grants.covering(call, entry, context, decision);
    if (grant === undefined) return decision;
    const allowed: Decision = {
      ...decision,
      verdict: 'allow',
      rule: 'grant',
      reason: `the grant ${grant.id} covers it: ${decision.reason}`,
    };
    this.#grantOf.set(allowed, grant);
    return allowed;
  }

  /** Returns the grant on which a decision rests. */
  grantOf(decision: Decision): Grant | undefined {
    return this.#grantOf.get(decision);
  }

  /** Returns true if a decision still counts. */
  isRecent({ decidedAt }: DatedDecision): boolean {
    return this.#frame.clock.elapsed() - decidedAt < DECISION_MS;
  }

  /** Makes a checked call, which this checker knows by identity. */
  seal({ call, options }: RunningCall, accepted: AcceptedInput, dated: DatedDecision): CheckedCall {
    const { entry, raw, input } = accepted;
    const checked: CheckedCall = Object.freeze({
      status: 'checked',
      id: call.id,
      name: entry.name,
      input: raw,
      parsed: input,
      definitionDigest: entry.digest,
      decision: Object.freeze({ ...dated.decision }),
    });
    this.#sealed.set(checked, {
      accepted,
      dated,
      frame: frameOf(options),
      policy: options.policy,
      context: options.context,
    });
    return checked;
  }

  /** Returns what was sealed, the first time it is asked for, if the call is made in the frame for which it was decided. */
  unseal(
    call: object,
    { options, refused }: RunningCall,
  ): { readonly accepted: AcceptedInput; readonly dated: DatedDecision | undefined } | undefined {
    const sealed = this.#sealed.get(call);
    if (sealed === undefined || refused !== undefined) return undefined;
    this.#sealed.delete(call);
    const { accepted, dated, frame, policy, context } = sealed;
    // Who comes back with an approval comes back later: that is a pass of its own.
    if (
      options.approval !== undefined ||
      frame !== frameOf(options) ||
      policy !== options.policy ||
      !isSameContext(context, options.context) ||
      !this.isCurrent(accepted)
    )
      return undefined;
    return { accepted, dated: this.isRecent(dated) ? dated : undefined };
  }
}

function frameOf({
  principal,
  scopes,
  flags,
  persona,
  conversationId,
  mode,
  userText,
}: CallContext): string {
  return canonicalJson({ principal, scopes, flags, persona, conversationId, mode, userText });
}

/** Compares the contexts of two calls: plain data, of which each call has its frozen copy, by its content; anything else as the object it is. */
function isSameContext(one: unknown, other: unknown): boolean {
  return (
    one === other ||
    (isFrozenCopy(one) && isFrozenCopy(other) && canonicalJson(one) === canonicalJson(other))
  );
}

function isFrozenCopy(context: unknown): boolean {
  try {
    return isShownByJson(context) && boundInput(context) === context;
  } catch {
    return false; // No plain data.
  }
}

/**
 * Returns the decision of the executor's policy, and that of the call's own where it has one; each is asked once.
 *
 * A policy that throws, does not answer in time or answers with anything else has said no.
 *
 * @throws ToolError `ABORTED` when the caller gives up before.
 */
async function askPolicies(
  { policy: own, clock }: ExecutorFrame,
  call: ToolCall,
  entry: ToolEntry | undefined,
  options: ExecuteOptions,
  flow: Flow | undefined,
): Promise<readonly Decision[]> {
  const { policy: beside, signal, ...others } = options;
  const context: CallContext = flow === undefined ? others : { ...others, flow };
  const ask = (policy: Policy) => askPolicy(policy, call, entry, context, clock, signal);
  return beside === undefined ? [await ask(own)] : Promise.all([ask(own), ask(beside)]);
}

async function askPolicy(
  policy: Policy,
  call: ToolCall,
  entry: ToolEntry | undefined,
  context: CallContext,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Decision> {
  try {
    const answer = policy.decide(call, context, entry);
    if (!(answer instanceof Promise))
      return isDecision(answer) ? answer : no('the policy gave no decision');
    const settled = await withDeadline(() => answer, {
      clock,
      timeoutMs: POLICY_TIMEOUT_MS,
      signal,
    });
    if (settled.kind === 'aborted') throw aborted(call.name);
    if (settled.kind === 'timeout')
      return no(`the policy did not answer within ${POLICY_TIMEOUT_MS} ms`);
    if (settled.kind === 'returned' && isDecision(settled.value)) return settled.value;
    return no(settled.kind === 'threw' ? 'the policy failed' : 'the policy gave no decision');
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return no('the policy failed');
  }
}

function no(reason: string): Decision {
  return { verdict: 'deny', rule: 'policy-error', reason, danger: DangerLevel.CRITICAL };
}

function isDecision(value: unknown): value is Decision {
  if (typeof value !== 'object' || value === null) return false;
  const { verdict, reason, rule, danger } = value as Partial<Decision>;
  return (
    VERDICTS.includes(verdict) &&
    typeof reason === 'string' &&
    typeof rule === 'string' &&
    DANGER_LEVELS.includes(danger as DangerLevel)
  );
}
