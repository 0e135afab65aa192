import { ToolError } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { untilAborted } from '../../execution/run/with-deadline.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { ToolErrorDecision } from '../chat-engine.js';
import type { CallProgress, TurnEnd } from '../chat-state.js';
import { encodeOutcome, errorOutput } from '../thread/encode-output.js';
import type { ChatRun } from './chat-run.js';

type Failed = Extract<ToolOutcome, { status: 'error' }>;
interface Decided {
  readonly progress: Extract<CallProgress, { state: 'settled' }>;
  readonly end?: TurnEnd;
}

/** What becomes of a failed call, as `onToolError` says. One that fails itself, or says what is no decision, ends the run. */
export async function decideOnError({ engine, signal }: ChatRun, call: ToolCall, outcome: Failed): Promise<Decided> {
  const output = errorOutput(readOutcome(outcome).text);
  const goOn = { progress: { state: 'settled', output } } as const;
  const end = (error: string): Decided => ({ ...goOn, end: { reason: 'tool_error', callId: call.id, error } });
  let decision: ToolErrorDecision;
  try {
    decision = typeof engine.onToolError === 'function' ? await untilAborted(Promise.resolve(engine.onToolError(Object.freeze({ ...call }), outcome)), signal, 'onToolError') : engine.onToolError;
  } catch (error) {
    if (signal.aborted) return goOn; // Nobody waits for the decision any more; what the tool answered stays on record.
    return end(`${outcome.message}\nonToolError failed: ${publicMessage(error)}`);
  }
  if (decision === 'continue') return goOn;
  if (decision === 'halt') return end(outcome.message);
  if (!isPlainObject(decision) || !Object.hasOwn(decision, 'continue')) {
    const { message } = new ToolError('INVALID_RESULT', `Expected "continue", "halt" or { continue: value } of onToolError, found ${describeValue(decision)}`);
    return end(`${outcome.message}\n${message}`);
  }
  const { callId, toolName, durationMs, attempts, cached } = outcome;
  const replaced = encodeOutcome({ callId, toolName, durationMs, attempts, cached, status: 'ok', value: decision['continue'] }, engine.encode);
  return { progress: { state: 'settled', output: 'unshown' in replaced ? errorOutput(replaced.unshown) : replaced } };
}
