import { dangerRank } from '../core/enum-order.js';
import { isToolError, ToolError } from '../core/errors.js';
import {
  canonicalJson,
  describeValue,
  isPlainObject,
  type Json,
  without,
} from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { isRepeatable } from '../execution/attempt.js';
import type { ToolExecutor } from '../execution/tool-executor.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { previewDigestOf } from '../core/preview.js';
import type { Confirmation, PendingApproval, ToolOutcome } from '../safety/calls.js';
import { readOutcome } from '../safety/read-outcome.js';
import { isToolResult } from '../tool/outcome.js';
import { renderTool } from '../tool/render-tool.js';
import { RESERVED_REASONS } from './chat-result.js';
import type { ChatRun } from './chat-run.js';
import {
  argumentsOf,
  editedInput,
  withCall,
  type CallProgress,
  type CallRecord,
  type ChatState,
  type OpenTurn,
  type TurnEnd,
} from './chat-state.js';
import { deniedOutput, encodeOutcome, errorOutput } from './encode-output.js';
import { cloneMessage, type ToolOutput } from './thread.js';

type Failed = Extract<ToolOutcome, { status: 'error' }>;
/** The output that the model reads. If the call ends the run, `end` is the reason. */
type Settled = { readonly output: ToolOutput; readonly end?: TurnEnd };

/** Returns the calls of the open turn that can run now. */
export function runnableCalls(
  { openTurn }: ChatState,
  registry: ToolMetadataRegistry,
): readonly CallRecord[] {
  return (openTurn?.calls ?? []).filter(({ toolName, progress: { state } }) => {
    if (state === 'not_started' || state === 'approved') return true;
    // A call that another process started runs again only if the tool is safe to repeat.
    const entry = state === 'started' ? registry.get(toolName) : undefined;
    return entry !== undefined && isRepeatable(entry);
  });
}

/**
 * Runs the calls of the open turn that can run. Each step of a call is saved before the next step
 * begins, so a call never runs without a record of its start.
 *
 * @throws any error from saving. After an error, no further call starts.
 */
export async function runCalls(run: ChatRun, { index }: OpenTurn): Promise<void> {
  const groups = new Map<ToolExecutor, CallRecord[]>();
  const working: Promise<void>[] = [];
  for (const call of runnableCalls(run.state, run.engine.registry)) {
    const refusal = refusalOf(run, call);
    const executor = run.offers.executorOf(call.toolName);
    if (refusal !== undefined)
      working.push(record(run, index, call, refusal, false).catch(run.fail));
    else groups.set(executor, [...(groups.get(executor) ?? []), call]);
  }
  for (const [executor, calls] of groups) working.push(executeAll(run, index, executor, calls));
  await Promise.all(working);
  run.throwIfFailed();
}

/**
 * Returns the outcome of a call that doesn't go to an executor because the call has no tool name,
 * or because the model didn't see the tool.
 */
function refusalOf(run: ChatRun, call: CallRecord): ToolOutcome | undefined {
  const { callId, toolName, progress } = call;
  if (toolName !== '' && (progress.state !== 'not_started' || run.offers.has(toolName, run.state)))
    return undefined;
  const message =
    toolName === ''
      ? 'The call has no tool name. Call one of the tools available to you.'
      : `You can't call ${describeValue(toolName)}, because it isn't available to you. Call one of the tools you were given.`;
  const facts = { callId, toolName, durationMs: 0, attempts: 0, cached: false };
  return { ...facts, status: 'error', code: 'TOOL_NOT_FOUND', message };
}

async function executeAll(
  run: ChatRun,
  turn: number,
  executor: ToolExecutor,
  calls: readonly CallRecord[],
): Promise<void> {
  const { principal, scopes, flags, persona, policyMode: mode, context, clock } = run.engine;
  const { conversationId } = run.options;
  const frame = { principal, scopes, flags, persona, mode, context };
  const byId = new Map(calls.map((call) => [call.callId, call]));
  const started = new Set<string>();
  const stopListening = executor.on((event) => {
    if (event.type !== 'call-progress' || event.conversationId !== conversationId) return;
    const { callId, toolName, progress } = event;
    if (started.has(callId)) run.tell({ type: 'tool-progress', turn, callId, toolName, progress });
  });
  try {
    await executor.executeAll(
      calls.map((call) => ({ id: call.callId, name: call.toolName, input: argumentsOf(call) })),
      {
        ...without(frame),
        conversationId,
        signal: run.signal,
        confirm: (pending) => answerTo(pending, byId.get(pending.callId)),
        onStart: async ({ id: callId, name: toolName }) => {
          const call = byId.get(callId)!;
          const startedAt = clock.now();
          await run.save(
            withCall(run.state, callId, { state: 'started', startedAt, ...editedInput(call) }),
          );
          await claim(run, executor, call);
          started.add(callId);
          run.tell({ type: 'tool-started', turn, callId, toolName, input: argumentsOf(call) });
        },
        onOutcome: (outcome) => {
          const { callId } = outcome;
          return record(run, turn, byId.get(callId)!, outcome, started.has(callId)).catch(run.fail);
        },
      },
    );
  } finally {
    stopListening();
  }
}

/**
 * Makes sure that no other copy of the session has run this call, because a snapshot can be loaded
 * and continued twice.
 *
 * @throws ToolError `ALREADY_RESOLVED` if another copy has run the call. In this copy of the
 * session, the call stays uncertain.
 */
async function claim(run: ChatRun, executor: ToolExecutor, call: CallRecord): Promise<void> {
  const { origin, storeIdentity } = run.options;
  const { callId, toolName, progress } = call;
  const entry = run.engine.registry.get(toolName);
  if (origin === undefined || entry === undefined || isRepeatable(entry)) return;
  const again =
    progress.state === 'approved'
      ? progress.pending.id
      : progress.state === 'not_started' && progress.rerunOf;
  const key = [origin, callId, entry.name, argumentsOf(call), again ?? false];
  if (await executor.claim(key, storeIdentity)) return;
  throw new ToolError(
    'ALREADY_RESOLVED',
    `Another copy of this session has already started this call to ${entry.name}. Find out what that call did.`,
    { details: { callId } },
  );
}

/**
 * Returns the user's answer. An approval is valid only for the same tool, arguments, principal and
 * preview, and for at most the same danger.
 */
function answerTo(asked: PendingApproval, call: CallRecord | undefined): Confirmation {
  if (call?.progress.state !== 'approved') return 'later';
  const { pending: shown, input: edited, grant, by } = call.progress;
  const factsOf = ({ toolName, rule, reason, definitionDigest, principal }: PendingApproval) => [
    toolName,
    rule,
    reason,
    definitionDigest,
    principal ?? null,
  ];
  const isShown =
    canonicalJson(factsOf(asked)) === canonicalJson(factsOf(shown)) &&
    canonicalJson(asked.input) === canonicalJson(edited === undefined ? shown.input : edited) &&
    dangerRank(asked.danger) <= dangerRank(shown.danger) &&
    // For arguments that the user changed, there was no preview to compare.
    (edited !== undefined || previewDigestOf(asked) === previewDigestOf(shown));
  if (!isShown) return 'later';
  const named = by === undefined ? {} : { by };
  if (grant !== undefined) return { grant, ...named };
  return by === undefined ? true : { by };
}

/** Records the outcome of a call. */
async function record(
  run: ChatRun,
  turn: number,
  call: CallRecord,
  outcome: ToolOutcome,
  wasStarted: boolean,
): Promise<void> {
  if (outcome.status === 'error') {
    const { code, message } = outcome;
    if (code === 'ABORTED' && run.signal.aborted) return; // The call's record doesn't change.
    if (!wasStarted && code === 'STATE_UNAVAILABLE') {
      // The tool didn't run. The call can run when the store is available again.
      run.lost ??= { reason: 'error', error: { code, message } };
      return;
    }
    if (!wasStarted && code === 'ALREADY_RESOLVED' && outcome.attempts === 0) return; // Another copy of the session records the outcome.
  }
  const { callId, progress } = call;
  const facts = { turn, callId, toolName: outcome.toolName };
  const isWaiting = outcome.status === 'manual' || outcome.status === 'approval_required';
  if (!isWaiting) run.tell({ type: 'tool-completed', ...facts, outcome });
  // If the schema rejects arguments from the user, asks the user again, and not the model.
  const isRefusedEdit =
    outcome.status === 'error' &&
    outcome.code === 'INVALID_INPUT' &&
    !wasStarted &&
    progress.state === 'approved' &&
    progress.input !== undefined;
  const pending =
    isWaiting || outcome.status === 'ask_user'
      ? outcome.pending
      : isRefusedEdit
        ? progress.pending
        : undefined;
  if (pending !== undefined) {
    await run.save(withCall(run.state, callId, { state: 'waiting', pending }));
    run.tell({ type: 'tool-pending', ...facts, pending });
    return;
  }
  const { output, end } = await settledBy(run, call, explained(run, outcome));
  const settled: CallProgress = { state: 'settled', output, ...editedInput(call) };
  await run.save(withCall(run.state, callId, { ...settled, ...(end && { end }) }));
  if (wasStarted && outcome.status === 'ok') run.offers.noteFound(call.toolName, outcome.value);
  run.tell({ type: 'tool-encoded', ...facts, output });
}

/**
 * Adds the full definition to a rejection of arguments, if the model saw the tool in short form.
 */
function explained(run: ChatRun, outcome: ToolOutcome): ToolOutcome {
  if (outcome.status !== 'error' || outcome.code !== 'INVALID_INPUT') return outcome;
  const entry = run.engine.registry.get(outcome.toolName);
  const isShort = ({ toolName, level }: ChatState['offered'][number]) =>
    toolName === entry?.name && level !== 'full';
  if (entry === undefined || !run.state.offered.some(isShort)) return outcome;
  const { description, inputSchema } = renderTool(entry, 'full');
  return {
    ...outcome,
    message: `${outcome.message}\n\n${entry.name}: ${description}\nParameters (JSON Schema): ${JSON.stringify(inputSchema)}`,
  };
}

async function settledBy(run: ChatRun, call: CallRecord, outcome: ToolOutcome): Promise<Settled> {
  const failed = (code: Failed['code'], message: string, details?: Failed['details']) =>
    afterError(run, call, {
      ...(outcome as Failed),
      status: 'error',
      code,
      message,
      ...(details && { details }),
    });
  switch (outcome.status) {
    case 'error': {
      const { haltReason } = outcome;
      const isHalt = haltReason !== undefined && !RESERVED_REASONS.has(haltReason);
      const settled = await afterError(run, call, outcome);
      return isHalt ? { ...haltOf(call, haltReason, null), ...settled } : settled;
    }
    case 'ok':
    case 'halt': {
      const reason = outcome.status === 'halt' ? outcome.reason : undefined;
      if (reason !== undefined && RESERVED_REASONS.has(reason))
        return failed(
          'INVALID_RESULT',
          `${call.toolName} ran, but halted with the reserved reason ${JSON.stringify(reason)}. Halt with another reason.`,
        );
      const halt = reason === undefined ? {} : haltOf(call, reason, outcome.value);
      try {
        return { ...halt, output: encodeOutcome(outcome, run.engine.encode) };
      } catch (error) {
        // The tool ran, but its value can't be shown to the model.
        if (!isToolError(error)) throw error;
        return { ...halt, ...(await failed(error.code, error.message, error.details)) };
      }
    }
    default:
      return { output: deniedOutput(readOutcome(outcome).text) };
  }
}

function haltOf({ callId }: CallRecord, haltedReason: string, given: unknown) {
  let value: Json = null;
  try {
    value = cloneMessage((given ?? null) as Json, 'the value of a halt', 'INVALID_RESULT');
  } catch {
    // The value is dropped, and the model gets only the reason.
  }
  return { end: { reason: 'halt', haltedReason, callId, value } as const };
}

/**
 * Returns what `onToolError` decides about a failed call. If the function fails or returns an
 * unknown value, the run ends.
 */
async function afterError(run: ChatRun, call: CallRecord, outcome: Failed): Promise<Settled> {
  const { onToolError, encode } = run.engine;
  const { callId, toolName: name } = call;
  const { message } = outcome;
  const output = errorOutput(readOutcome(outcome).text);
  const end = (error: string) => ({
    output,
    end: { reason: 'tool_error', callId, error } as const,
  });
  let decision: unknown = onToolError;
  if (typeof onToolError === 'function')
    try {
      const asked = onToolError({ id: callId, name, input: argumentsOf(call) }, outcome);
      decision = await untilAborted(Promise.resolve(asked), run.signal, 'onToolError');
    } catch (error) {
      // If the caller aborted, nobody waits for the decision. The tool's result stays on record.
      return run.signal.aborted
        ? { output }
        : end(`${message}\nonToolError failed: ${publicMessage(error)}`);
    }
  if (decision === 'continue') return { output };
  if (decision === 'halt') return end(message);
  if (!isPlainObject(decision) || !Object.hasOwn(decision, 'continue'))
    return end(
      `${message}\nExpected onToolError to return "continue", "halt" or { continue: value }, got ${describeValue(decision)}.`,
    );
  const given = decision['continue'];
  const result = isToolResult(given) && given.status === 'ok' ? given : { value: given };
  try {
    return { output: encodeOutcome({ ...outcome, status: 'ok', ...result }, encode) };
  } catch (error) {
    return { output: errorOutput((error as ToolError).message) };
  }
}
