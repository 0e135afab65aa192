import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { withMethods } from '../../core/options.js';
import { canonicalJson, digestOf, type Json } from '../../core/plain-data.js';
import type { ToolEvent } from '../../core/tool-event.js';
import { type CallContext, type CheckedCall, type PendingApproval, type Policy, POLICY_MODES, type ToolCall, type ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { levelShape } from '../export/export-input.js';

/** Asks a user about one call; anything but `true` (or other arguments for it) is a no, and `later` leaves it pending. */
export type AskPerson = (pending: PendingApproval, options: { readonly signal?: AbortSignal | undefined }) => Answer | Promise<Answer>;
type Answer = boolean | 'later' | { readonly input: unknown };

export interface CallOptions extends CallContext {
  readonly signal?: AbortSignal;
  readonly confirm?: AskPerson;
  /** Asked beside the executor's own policy; the stricter of both decides. */
  readonly policy?: Policy;
}

/** Makes the calls: a `ToolExecutor` fits. */
export interface CallExecutor {
  /** Checks and decides over a call, for those who ask a user before it runs. */
  check(call: ToolCall, options?: CallOptions): Promise<CheckedCall | ToolOutcome>;
  /** Makes a call; one that `check` gave is not checked again. */
  execute(call: ToolCall, options?: CallOptions): Promise<ToolOutcome>;
  /** Tells of progress. @returns what ends it. */
  on?(listener: (event: ToolEvent) => void): () => void;
}

const name = z.string().optional();
const contextShape = { principal: name, scopes: z.array(z.string()).optional(), flags: z.array(z.string()).optional(), persona: name, conversationId: name, mode: z.enum(POLICY_MODES).optional() };

/** The options that the tools of all frameworks take. */
export const bridgeShape = { ...contextShape, ...levelShape };
export const executorOption = withMethods<CallExecutor>('a ToolExecutor', 'execute', 'check');
export const policyOption = withMethods<Policy>('a policy with a decide method', 'decide').optional();
export const storeOption = withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'now').optional();

/** Returns who calls, of checked options; without what was not given. */
export function contextOf(options: z.output<z.ZodObject<typeof contextShape>>): CallContext {
  const { principal, scopes, flags, persona, conversationId, mode } = options;
  return Object.fromEntries(Object.entries({ principal, scopes, flags, persona, conversationId, mode }).filter(([, value]) => value !== undefined));
}

export interface GuardedCallsOptions {
  readonly executor: CallExecutor;
  readonly policy?: Policy | undefined;
  readonly context: CallContext;
}

interface CheckedBefore {
  readonly call: ToolCall;
  readonly result: CheckedCall | ToolOutcome;
}

/**
 * Calls that another framework asks for, and that run only as the policy and the executor allow.
 *
 * Frameworks ask a user before a call runs, the executor while it runs. An approval that was given there counts here only
 * for a call with the id, tool and input of the call that `run` is given, and while the tool is defined as it is in this set;
 * the framework's part knows which call was asked about, and gives no other as approved.
 */
export class GuardedCalls {
  readonly #options: GuardedCallsOptions;
  /** Calls that were checked and did not run yet, by what ends with them: a run of the framework, or the input of the one call. */
  readonly #checked = new WeakMap<object, Map<string, CheckedBefore>>();

  constructor(options: GuardedCallsOptions) {
    this.#options = options;
  }

  /** Checks a call, and tells whether the framework has to ask a user about it; when not, `run` goes on with what was checked. */
  async needsApproval(call: ToolCall, owner: object): Promise<boolean> {
    const result = await this.#options.executor.check(call, this.#with({}));
    if (result.status === 'checked' && result.decision.verdict === 'confirm') return true;
    const ofOwner = this.#checked.get(owner) ?? new Map<string, CheckedBefore>();
    this.#checked.set(owner, ofOwner.set(call.id, { call, result }));
    return false;
  }

  /**
   * Makes a call.
   *
   * @param owner as for `needsApproval`, where that was asked.
   * @param options `approved` for exactly this call where the framework asked: that begins a pass of its own, in which tool
   * and policy are asked again; `confirm` is asked about calls that need approval and have none.
   */
  async run(entry: ToolEntry, call: ToolCall, { owner, approved = false, signal, confirm }: { readonly owner?: object; readonly approved?: boolean; readonly signal?: AbortSignal | undefined; readonly confirm?: AskPerson | undefined }): Promise<ToolOutcome> {
    const { executor } = this.#options;
    const before = owner === undefined ? undefined : this.#take(owner, call);
    if (approved) return this.#runApproved(entry, call, signal);
    if (before !== undefined && before.status !== 'checked') return before;
    return executor.execute(before ?? call, this.#with({ signal, confirm }));
  }

  /** Makes an approved call. What was not approved stays pending: nobody said no to it. */
  async #runApproved(entry: ToolEntry, call: ToolCall, signal: AbortSignal | undefined): Promise<ToolOutcome> {
    let replaced = false;
    const confirm: AskPerson = (pending) => {
      replaced = pending.definitionDigest !== entry.digest;
      return isOf(pending, entry, call) || 'later';
    };
    const outcome = await this.#options.executor.execute(call, this.#with({ signal, confirm }));
    if (!replaced || outcome.status !== 'approval_required') return outcome;
    const { status: _status, pending: _pending, ...facts } = outcome;
    return { ...facts, status: 'error', code: 'TOOL_CHANGED', message: `Expected ${entry.name} as it was when the call was approved, got one that was replaced. Nothing was run; call it again.` };
  }

  /** Returns what was checked of exactly this call, once. */
  #take(owner: object, call: ToolCall): CheckedBefore['result'] | undefined {
    const ofOwner = this.#checked.get(owner);
    const before = ofOwner?.get(call.id);
    ofOwner?.delete(call.id);
    if (before === undefined || before.call.name !== call.name) return undefined;
    const { result } = before;
    return isSameInput(result.status === 'checked' ? result.input : before.call.input, call.input) ? result : undefined;
  }

  #with({ signal, confirm }: { readonly signal?: AbortSignal | undefined; readonly confirm?: AskPerson | undefined }): CallOptions {
    const { context, policy } = this.#options;
    return { ...context, ...(policy && { policy }), ...(signal && { signal }), ...(confirm && { confirm }) };
  }
}

/** Compares what is pending with what was approved. A tool that was replaced meanwhile has another digest. */
function isOf(pending: PendingApproval, entry: ToolEntry, call: ToolCall): boolean {
  return pending.callId === call.id && pending.toolName === entry.name && pending.definitionDigest === entry.digest && isSameInput(pending.input, call.input ?? {});
}

/** Compares two inputs as JSON; what is none equals nothing but itself. */
export function isSameInput(one: unknown, other: unknown): boolean {
  try {
    return one === other || canonicalJson(one) === canonicalJson(other);
  } catch {
    return false;
  }
}

/**
 * Returns the result of a call, for a framework that takes errors as they are thrown.
 *
 * @throws ToolError with the words of `readOutcome` for everything that is no result: the code of an `error`;
 * `INVALID_APPROVAL` for `approval_required`; `NOT_EXECUTABLE` for `denied`, `manual` and `ask_user`. `details` has the
 * outcome's `status`, and `pending` where something is awaited.
 */
export function resultOf(outcome: ToolOutcome): Json {
  const { kind, text: message, data, code, pending } = readOutcome(outcome);
  if (kind === 'result') return data!;
  const { status } = outcome;
  const details = { ...(status === 'error' && outcome.details), status, ...(pending && { pending }) };
  throw new ToolError(code ?? (status === 'approval_required' ? 'INVALID_APPROVAL' : 'NOT_EXECUTABLE'), message, { details });
}

/**
 * Uses a framework's approval up: frameworks keep approvals as long as their messages or run, and would run their calls again.
 *
 * @param approval what makes it this approval and no other.
 * @param identity of the store when the user was asked, where that is known: one that restarted since may have forgotten the use.
 * @throws ToolError `INVALID_APPROVAL` for an approval that has run its call already, or of a store that restarted since; `STATE_UNAVAILABLE`.
 */
export async function redeemApproval(store: StateStore, framework: string, approval: Json, identity?: string): Promise<void> {
  try {
    if ((await store.compareAndSet(`${framework}-approval:${digestOf(approval)}`, undefined, 'used', { ttlMs: LIMITS.timerMs, ...(identity !== undefined && { identity }) })) === true) return;
  } catch (error) {
    if (!isRestarted(error)) throw error;
    throw new ToolError('INVALID_APPROVAL', 'Expected the state store in which the approval was asked for, got one that restarted since, or another server. Ask again.');
  }
  throw new ToolError('INVALID_APPROVAL', 'Expected an approval that was not used, got one that has run its call already. Ask again.');
}

/** The error for an approval of a call that nobody is known to have been asked about. */
export function notAsked(): ToolError {
  return new ToolError('INVALID_APPROVAL', 'Expected an approval of a call that these tools asked about, got one that their store does not know. Give all tools of a run the same store, and ask again.');
}
