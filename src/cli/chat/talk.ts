import type { ChatEngine } from '../../chat/chat-engine.js';
import type { ChatPending } from '../../chat/chat-state.js';
import {
  Session,
  type DecisionResult,
  type RunSessionOptions,
} from '../../chat/session/session.js';
import { DangerLevel } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import type { Json } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { askQuestion, askToConfirm, Turns } from '../execute/ask-user.js';
import { callBlock } from '../execute/shown-call.js';
import { EXIT } from '../terminal/exit-codes.js';
import { paint, plainJson, plainLine, type Dialog } from '../terminal/terminal.js';
import { exitCodeOfSession, showHalt, showPending, type ChatView } from './chat-view.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** A conversation on the command line: what it talks with, and where it is kept. */
interface Talk {
  readonly terminal: Dialog;
  readonly engine: ChatEngine;
  readonly executor: ToolExecutor;
  readonly view: ChatView;
  /** True where nobody can be asked: the conversation goes on as far as it goes alone. */
  readonly alone: boolean;
  readonly json: boolean;
  readonly run: RunSessionOptions;
  /** Keeps a session after decisions, where there is a file for it. */
  readonly keep: (session: Session) => Promise<void>;
}

/** Talks until the user leaves; alone, until the model has answered or somebody is needed. Returns the exit code. */
export async function talk(
  how: Talk,
  opened: Session,
  prompt: string | undefined,
): Promise<number> {
  const { terminal, view, alone } = how;
  if (alone && prompt === undefined && !goesOn(opened) && opened.pending.length === 0)
    throw wrongUsage('a prompt', 'none', 'Give one after the command, or use a terminal.');
  let session = opened;
  for (let text = prompt; ;) {
    const stop = new AbortController();
    let interrupts = 0;
    const stopListening = terminal.onInterrupt(() => {
      interrupts++;
      stop.abort();
    });
    try {
      if (text !== undefined || goesOn(session) || session.pending.length > 0)
        session = await takeTurn(how, session, text, stop.signal);
    } finally {
      stopListening();
      view.flush();
    }
    if (interrupts > 1 || (alone && interrupts > 0)) return EXIT.interrupted;
    if (how.json) printStand(terminal, session);
    else showHalt(terminal, session);
    if (alone) {
      if (!how.json) showPending(terminal, session);
      return exitCodeOfSession(session);
    }
    if (goesOn(session) || session.pending.length > 0)
      terminal.err(paint(terminal, 'dim', 'An empty line goes on from there; text drops it.'));
    terminal.err('');
    const line = await terminal.ask('› ');
    if (line === undefined) return exitCodeOfSession(session);
    text = line.trim() === '' ? undefined : line;
  }
}

function printStand(terminal: Dialog, session: Session): void {
  const { id, status, haltedReason, pending } = session;
  terminal.out(plainJson({ type: 'session', id, status, haltedReason, pending }));
}

/** Returns true if a session can go on without a new text: calls are open, or the model failed. */
function goesOn(session: Session): boolean {
  const { status, haltedReason, messages } = session;
  const stands = status !== 'completed' || haltedReason === 'cancelled';
  return stands && messages.length > 0 && session.pending.every(({ kind }) => kind === 'uncertain');
}

/** Runs one text, or the rest of one, and asks the user about whatever is pending. */
async function takeTurn(
  how: Talk,
  before: Session,
  given: string | undefined,
  signal: AbortSignal,
): Promise<Session> {
  const { engine, terminal, keep, alone } = how;
  const run = { ...how.run, signal };
  let session = before;
  try {
    if (alone && given !== undefined) {
      const { session: replied, refused } = await session.reply(engine, given, run);
      if (refused !== undefined) throw refused;
      return replied;
    }
    if (given !== undefined) session = await dropped(how, session);
    for (let text = given; ; text = undefined) {
      for (const pending of alone ? [] : session.pending) {
        const decided = await decidePending(terminal, how.executor, session, pending, signal);
        if (decided === undefined) return session;
        await keep((session = decided));
      }
      if (alone && session.pending.some(({ kind }) => kind !== 'uncertain')) return session;
      ({ session } = await (text !== undefined
        ? session.start(engine, text, run)
        : session.status === 'error'
          ? session.retry(engine, run)
          : session.continue(engine, run)));
      how.view.flush();
      if (alone || signal.aborted || session.pending.length === 0) return session;
    }
  } catch (error) {
    if (alone && session.pending.length > 0 && isToolError(error, 'INVALID_STATE')) return session;
    // Nothing has run yet: the user can look at the tools, and start again with --accept-changed.
    if (alone || !isToolError(error, 'TOOL_CHANGED')) throw error;
    terminal.err(`${paint(terminal, 'red', 'error')} ${error.message}`);
    return session;
  }
}

const GIVEN_UP = 'the user gave this turn up';

/** Returns a session that takes a new text: calls that are open are given up, and after an error the conversation goes on. */
async function dropped({ engine, executor, run }: Talk, before: Session): Promise<Session> {
  let session = before;
  for (const { callId } of before.pending) {
    const denied = session.deny(callId, GIVEN_UP);
    if (!denied.ok) throw denied.error;
    ({ session } = denied);
  }
  if (goesOn(session) && session.status !== 'error') {
    // Calls that were not started yet: this policy denies each, and no model is asked.
    const decision = { verdict: 'deny', reason: GIVEN_UP, rule: 'given up' } as const;
    const policy = { decide: () => ({ ...decision, danger: DangerLevel.HIGH }) };
    const refusing = new ToolExecutor({ registry: executor.registry, policy });
    ({ session } = await session.continue(
      { ...engine, executor: refusing, haltWhen: () => true },
      { ...run, acceptChangedTools: true },
    ));
    await refusing.close();
  }
  if (session.status !== 'error') return session;
  return Session.create({ id: session.id, context: session.context, messages: session.messages });
}

/** Returns the session once the user has decided about a pending call; `undefined` when nobody answers. */
async function decidePending(
  terminal: Dialog,
  executor: ToolExecutor,
  session: Session,
  pending: ChatPending,
  signal: AbortSignal,
): Promise<Session | undefined> {
  for (;;) {
    const decided = await decide(terminal, executor, session, pending, signal);
    if (decided === undefined || decided.ok) return decided?.session;
    terminal.err(`${paint(terminal, 'red', 'refused')} ${plainLine(decided.error.message)}`);
  }
}

async function decide(
  terminal: Dialog,
  executor: ToolExecutor,
  session: Session,
  pending: ChatPending,
  signal: AbortSignal,
): Promise<DecisionResult | undefined> {
  const { callId } = pending;
  switch (pending.kind) {
    case 'approval': {
      const ask = askToConfirm(
        terminal,
        new Turns(terminal),
        async (call) => (await executor.dryRun([call]))[0]!,
        (asked) => Promise.resolve(executor.grantChoices(asked)),
      );
      const answer = await ask(pending, { signal });
      if (signal.aborted || answer === 'later') return undefined;
      if (answer === false) return session.deny(callId);
      return session.approve(callId, answer === true ? {} : answer);
    }
    case 'question': {
      const { expiresAt = Infinity } = pending;
      const limit = AbortSignal.timeout(Math.min(Math.max(0, expiresAt - Date.now()), 2 ** 31 - 1));
      const answer = await askQuestion(terminal, pending, AbortSignal.any([signal, limit]));
      if (answer !== undefined) return session.answer(callId, answer as string | readonly string[]);
      return limit.aborted ? session.expire(expiresAt) : undefined;
    }
    case 'manual': {
      const why = 'you do what it is for, and type what came of it';
      const text = await textFor(terminal, pending, why, 'Result (JSON or text): ', signal);
      return text === undefined ? undefined : session.submitToolResult(callId, jsonOrText(text));
    }
    case 'uncertain': {
      const why = 'it was started, and nobody knows whether it had its effect';
      const question = 'What came of it (JSON or text), or r to run it again: ';
      const text = await textFor(terminal, pending, why, question, signal);
      if (text === undefined) return undefined;
      return text.trim() === 'r'
        ? session.rerun(callId)
        : session.submitToolResult(callId, jsonOrText(text));
    }
  }
}

/** Shows a call and returns what the user types about it. An empty line is no result; an empty text is typed as "". */
async function textFor(
  terminal: Dialog,
  { toolName, input }: ChatPending,
  why: string,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const line of callBlock(terminal, toolName, paint(terminal, 'dim', why), input))
    terminal.err(line);
  for (;;) {
    const text = await terminal.ask(question, { signal });
    if (text === undefined || text.trim() !== '') return text;
  }
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
