import type { Flow } from '../core/flow.js';
import type { Decision } from '../safety/calls.js';
import { refusal, type AcceptedCall, type CallJudge } from './call-judge.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';
import type { PlannableCall } from './plan-execution.js';
import { assertCall, readCall, readOptions } from './read-call.js';
import { failure } from './read-result.js';
import { RunningCall } from './running-call.js';

/** The decision over a call that is not made; `refused` says why its input is refused, or why it cannot be run. */
export type DecidedCall = Decision & {
  readonly callId: string;
  readonly toolName: string;
  readonly refused?: string;
};

/** Decides over a call without any effect; `call` is missing when its input is refused. @throws ToolError `ABORTED`. */
export async function decideCall(
  frame: ExecutorFrame,
  judge: CallJudge,
  given: PlannableCall,
  options: ExecuteOptions,
  flow?: Flow,
): Promise<{ run: RunningCall; call?: AcceptedCall; decided: DecidedCall }> {
  const own = readCall(given);
  let run = new RunningCall(own, {}, frame);
  const end = (of: Decision, refused?: string): DecidedCall => {
    const decided = { callId: own.id, toolName: run.toolName, ...of };
    return Object.freeze(refused === undefined ? decided : { ...decided, refused });
  };
  try {
    run = new RunningCall(own, readOptions(options), frame);
    run.flow = flow;
    assertCall(given);
  } catch (error) {
    const { message } = failure(error);
    return { run, decided: end(refusal('invalid-options', message), message) };
  }
  let refused: string | undefined;
  let call: AcceptedCall;
  try {
    call = await judge.accept(run, () => undefined);
  } catch (error) {
    refused = failure(error).message;
    const entry = frame.registry.get(own.name);
    if (entry === undefined) return { run, decided: end(refusal('unknown-tool', refused)) };
    // What the policy would say all the same.
    call = { entry, raw: null, input: own.input };
  }
  const { decision } = await judge.decide(run, call);
  const decided = end(decision, refused);
  return refused === undefined ? { run, call, decided } : { run, decided };
}
