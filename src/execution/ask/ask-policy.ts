import type { Clock } from '../../core/clock.js';
import { DangerLevel } from '../../core/enums.js';
import { DANGER_LEVELS } from '../../core/enum-order.js';
import type { CallContext, Decision, Policy, ToolCall } from '../../safety/calls.js';
import { aborted } from '../run/until-aborted.js';
import { withDeadline } from '../run/with-deadline.js';

/** A policy may ask elsewhere, but a call does not wait for it for ever. */
const POLICY_TIMEOUT_MS = 5_000;
const VERDICTS: readonly unknown[] = ['allow', 'confirm', 'deny'];

/**
 * A policy's decision; a policy that throws, does not answer in time or answers with anything else has said no.
 *
 * @throws ToolError `ABORTED` when the caller gives up before.
 */
export async function askPolicy(policy: Policy, call: ToolCall, context: CallContext, clock: Clock, signal?: AbortSignal): Promise<Decision> {
  try {
    const answer = policy.decide(call, context);
    if (!(answer instanceof Promise)) return isDecision(answer) ? answer : no('the policy gave no decision');
    const settled = await withDeadline(() => answer, { clock, timeoutMs: POLICY_TIMEOUT_MS, signal });
    if (settled.kind === 'aborted') throw aborted(call.name);
    if (settled.kind === 'timeout') return no(`the policy did not answer within ${POLICY_TIMEOUT_MS} ms`);
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
  return VERDICTS.includes(verdict) && typeof reason === 'string' && typeof rule === 'string' && DANGER_LEVELS.includes(danger as DangerLevel);
}
