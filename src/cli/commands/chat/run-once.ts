import type { Session } from '../../../chat/session/session.js';
import { isToolError, ToolError } from '../../../core/errors.js';
import { EXIT } from '../../exit-codes.js';
import { plainJson } from '../../plain-text.js';
import type { ChatSetup } from './chat-setup.js';
import { hasDecisions, withDecisions } from './given-decisions.js';
import { exitCodeOfSession, showHalt, showPending } from './session-report.js';

/**
 * Takes the decisions of the command line, goes on as far as it goes without a person, and lists what it waits for.
 *
 * @throws ToolError for decisions that are refused, and for a prompt where something else waits.
 */
export async function runOnce(setup: ChatSetup, opened: Session, prompt: string | undefined): Promise<number> {
  const { terminal, view, options, isKept } = setup;
  const decided = withDecisions(opened, options);
  const stop = new AbortController();
  const stopListening = terminal.onInterrupt(() => stop.abort());
  let session: Session;
  try {
    session = await advance(setup, decided, prompt, stop.signal);
  } finally {
    stopListening();
    view.flush();
  }
  if (options.json === true) {
    const { id, status, haltedReason, pending } = session;
    terminal.out(plainJson({ type: 'session', id, status, haltedReason, pending }));
  } else {
    showHalt(terminal, session);
    showPending(terminal, session, { isKept });
  }
  return stop.signal.aborted ? EXIT.interrupted : exitCodeOfSession(session);
}

async function advance({ engine, options, run: usual, keep }: ChatSetup, session: Session, prompt: string | undefined, signal: AbortSignal): Promise<Session> {
  const run = { ...usual, signal };
  const { pending, status, haltedReason, messages } = session;
  if (prompt !== undefined) return (await session.reply(engine, prompt, run)).session;
  if (status === 'error') return (await session.retry(engine, run)).session;
  const stands = (status !== 'completed' || haltedReason === 'cancelled') && messages.length > 0;
  if (stands && pending.every(({ kind }) => kind === 'uncertain')) {
    try {
      return (await session.continue(engine, run)).session;
    } catch (error) {
      // Calls whose outcome nobody knows, and that are not run again unasked.
      if (pending.length === 0 || !isToolError(error, 'INVALID_STATE')) throw error;
    }
  }
  if (pending.length === 0 && !hasDecisions(options)) throw new ToolError('INVALID_ARGUMENT', 'expected a prompt, found none; give one after the command, or sit at a terminal');
  await keep(session);
  return session;
}
