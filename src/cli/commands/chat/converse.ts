import { Session } from '../../../chat/session/session.js';
import { DangerLevel } from '../../../core/enums.js';
import { isToolError } from '../../../core/errors.js';
import { ToolExecutor } from '../../../execution/tool-executor.js';
import { EXIT } from '../../exit-codes.js';
import { paint } from '../../terminal.js';
import type { ChatSetup } from './chat-setup.js';
import { decidePending } from './decide-pending.js';
import { exitCodeOfSession, showHalt } from './session-report.js';

const GIVEN_UP = 'the person gave this turn up';

/** A conversation with the person at the terminal, until it is left: Ctrl-C gives a turn up, at the prompt it leaves. */
export async function converse(setup: ChatSetup, opened: Session, first: string | undefined): Promise<number> {
  const { terminal } = setup;
  let session = opened;
  let text = first;
  for (let goesOn = text === undefined && isOpen(session); ; ) {
    if (text !== undefined || goesOn) {
      const { after, leaves } = await takeTurn(setup, session, text);
      session = after;
      if (leaves) return EXIT.interrupted;
      showHalt(terminal, session);
      const hint = session.status === 'error' ? 'An empty line tries again.' : isOpen(session) ? 'An empty line goes on with the calls that are left; text drops them.' : undefined;
      if (hint !== undefined) terminal.err(paint(terminal, 'dim', hint));
    }
    terminal.err('');
    const line = await terminal.ask('› ');
    if (line === undefined) return exitCodeOfSession(session);
    text = line.trim() === '' ? undefined : line;
    goesOn = text === undefined && (isOpen(session) || session.status === 'error' || session.haltedReason === 'cancelled');
  }
}

/** One request, or the rest of one: runs, and asks the person whatever it waits for. */
async function takeTurn(setup: ChatSetup, before: Session, given: string | undefined): Promise<{ readonly after: Session; readonly leaves: boolean }> {
  const { terminal, engine, view, executor, keep } = setup;
  const stop = new AbortController();
  const { signal } = stop;
  let leaves = false;
  const stopListening = terminal.onInterrupt(() => {
    leaves = signal.aborted;
    stop.abort();
  });
  const run = { ...setup.run, signal };
  let session = before;
  try {
    if (given !== undefined) session = await readyForText(setup, session);
    for (let text = given; ; text = undefined) {
      for (const pending of session.pending) {
        const decided = await decidePending(terminal, session, pending, { executor, signal });
        if (decided === undefined) return { after: session, leaves };
        session = decided;
        await keep(session);
      }
      const ran = text !== undefined ? session.start(engine, text, run) : session.status === 'error' ? session.retry(engine, run) : session.continue(engine, run);
      ({ session } = await ran);
      view.flush();
      if (signal.aborted || session.pending.length === 0) return { after: session, leaves };
    }
  } catch (error) {
    // Nothing has run yet: the person can look at the tools, and start again with --accept-changed.
    if (!isToolError(error, 'TOOL_CHANGED')) throw error;
    terminal.err(`${paint(terminal, 'red', 'error')} ${error.message}`);
    return { after: session, leaves };
  } finally {
    stopListening();
    view.flush();
  }
}

/** A session that takes a new request: calls that are open are given up, and after an error the conversation goes on. */
async function readyForText({ engine, executor, run }: ChatSetup, before: Session): Promise<Session> {
  let session = before;
  for (const { callId } of before.pending) {
    const denied = session.deny(callId, GIVEN_UP);
    if (!denied.ok) throw denied.error;
    ({ session } = denied);
  }
  if (isOpen(session)) {
    // Calls that were not started yet: each gets a no from a policy that has nothing else to say, and no model is asked.
    const refusing = new ToolExecutor({ registry: executor.registry, policy: { decide: () => ({ verdict: 'deny', reason: GIVEN_UP, rule: 'given up', danger: DangerLevel.HIGH }) } });
    try {
      ({ session } = await session.continue({ ...engine, executor: refusing, haltWhen: () => true }, { ...run, acceptChangedTools: true }));
    } finally {
      await refusing.close();
    }
  }
  if (session.status !== 'error') return session;
  return Session.create({ id: session.id, context: session.context, messages: session.messages });
}

/** Whether calls of the last answer are still to be settled. */
function isOpen(session: Session): boolean {
  return session.snapshot()['openTurn'] !== undefined;
}
