import { DangerLevel } from '../../core/enums.js';
import { canonicalJson } from '../../core/plain-data.js';
import type { CallContext, Decision, PendingApproval, Policy, ToolCall } from '../../safety/calls.js';
import { checkInput } from '../../tool/input/check-input.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { CallExecutor, CallOptions, ExecutorOutcome } from './call-executor.js';

export interface GuardedCallsOptions {
  readonly executor: CallExecutor | undefined;
  readonly policy: Policy | undefined;
  readonly context: CallContext;
}

const STRICTNESS = ['allow', 'confirm', 'deny'] as const;

/**
 * Calls that another framework asks for, and that run only as the policy and the executor allow.
 *
 * Frameworks ask a person before a call runs, the executor while it runs. What was said yes to there is a yes here only
 * for the same call: id, tool and arguments, of the tool as it is defined in this set when the call is made.
 */
export class GuardedCalls {
  readonly #options: GuardedCallsOptions;

  constructor(options: GuardedCallsOptions) {
    this.#options = options;
  }

  /** The stricter of what the policy and the executor's own policy decide; whoever fails or is not understood has said no. */
  async decide(entry: ToolEntry, call: ToolCall): Promise<Decision | undefined> {
    const { executor, policy, context } = this.#options;
    const deciders: (() => Promise<Decision>)[] = [];
    if (policy !== undefined) deciders.push(() => this.#ask(policy, entry, call));
    if (executor?.dryRun !== undefined) {
      deciders.push(async () => {
        const [dryRun] = await executor.dryRun!([call], context);
        // Nobody is asked about a call that cannot run anyway.
        return dryRun!.refused === undefined ? understood(dryRun!.decision) : no('the input is refused');
      });
    }
    const decisions = await Promise.all(deciders.map((decide) => decide().catch(() => no('the policy failed'))));
    return decisions.reduce<Decision | undefined>((strictest, each) => (strictest !== undefined && rank(strictest) >= rank(each) ? strictest : each), undefined);
  }

  /**
   * Makes a call.
   *
   * @param approved whether a person said yes to exactly this call where the framework asked.
   * @param options `confirm` is asked about calls that need a yes and have none.
   */
  async run(executor: CallExecutor, entry: ToolEntry, call: ToolCall, approved: boolean, options: Pick<CallOptions, 'signal' | 'confirm'> = {}): Promise<ExecutorOutcome> {
    const { policy, context } = this.#options;
    if (policy !== undefined) {
      const input = await checkInput(entry, call.input);
      if (!input.ok) return { status: 'error', code: input.error.code, message: input.error.message, details: input.error.details };
      const decision = await this.#ask(policy, entry, call).catch(() => no('the policy failed'));
      if (decision.verdict === 'deny') return { status: 'denied', reason: decision.reason, rule: decision.rule, danger: decision.danger };
      if (decision.verdict === 'confirm' && !approved) return { status: 'approval_required' };
    }
    const { signal } = options;
    const confirm = approved ? (pending: PendingApproval) => isOf(pending, entry, call) : options.confirm;
    return executor.execute(call, { ...context, ...(signal && { signal }), ...(confirm && { confirm }) });
  }

  async #ask(policy: Policy, entry: ToolEntry, call: ToolCall): Promise<Decision> {
    const input = await checkInput(entry, call.input);
    return input.ok ? understood(await policy.decide({ ...call, input: input.value }, this.#options.context)) : no('the input is refused');
  }
}

/** Whether what waits for a yes is what was said yes to. A tool that was replaced meanwhile has another digest. */
function isOf(pending: PendingApproval, entry: ToolEntry, call: ToolCall): boolean {
  return pending.callId === call.id && pending.toolName === entry.name && pending.definitionDigest === entry.digest && canonicalJson(pending.input) === canonicalJson(call.input ?? {});
}

function rank({ verdict }: Decision): number {
  return STRICTNESS.indexOf(verdict);
}

function understood(decision: Decision): Decision {
  return STRICTNESS.includes(decision?.verdict) ? decision : no('the policy gave no decision');
}

function no(reason: string): Decision {
  return { verdict: 'deny', rule: 'policy-error', reason, danger: DangerLevel.CRITICAL };
}
