import { dangerRank } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { canonicalJson, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { isRepeatable } from '../execution/run/call-worker.js';
import { untilAborted } from '../execution/run/with-deadline.js';
import type { ToolExecutor } from '../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { Confirmation, PendingApproval, ToolCall, ToolOutcome } from '../safety/calls.js';
import { readOutcome as wordsOf } from '../safety/read-outcome.js';
import { renderTool } from '../tool/render/render-tool.js';
import type { ToolErrorDecision } from './chat-engine.js';
import { RESERVED_REASONS } from './chat-result.js';
import type { ChatRun } from './chat-run.js';
import { argumentsOf, positionOf, withCall, type CallProgress, type CallRecord, type ChatState, type TurnEnd } from './chat-state.js';
import { deniedOutput, encodeOutcome, errorOutput, type Unshown } from './encode-output.js';
import { cloneMessage } from './thread.js';

/** Calls of the open turn that can run now. */
export function runnableCalls(state: ChatState, registry: ToolMetadataRegistry): readonly CallRecord[] {
  return (state.openTurn?.calls ?? []).filter(({ toolName, progress }) => {
    if (progress.state === 'not_started' || progress.state === 'approved') return true;
    // Of a process that is gone: it is run again only if that cannot do harm.
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
  const runnable = runnableCalls(run.state, run.engine.registry);
  const groups = new Map<ToolExecutor, CallRecord[]>();
  const refused: Promise<void>[] = [];
  for (const call of runnable) {
    const refusal = refusalOf(run, call);
    if (refusal === undefined) {
      const executor = run.offers.executorOf(call.toolName);
      groups.set(executor, [...(groups.get(executor) ?? []), call]);
    } else {
      refused.push(takeOutcome(run, call, refusal, openTurn.index, false).catch((error: unknown) => run.fail(error)));
    }
  }
  await Promise.all([...refused, ...[...groups].map(([executor, calls]) => executeAll(executor, calls, run, openTurn.index))]);
  run.throwIfFailed();
}

/** The outcome of a call that no executor is asked for: without a name, or of a tool that the model was not shown. */
function refusalOf(run: ChatRun, { callId, toolName, progress }: CallRecord): ToolOutcome | undefined {
  const refuse = (message: string): ToolOutcome => Object.freeze({ callId, toolName, durationMs: 0, attempts: 0, cached: false, status: 'error', code: 'TOOL_NOT_FOUND', message });
  if (toolName === '') return refuse('Expected the name of a tool, found none');
  if (progress.state !== 'not_started' || run.offers.wasOffered(toolName, run.state)) return undefined;
  return refuse(`Expected one of the tools that you see, found ${JSON.stringify(toolName.slice(0, 128))}, which is not among them`);
}

async function executeAll(executor: ToolExecutor, calls: readonly CallRecord[], run: ChatRun, turn: number): Promise<void> {
  const { engine } = run;
  const byId = new Map(calls.map((call) => [call.callId, call]));
  const started = new Set<string>();
  const tellProgress = executor.on((event) => {
    if (event.type !== 'call-progress' || event.conversationId !== run.conversationId || !started.has(event.callId)) return;
    run.tell({ type: 'tool-progress', turn, callId: event.callId, toolName: event.toolName, progress: event.progress });
  });
  const { principal, scopes, flags, persona, policyMode, context } = engine;
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
        conversationId: run.conversationId,
        signal: run.signal,
        ...(run.approvals.length > 0 && { approvals: run.approvals }),
        confirm: (pending) => answerOf(byId.get(pending.callId), pending),
        onStart: async ({ id, name }) => {
          const { progress } = byId.get(id)!;
          const edited = 'input' in progress ? progress.input : undefined;
          await run.save(withCall(run.state, id, { state: 'started', startedAt: engine.clock.now(), ...(edited !== undefined && { input: edited }) }));
          await claim(executor, byId.get(id)!, run);
          started.add(id);
          run.tell({ type: 'tool-started', turn, callId: id, toolName: name, input: argumentsOf(byId.get(id)!) });
        },
        onOutcome: (outcome) => takeOutcome(run, byId.get(outcome.callId)!, outcome, turn, started.has(outcome.callId)).catch((error: unknown) => run.fail(error)),
      },
    );
  } finally {
    tellProgress();
  }
}

/**
 * Makes sure that no other copy of the session has run this call: a snapshot can be read, and gone on with, twice.
 *
 * @throws ToolError `ALREADY_RESOLVED`; the call stays on record as one whose outcome is not known here.
 */
async function claim(executor: ToolExecutor, call: CallRecord, { origin, storeIdentity, engine }: ChatRun): Promise<void> {
  const { callId, toolName, progress } = call;
  const entry = engine.registry.get(toolName);
  if (origin === undefined || entry === undefined || isRepeatable(entry)) return;
  const again = progress.state === 'approved' ? progress.pending.id : progress.state === 'not_started' ? (progress.rerunOf ?? null) : null;
  if (await executor.claim([origin, callId, entry.name, argumentsOf(call), again], storeIdentity)) return;
  throw new ToolError('ALREADY_RESOLVED', `Expected a call of ${entry.name} that was not started, found that another copy of this session has started it`, { details: { callId } });
}

/** What the user said, if it was about exactly this: the tool, its arguments, on whose behalf, and no greater danger. */
function answerOf(call: CallRecord | undefined, pending: PendingApproval): Confirmation {
  if (call?.progress.state !== 'approved') return 'later';
  const { pending: shown, input } = call.progress;
  const asked = input === undefined ? shown.input : input;
  const isSame = pending.toolName === shown.toolName && pending.rule === shown.rule && pending.reason === shown.reason && pending.definitionDigest === shown.definitionDigest && pending.principal === shown.principal && canonicalJson(pending.input) === canonicalJson(asked) && dangerRank(pending.danger) <= dangerRank(shown.danger);
  return isSame ? true : 'later';
}

async function takeOutcome(run: ChatRun, call: CallRecord, outcome: ToolOutcome, turn: number, wasStarted: boolean): Promise<void> {
  const facts = { turn, callId: call.callId, toolName: outcome.toolName };
  if (outcome.status === 'error' && outcome.code === 'ALREADY_RESOLVED' && outcome.attempts === 0 && !wasStarted) return; // Its outcome is on record elsewhere.
  if (outcome.status === 'error' && outcome.code === 'ABORTED' && run.signal.aborted) return; // It stays as it is on record: not started, or started with an outcome that nobody knows.
  if (outcome.status === 'manual' || outcome.status === 'approval_required' || outcome.status === 'ask_user') {
    if (outcome.status === 'ask_user') run.tell({ type: 'tool-completed', ...facts, outcome });
    await settle(run, call, { state: 'waiting', pending: outcome.pending });
    run.tell({ type: 'tool-pending', ...facts, pending: outcome.pending });
    return;
  }
  if (outcome.status === 'error' && outcome.code === 'INVALID_INPUT' && call.progress.state === 'approved' && call.progress.input !== undefined && !wasStarted) {
    // The person's mistake and not the model's: who said yes is asked again.
    const { pending } = call.progress;
    run.tell({ type: 'tool-completed', ...facts, outcome });
    await settle(run, call, { state: 'waiting', pending });
    run.tell({ type: 'tool-pending', ...facts, pending });
    return;
  }
  run.tell({ type: 'tool-completed', ...facts, outcome });
  const { progress, end } = await readOutcome(run, call, explained(run, outcome));
  const edited = 'input' in call.progress ? call.progress.input : undefined;
  await settle(run, call, edited === undefined ? progress : { ...progress, input: edited }, end);
  if (wasStarted && outcome.status === 'ok') run.offers.noteFound(call.toolName, outcome.value);
  run.tell({ type: 'tool-encoded', ...facts, output: progress.output });
}

/** A refusal of a tool that the model saw in short carries what the model did not see. */
function explained(run: ChatRun, outcome: ToolOutcome): ToolOutcome {
  if (outcome.status !== 'error' || outcome.code !== 'INVALID_INPUT') return outcome;
  const entry = run.engine.registry.get(outcome.toolName);
  if (entry === undefined || !run.state.offered.some(({ toolName, level }) => toolName === entry.name && level !== 'full')) return outcome;
  const { description, inputSchema } = renderTool(entry, 'full');
  return { ...outcome, message: `${outcome.message}\n\n${entry.name}: ${description}\nParameters (JSON Schema): ${JSON.stringify(inputSchema)}` };
}

interface Read {
  readonly progress: Extract<CallProgress, { state: 'settled' }>;
  readonly end?: TurnEnd;
}

async function readOutcome(run: ChatRun, record: CallRecord, outcome: ToolOutcome): Promise<Read> {
  const { encode } = run.engine;
  const { callId, toolName } = record;
  const call = { id: callId, name: toolName, input: argumentsOf(record) };
  if (outcome.status === 'halt') {
    if (RESERVED_REASONS.has(outcome.reason)) {
      return decideOnError(run, call, { ...outcome, status: 'error', code: 'INVALID_RESULT', message: `${toolName} ran, but halted with the reserved reason ${JSON.stringify(outcome.reason)}; expected a reason of the tool's own` });
    }
    const output = encodeOutcome(outcome, encode);
    const end = { reason: 'halt', haltedReason: outcome.reason, callId, value: plainOrNull(outcome.value) } as const;
    return 'unshown' in output ? { end, ...(await decideOnError(run, call, unshown(outcome, output))) } : { progress: { state: 'settled', output }, end };
  }
  if (outcome.status === 'error') {
    const end = outcome.haltReason === undefined || RESERVED_REASONS.has(outcome.haltReason) ? {} : { end: { reason: 'halt', haltedReason: outcome.haltReason, callId, value: null } as const };
    return { ...end, ...(await decideOnError(run, call, outcome)) };
  }
  if (outcome.status !== 'ok') return { progress: { state: 'settled', output: deniedOutput(wordsOf(outcome).text) } };
  const output = encodeOutcome(outcome, encode);
  return 'unshown' in output ? decideOnError(run, call, unshown(outcome, output)) : { progress: { state: 'settled', output } };
}

/** The failure of a tool that ran, and whose value the model cannot be shown. */
function unshown({ callId, toolName, durationMs, attempts, cached, value }: Extract<ToolOutcome, { status: 'ok' | 'halt' }>, { unshown: message, reason }: Unshown): Extract<ToolOutcome, { status: 'error' }> {
  return { callId, toolName, durationMs, attempts, cached, status: 'error', code: 'INVALID_RESULT', message, details: { ran: true, reason }, value };
}

function plainOrNull(value: unknown): Json {
  try {
    return cloneMessage(value === undefined ? null : value) as Json;
  } catch {
    return null; // What the model reads says why.
  }
}

/** Puts a call's progress on record. Of several calls that end the run, the first in the model's order does. */
async function settle(run: ChatRun, call: CallRecord, progress: CallProgress, end?: TurnEnd): Promise<void> {
  const next = withCall(run.state, call.callId, progress);
  const { openTurn } = next;
  if (openTurn === undefined) throw new ToolError('INVALID_STATE', 'Expected an open turn, found none');
  const before = openTurn.end;
  const position = (id: string) => positionOf(openTurn, id);
  const isFirst = end !== undefined && (before === undefined || outranks(end, before, position));
  await run.save(isFirst ? Object.freeze({ ...next, openTurn: Object.freeze({ ...openTurn, end: Object.freeze(end) }) }) : next);
}

/** A failed tool ends the run before one that wished to; of the same kind, the earlier call. */
function outranks(end: TurnEnd, before: TurnEnd, position: (callId: string) => number): boolean {
  if (end.reason !== before.reason) return end.reason === 'tool_error';
  return position(end.callId) < position(before.callId);
}

type Failed = Extract<ToolOutcome, { status: 'error' }>;
interface Decided {
  readonly progress: Extract<CallProgress, { state: 'settled' }>;
  readonly end?: TurnEnd;
}

/** What becomes of a failed call, as `onToolError` says. One that fails itself, or says what is no decision, ends the run. */
export async function decideOnError({ engine, signal }: ChatRun, call: ToolCall, outcome: Failed): Promise<Decided> {
  const output = errorOutput(wordsOf(outcome).text);
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
