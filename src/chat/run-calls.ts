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
import type { ToolEvent } from '../core/tool-event.js';
import { isRepeatable } from '../execution/attempt.js';
import type { ToolExecutor } from '../execution/tool-executor.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { previewDigestOf } from '../core/preview.js';
import type {
  Confirmation,
  Pending,
  PendingApproval,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import { readOutcome } from '../safety/read-outcome.js';
import { isToolResult } from '../tool/outcome.js';
import { renderTool } from '../tool/render-tool.js';
import { RESERVED_REASONS } from './chat-result.js';
import type { ChatRun } from './chat-run.js';
import {
  argumentsOf,
  withPending,
  withCall,
  type CallRecord,
  type ChatState,
  type OpenTurn,
  type TurnEnd,
} from './chat-state.js';
import { deniedOutput, encodeOutcome, errorOutput } from './encode-output.js';
import { cloneMessage, type ToolOutput } from './thread.js';

type Failed = Extract<ToolOutcome, { status: 'error' }>;
type Ran = Extract<ToolOutcome, { status: 'ok' | 'halt' }>;
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
export async function runCalls(run: ChatRun, turn: OpenTurn): Promise<void> {
  await new TurnCalls(run, turn.index).run();
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

/** The calls of one turn while they run. */
class TurnCalls {
  readonly #run: ChatRun;
  readonly #turn: number;
  readonly #calls = new Map<string, CallRecord>();
  readonly #started = new Set<string>();

  constructor(run: ChatRun, turn: number) {
    this.#run = run;
    this.#turn = turn;
    for (const call of runnableCalls(run.state, run.engine.registry))
      this.#calls.set(call.callId, call);
  }

  async run(): Promise<void> {
    const groups = new Map<ToolExecutor, ToolCall[]>();
    const working: Promise<void>[] = [];
    for (const call of this.#calls.values()) {
      const refusal = refusalOf(this.#run, call);
      if (refusal !== undefined) working.push(this.#record(refusal));
      else {
        const executor = this.#run.offers.executorOf(call.toolName);
        const asked = { id: call.callId, name: call.toolName, input: argumentsOf(call) };
        groups.set(executor, [...(groups.get(executor) ?? []), asked]);
      }
    }
    for (const [executor, calls] of groups) working.push(this.#execute(executor, calls));
    await Promise.all(working);
  }

  async #execute(executor: ToolExecutor, calls: readonly ToolCall[]): Promise<void> {
    const { principal, scopes, flags, persona, policyMode: mode, context } = this.#run.engine;
    const stopListening = executor.on((event) => this.#relay(event));
    try {
      await executor.executeAll(calls, {
        ...without({ principal, scopes, flags, persona, mode, context }),
        conversationId: this.#run.options.conversationId,
        signal: this.#run.signal,
        confirm: (pending) => answerTo(pending, this.#calls.get(pending.callId)),
        onStart: ({ id }) => this.#start(executor, this.#calls.get(id)!),
        onOutcome: (outcome) => this.#record(outcome),
      });
    } finally {
      stopListening();
    }
  }

  #relay(event: ToolEvent): void {
    const run = this.#run;
    if (event.type !== 'call-progress') return;
    const { callId, toolName, progress, conversationId } = event;
    if (conversationId === run.options.conversationId && this.#started.has(callId))
      run.tell({ type: 'tool-progress', turn: this.#turn, callId, toolName, progress });
  }

  async #start(executor: ToolExecutor, call: CallRecord): Promise<void> {
    const run = this.#run;
    const { callId, toolName } = call;
    const startedAt = run.engine.clock.now();
    await run.save(withCall(run.state, callId, { state: 'started', startedAt }));
    await claim(run, executor, call);
    this.#started.add(callId);
    const input = argumentsOf(call);
    run.tell({ type: 'tool-started', turn: this.#turn, callId, toolName, input });
  }

  async #record(outcome: ToolOutcome): Promise<void> {
    try {
      if (!this.#staysOpen(outcome)) await this.#settle(outcome);
    } catch (error) {
      this.#run.fail(error);
    }
  }

  /** Returns true if the outcome says nothing about the call, so that its record doesn't change. */
  #staysOpen(outcome: ToolOutcome): boolean {
    const run = this.#run;
    if (outcome.status !== 'error') return false;
    const { code, message, callId, attempts } = outcome;
    if (code === 'ABORTED' && run.signal.aborted) return true;
    if (this.#started.has(callId)) return false;
    // The tool didn't run. The call can run when the store is available again.
    if (code === 'STATE_UNAVAILABLE') run.lost ??= { reason: 'error', error: { code, message } };
    // If another copy of the session has run the call, that copy records the outcome.
    return code === 'STATE_UNAVAILABLE' || (code === 'ALREADY_RESOLVED' && attempts === 0);
  }

  async #settle(outcome: ToolOutcome): Promise<void> {
    const run = this.#run;
    const { callId, toolName } = outcome;
    const call = this.#calls.get(callId)!;
    const facts = { turn: this.#turn, callId, toolName };
    if (outcome.status !== 'manual' && outcome.status !== 'approval_required')
      run.tell({ type: 'tool-completed', ...facts, outcome });
    const pending = 'pending' in outcome ? outcome.pending : this.#refusedEdit(call, outcome);
    if (pending !== undefined) {
      await run.save(withPending(run.state, pending));
      run.tell({ type: 'tool-pending', ...facts, pending });
      return;
    }
    const { output, end } = await settledBy(run, call, explained(run, outcome));
    await run.save(withCall(run.state, callId, { state: 'settled', output, ...without({ end }) }));
    if (this.#started.has(callId) && outcome.status === 'ok')
      run.offers.noteFound(call.toolName, outcome.value);
    run.tell({ type: 'tool-encoded', ...facts, output });
  }

  /**
   * Returns what the user is asked again, if the tool's schema rejects arguments from the user. The
   * model isn't asked.
   */
  #refusedEdit(
    { callId, edited, progress }: CallRecord,
    outcome: ToolOutcome,
  ): Pending | undefined {
    if (outcome.status !== 'error' || outcome.code !== 'INVALID_INPUT') return undefined;
    if (progress.state !== 'approved' || edited === undefined) return undefined;
    return this.#started.has(callId) ? undefined : progress.pending;
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
  const { pending: shown, grant, by } = call.progress;
  const { edited = shown.input } = call;
  const isShown =
    canonicalJson(factsOf(asked)) === canonicalJson(factsOf(shown)) &&
    canonicalJson(asked.input) === canonicalJson(edited) &&
    dangerRank(asked.danger) <= dangerRank(shown.danger) &&
    // For arguments that the user changed, there was no preview to compare.
    (call.edited !== undefined || previewDigestOf(asked) === previewDigestOf(shown));
  if (!isShown) return 'later';
  if (grant !== undefined) return { grant, ...without({ by }) };
  return by === undefined ? true : { by };
}

function factsOf({ toolName, rule, reason, definitionDigest, principal }: PendingApproval) {
  return [toolName, rule, reason, definitionDigest, principal ?? null];
}

/**
 * Adds the full definition to a rejection of arguments, if the model saw the tool in short form.
 */
function explained(run: ChatRun, outcome: ToolOutcome): ToolOutcome {
  if (outcome.status !== 'error' || outcome.code !== 'INVALID_INPUT') return outcome;
  const entry = run.engine.registry.get(outcome.toolName);
  const shown = run.state.offered.find(({ toolName }) => toolName === entry?.name);
  if (entry === undefined || shown === undefined || shown.level === 'full') return outcome;
  const { description, inputSchema } = renderTool(entry, 'full');
  return {
    ...outcome,
    message: `${outcome.message}\n\n${entry.name}: ${description}\nParameters (JSON Schema): ${JSON.stringify(inputSchema)}`,
  };
}

async function settledBy(run: ChatRun, call: CallRecord, outcome: ToolOutcome): Promise<Settled> {
  switch (outcome.status) {
    case 'error': {
      const { haltReason } = outcome;
      const isHalt = haltReason !== undefined && !RESERVED_REASONS.has(haltReason);
      const settled = await afterError(run, call, outcome);
      return isHalt ? { ...haltOf(call, haltReason, null), ...settled } : settled;
    }
    case 'ok':
      return encodedOr(run, call, outcome);
    case 'halt':
      if (!RESERVED_REASONS.has(outcome.reason))
        return {
          ...haltOf(call, outcome.reason, outcome.value),
          ...(await encodedOr(run, call, outcome)),
        };
      return afterError(run, call, {
        ...outcome,
        status: 'error',
        code: 'INVALID_RESULT',
        message: `${call.toolName} ran, but halted with the reserved reason ${JSON.stringify(outcome.reason)}. Halt with another reason.`,
      });
    default:
      return { output: deniedOutput(readOutcome(outcome).text) };
  }
}

/** Returns a result as the model reads it, or the decision about a result that can't be shown. */
async function encodedOr(run: ChatRun, call: CallRecord, outcome: Ran): Promise<Settled> {
  try {
    return { output: encodeOutcome(outcome, run.engine.encode) };
  } catch (error) {
    if (!isToolError(error)) throw error;
    const { code, message, details } = error;
    return afterError(run, call, {
      ...outcome,
      status: 'error',
      code,
      message,
      ...without({ details }),
    });
  }
}

function haltOf({ callId }: CallRecord, haltedReason: string, haltValue: unknown) {
  let value: Json = null;
  try {
    value = cloneMessage((haltValue ?? null) as Json, 'the value of a halt', 'INVALID_RESULT');
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
  const output = errorOutput(readOutcome(outcome).text);
  let error = outcome.message;
  try {
    const decision = await decisionAbout(run, call, outcome);
    if (decision === 'continue') return { output };
    if (isPlainObject(decision) && Object.hasOwn(decision, 'continue'))
      return { output: outputInstead(run, outcome, decision['continue']) };
    if (decision !== 'halt')
      error += `\nExpected onToolError to return "continue", "halt" or { continue: value }, got ${describeValue(decision)}.`;
  } catch (thrown) {
    // If the caller aborted, nobody waits for the decision. The tool's result stays on record.
    if (run.signal.aborted) return { output };
    error += `\nonToolError failed: ${publicMessage(thrown)}`;
  }
  return { output, end: { reason: 'tool_error', callId: call.callId, error } };
}

async function decisionAbout(run: ChatRun, call: CallRecord, outcome: Failed): Promise<unknown> {
  const { onToolError } = run.engine;
  if (typeof onToolError !== 'function') return onToolError;
  const { callId: id, toolName: name } = call;
  const asked = onToolError({ id, name, input: argumentsOf(call) }, outcome);
  return untilAborted(Promise.resolve(asked), run.signal, 'onToolError');
}

/** Returns the value that the model reads instead of the error. */
function outputInstead(run: ChatRun, outcome: Failed, value: unknown): ToolOutput {
  const result = isToolResult(value) && value.status === 'ok' ? value : { value };
  try {
    return encodeOutcome({ ...outcome, status: 'ok', ...result }, run.engine.encode);
  } catch (error) {
    return errorOutput((error as ToolError).message);
  }
}
