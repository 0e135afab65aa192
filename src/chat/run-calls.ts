import { previewDigestOf } from '../safety/approvals.js';
import { dangerRank } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { canonicalJson, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { isRepeatable } from '../execution/call-worker.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { ToolExecutor } from '../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { Confirmation, PendingApproval, ToolOutcome } from '../safety/calls.js';
import { readOutcome } from '../safety/read-outcome.js';
import { isToolResult } from '../tool/outcome.js';
import { renderTool } from '../tool/render-tool.js';
import { storeOutput } from './blobs.js';
import type { ToolErrorDecision } from './chat-engine.js';
import { RESERVED_REASONS } from './chat-result.js';
import type { ChatRun } from './chat-run.js';
import {
  argumentsOf,
  editedInput,
  positionOf,
  withCall,
  type CallProgress,
  type CallRecord,
  type ChatState,
  type TurnEnd,
} from './chat-state.js';
import { deniedOutput, encodeOutcome, errorOutput } from './encode-output.js';
import { cloneMessage, type ToolOutput } from './thread.js';

type Failed = Extract<ToolOutcome, { status: 'error' }>;
/** The output of a settled call for the model, and the end of the run if the call is one. */
interface Settled {
  readonly output: ToolOutput;
  readonly end?: TurnEnd | undefined;
}

/** Returns the calls of the open turn that can run now. */
export function runnableCalls(
  state: ChatState,
  registry: ToolMetadataRegistry,
): readonly CallRecord[] {
  return (state.openTurn?.calls ?? []).filter(({ toolName, progress }) => {
    if (progress.state === 'not_started' || progress.state === 'approved') return true;
    // A call of a process that is gone is run again only if that cannot do harm.
    const entry = progress.state === 'started' ? registry.get(toolName) : undefined;
    return entry !== undefined && isRepeatable(entry);
  });
}

/**
 * Runs what can be run of the open turn, each call as soon as the plan allows it.
 *
 * Every step of a call is in the state, and saved, before the next begins: a call is never started that is not on record
 * as started.
 *
 * @throws what saving throws; no further call is started then.
 */
export async function runCalls(run: ChatRun): Promise<void> {
  const { openTurn } = run.state;
  if (openTurn === undefined) return;
  const groups = new Map<ToolExecutor, CallRecord[]>();
  const working: Promise<void>[] = [];
  for (const call of runnableCalls(run.state, run.engine.registry)) {
    const refusal = refusalOf(run, call);
    const executor = run.offers.executorOf(call.toolName);
    if (refusal === undefined) groups.set(executor, [...(groups.get(executor) ?? []), call]);
    else working.push(takeOutcome(run, call, refusal, openTurn.index, false));
  }
  for (const [executor, calls] of groups)
    working.push(executeAll(executor, calls, run, openTurn.index));
  await Promise.all(working);
  run.throwIfFailed();
}

/** Returns the outcome of a call that no executor is asked for: without a name, or of a tool that the model was not shown. */
function refusalOf(
  run: ChatRun,
  { callId, toolName, progress }: CallRecord,
): ToolOutcome | undefined {
  const refuse = (message: string): ToolOutcome =>
    Object.freeze({
      callId,
      toolName,
      durationMs: 0,
      attempts: 0,
      cached: false,
      status: 'error',
      code: 'TOOL_NOT_FOUND',
      message,
    });
  if (toolName === '') return refuse(expectedGot('the name of a tool', 'none'));
  if (progress.state !== 'not_started' || run.offers.wasOffered(toolName, run.state))
    return undefined;
  return refuse(
    expectedGot(
      'one of the tools that you see',
      `${JSON.stringify(toolName.slice(0, 128))}, which is not among them`,
    ),
  );
}

async function executeAll(
  executor: ToolExecutor,
  calls: readonly CallRecord[],
  run: ChatRun,
  turn: number,
): Promise<void> {
  const {
    engine: { principal, scopes, flags, persona, policyMode, context, clock },
    options: { conversationId, approvals = [] },
  } = run;
  const byId = new Map(calls.map((call) => [call.callId, call]));
  const started = new Set<string>();
  const stopListening = executor.on((event) => {
    if (
      event.type !== 'call-progress' ||
      event.conversationId !== conversationId ||
      !started.has(event.callId)
    )
      return;
    run.tell({
      type: 'tool-progress',
      turn,
      callId: event.callId,
      toolName: event.toolName,
      progress: event.progress,
    });
  });
  try {
    await executor.executeAll(
      calls.map((call) => ({ id: call.callId, name: call.toolName, input: argumentsOf(call) })),
      {
        ...(principal !== undefined && { principal }),
        ...(scopes !== undefined && { scopes }),
        ...(flags !== undefined && { flags }),
        ...(persona !== undefined && { persona }),
        ...(policyMode !== undefined && { mode: policyMode }),
        ...(context !== undefined && { context }),
        ...(approvals.length > 0 && { approvals }),
        conversationId,
        signal: run.signal,
        confirm: (pending) => answerOf(byId.get(pending.callId), pending),
        onStart: async ({ id, name }) => {
          const call = byId.get(id)!;
          await run.save(
            withCall(run.state, id, {
              state: 'started',
              startedAt: clock.now(),
              ...editedInput(call),
            }),
          );
          await claim(executor, call, run);
          started.add(id);
          run.tell({
            type: 'tool-started',
            turn,
            callId: id,
            toolName: name,
            input: argumentsOf(call),
          });
        },
        onOutcome: (outcome) =>
          takeOutcome(run, byId.get(outcome.callId)!, outcome, turn, started.has(outcome.callId)),
      },
    );
  } finally {
    stopListening();
  }
}

/**
 * Makes sure that no other copy of the session has run this call: a snapshot can be read, and gone on with, twice.
 *
 * @throws ToolError `ALREADY_RESOLVED`; the call stays on record as one whose outcome is not known here.
 */
async function claim(
  executor: ToolExecutor,
  call: CallRecord,
  { options: { origin, storeIdentity }, engine }: ChatRun,
): Promise<void> {
  const { callId, toolName, progress } = call;
  const entry = engine.registry.get(toolName);
  if (origin === undefined || entry === undefined || isRepeatable(entry)) return;
  const again =
    progress.state === 'approved'
      ? progress.pending.id
      : progress.state === 'not_started'
        ? (progress.rerunOf ?? null)
        : null;
  if (await executor.claim([origin, callId, entry.name, argumentsOf(call), again], storeIdentity))
    return;
  throw new ToolError(
    'ALREADY_RESOLVED',
    expectedGot(
      `a call of ${entry.name} that was not started`,
      'one that another copy of this session has started',
    ),
    { details: { callId } },
  );
}

/** Returns the user's approval, if it was of exactly this: the tool, its arguments, on whose behalf, and no greater danger. */
function answerOf(call: CallRecord | undefined, pending: PendingApproval): Confirmation {
  if (call?.progress.state !== 'approved') return 'later';
  const { pending: shown, input: approved = shown.input, grant } = call.progress;
  const isSame = (['toolName', 'rule', 'reason', 'definitionDigest', 'principal'] as const).every(
    (field) => pending[field] === shown[field],
  );
  // Of other arguments than the model's the user was shown no preview.
  const isShown =
    call.progress.input !== undefined || previewDigestOf(pending) === previewDigestOf(shown);
  return isSame &&
    isShown &&
    canonicalJson(pending.input) === canonicalJson(approved) &&
    dangerRank(pending.danger) <= dangerRank(shown.danger)
    ? grant === undefined
      ? true
      : { grant }
    : 'later';
}

/** Puts the outcome of a call on record. An error of the state ends the run. */
async function takeOutcome(
  run: ChatRun,
  call: CallRecord,
  outcome: ToolOutcome,
  turn: number,
  wasStarted: boolean,
): Promise<void> {
  try {
    await recordOutcome(run, call, outcome, turn, wasStarted);
  } catch (error) {
    run.fail(error);
  }
}

async function recordOutcome(
  run: ChatRun,
  call: CallRecord,
  outcome: ToolOutcome,
  turn: number,
  wasStarted: boolean,
): Promise<void> {
  const facts = { turn, callId: call.callId, toolName: outcome.toolName };
  const code = outcome.status === 'error' ? outcome.code : undefined;
  if (code === 'ALREADY_RESOLVED' && outcome.attempts === 0 && !wasStarted) return; // Its outcome is on record elsewhere.
  // Nothing was run: the call can run when the store is back.
  if (outcome.status === 'error' && code === 'STATE_UNAVAILABLE' && !wasStarted)
    return run.loseStore(outcome);
  if (code === 'ABORTED' && run.signal.aborted) return; // It stays as it is on record: not started, or started with an outcome that nobody knows.
  const isManual = outcome.status === 'manual' || outcome.status === 'approval_required';
  if (!isManual) run.tell({ type: 'tool-completed', ...facts, outcome });
  // Arguments that the user changed and the schema refuses are the user's mistake and not the model's: they need approval again.
  const isMisedited =
    code === 'INVALID_INPUT' &&
    call.progress.state === 'approved' &&
    call.progress.input !== undefined &&
    !wasStarted;
  const pending =
    isManual || outcome.status === 'ask_user'
      ? outcome.pending
      : isMisedited
        ? call.progress.pending
        : undefined;
  if (pending !== undefined) {
    await settle(run, call, { state: 'waiting', pending });
    run.tell({ type: 'tool-pending', ...facts, pending });
    return;
  }
  const { output: read, end } = await readSettled(run, call, explained(run, outcome));
  const output = await storeOutput(read, run.engine.blobs, run.signal);
  await settle(run, call, { state: 'settled', output, ...editedInput(call) }, end);
  if (wasStarted && outcome.status === 'ok') run.offers.noteFound(call.toolName, outcome.value);
  run.tell({ type: 'tool-encoded', ...facts, output });
}

/** Returns the outcome; a refusal of a tool that the model saw in short carries what the model did not see. */
function explained(run: ChatRun, outcome: ToolOutcome): ToolOutcome {
  if (outcome.status !== 'error' || outcome.code !== 'INVALID_INPUT') return outcome;
  const entry = run.engine.registry.get(outcome.toolName);
  if (
    entry === undefined ||
    !run.state.offered.some(({ toolName, level }) => toolName === entry.name && level !== 'full')
  )
    return outcome;
  const { description, inputSchema } = renderTool(entry, 'full');
  return {
    ...outcome,
    message: `${outcome.message}\n\n${entry.name}: ${description}\nParameters (JSON Schema): ${JSON.stringify(inputSchema)}`,
  };
}

async function readSettled(run: ChatRun, call: CallRecord, outcome: ToolOutcome): Promise<Settled> {
  const { callId, toolName } = call;
  if (outcome.status === 'error') {
    const { haltReason } = outcome;
    const end =
      haltReason === undefined || RESERVED_REASONS.has(haltReason)
        ? undefined
        : ({ reason: 'halt', haltedReason: haltReason, callId, value: null } as const);
    return { end, ...(await decideOnError(run, call, outcome)) };
  }
  if (outcome.status !== 'ok' && outcome.status !== 'halt')
    return { output: deniedOutput(readOutcome(outcome).text) };
  if (outcome.status === 'halt' && RESERVED_REASONS.has(outcome.reason)) {
    return decideOnError(run, call, {
      ...outcome,
      status: 'error',
      code: 'INVALID_RESULT',
      message: `${toolName} ran, but halted with the reserved reason ${JSON.stringify(outcome.reason)}; expected a reason of the tool's own`,
    });
  }
  const output = encodeOutcome(outcome, run.engine.encode);
  const end =
    outcome.status === 'halt'
      ? ({
          reason: 'halt',
          haltedReason: outcome.reason,
          callId,
          value: plainOrNull(outcome.value),
        } as const)
      : undefined;
  if (!('unshown' in output)) return { output, end };
  // The tool ran, and the model cannot be shown its value.
  const { durationMs, attempts, cached, value } = outcome;
  const { unshown: message, reason } = output;
  return {
    end,
    ...(await decideOnError(run, call, {
      callId,
      toolName: outcome.toolName,
      durationMs,
      attempts,
      cached,
      status: 'error',
      code: 'INVALID_RESULT',
      message,
      details: { ran: true, reason },
      value,
    })),
  };
}

/** Returns the effect of a failed call, as `onToolError` says. One that fails itself, or decides nothing known, ends the run. */
async function decideOnError(
  { engine, signal }: ChatRun,
  record: CallRecord,
  outcome: Failed,
): Promise<Settled> {
  const { onToolError, encode } = engine;
  const { callId } = record;
  const output = errorOutput(readOutcome(outcome).text);
  const end = (error: string): Settled => ({
    output,
    end: { reason: 'tool_error', callId, error },
  });
  let decision: ToolErrorDecision;
  try {
    const call = Object.freeze({ id: callId, name: record.toolName, input: argumentsOf(record) });
    decision =
      typeof onToolError === 'function'
        ? await untilAborted(Promise.resolve(onToolError(call, outcome)), signal, 'onToolError')
        : onToolError;
  } catch (error) {
    if (signal.aborted) return { output }; // Nobody waits for the decision any more; what the tool answered stays on record.
    return end(`${outcome.message}\nonToolError failed: ${publicMessage(error)}`);
  }
  if (decision === 'continue') return { output };
  if (decision === 'halt') return end(outcome.message);
  if (!isPlainObject(decision) || !Object.hasOwn(decision, 'continue'))
    return end(
      `${outcome.message}\n${expectedGot('"continue", "halt" or { continue: value } of onToolError', describeValue(decision))}`,
    );
  const given = decision['continue'];
  const replaced = encodeOutcome(
    {
      ...outcome,
      status: 'ok',
      ...(isToolResult(given) && given.status === 'ok' ? given : { value: given }),
    },
    encode,
  );
  return { output: 'unshown' in replaced ? errorOutput(replaced.unshown) : replaced };
}

function plainOrNull(value: unknown): Json {
  try {
    return cloneMessage((value ?? null) as Json, 'the value of a halt', 'INVALID_RESULT');
  } catch {
    return null; // What the model reads says why.
  }
}

/** Puts a call's progress on record. Where several calls end the run, a failed one comes before one that halts, then the first in the model's order. */
async function settle(
  run: ChatRun,
  { callId }: CallRecord,
  progress: CallProgress,
  end?: TurnEnd,
): Promise<void> {
  const next = withCall(run.state, callId, progress);
  const { openTurn } = next;
  if (openTurn === undefined || end === undefined) return run.save(next);
  const rank = ({ reason, callId }: TurnEnd) =>
    [reason === 'tool_error' ? 0 : 1, positionOf(openTurn, callId)] as const;
  const [[kind, at], before] = [rank(end), openTurn.end && rank(openTurn.end)];
  const isFirst =
    before === undefined || kind < before[0] || (kind === before[0] && at < before[1]);
  await run.save(
    isFirst
      ? Object.freeze({
          ...next,
          openTurn: Object.freeze({ ...openTurn, end: Object.freeze(end) }),
        })
      : next,
  );
}
