import { readBy } from '../safety/call-flow.js';
import type { Decision, ToolCall } from '../safety/calls.js';
import { decideCall, type CallJudge, type DecidedCall } from './call-judge.js';
import type { ConversationLabels } from './conversation-labels.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';

/** The result for one call in a dry run. */
export type DryRun = Pick<DecidedCall, 'callId' | 'toolName' | 'refused'> & {
  readonly decision: Decision;
};

/**
 * Returns the policy's decision for each call in order. Each decision assumes that all earlier
 * calls ran and added their labels, except denied calls.
 */
export async function dryRun(
  frame: ExecutorFrame,
  judge: CallJudge,
  labels: ConversationLabels,
  calls: readonly ToolCall[],
  options: ExecuteOptions,
): Promise<readonly DryRun[]> {
  const { conversationId } = options;
  let flow = conversationId === undefined ? undefined : await labels.assumed(conversationId);
  const dryRuns: DryRun[] = [];
  for (const each of calls) {
    const { decided, call } = await decideCall(frame, judge, each, options, flow ?? {});
    const { callId, toolName, refused, ...decision } = decided;
    dryRuns.push(
      Object.freeze({ callId, toolName, decision, ...(refused !== undefined && { refused }) }),
    );
    if (call !== undefined && decision.verdict !== 'deny')
      flow = { ...flow, ...readBy(call.entry, { ...each, input: call.input }, flow ?? {}) };
  }
  return Object.freeze(dryRuns);
}
