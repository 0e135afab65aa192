import type { DecisionResult, Session } from '../../chat/session/session.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { EXIT } from '../terminal/exit-codes.js';
import { plainJson, plainLine } from '../terminal/terminal.js';
import { exitCodeOfSession, showHalt, showPending } from './chat-view.js';
import type { ChatCommandOptions, ChatSetup } from './chat-setup.js';
import { jsonOrText } from './converse.js';

/**
 * Takes the decisions of the command line, goes on as far as it goes without a user, and lists what is pending.
 *
 * @throws ToolError for decisions that are refused, and for a prompt where something else is pending.
 */
export async function runOnce(
  setup: ChatSetup,
  opened: Session,
  prompt: string | undefined,
): Promise<number> {
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

async function advance(
  { engine, options, run: usual, keep }: ChatSetup,
  session: Session,
  prompt: string | undefined,
  signal: AbortSignal,
): Promise<Session> {
  const run = { ...usual, signal };
  const { pending, status, haltedReason, messages } = session;
  if (prompt !== undefined) {
    const { session: replied, refused } = await session.reply(engine, prompt, run);
    if (refused !== undefined) throw refused;
    return replied;
  }
  if (status === 'error') return (await session.retry(engine, run)).session;
  const stands = (status !== 'completed' || haltedReason === 'cancelled') && messages.length > 0;
  if (stands && pending.every(({ kind }) => kind === 'uncertain')) {
    try {
      return (await session.continue(engine, run)).session;
    } catch (error) {
      // Calls whose outcome nobody knows, and that do not run again without a decision.
      if (pending.length === 0 || !isToolError(error, 'INVALID_STATE')) throw error;
    }
  }
  if (pending.length === 0 && !hasDecisions(options))
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('a prompt', 'none', 'Give one after the command, or use a terminal.'),
    );
  await keep(session);
  return session;
}

type Decisions = Pick<ChatCommandOptions, 'answer' | 'approve' | 'deny' | 'rerun'>;

/** Returns whether the command line decides about calls. */
function hasDecisions({ answer, approve, deny, rerun }: Decisions): boolean {
  return [answer, approve, deny, rerun].some((each) => each !== undefined);
}

/**
 * Returns the session with all decisions of the command line; when one is refused, none is taken.
 *
 * @throws ToolError `INVALID_ARGUMENT` for arguments of an approval that are no JSON, and what the session says of a decision
 * that it refuses.
 */
function withDecisions(
  session: Session,
  { answer = [], approve = [], deny = [], rerun = [] }: Decisions,
): Session {
  const steps: readonly ((current: Session) => DecisionResult)[] = [
    ...answer.map((text) => (current: Session) => answered(current, text)),
    ...approve.map((text) => (current: Session) => approved(current, text)),
    ...deny.map((text) => (current: Session) => {
      const { callId, value } = split(session, text);
      return current.deny(callId, value);
    }),
    ...rerun.map((callId) => (current: Session) => current.rerun(callId)),
  ];
  return steps.reduce((current, step) => {
    const decided = step(current);
    if (!decided.ok) throw decided.error;
    return decided.session;
  }, session);

  function answered(current: Session, text: string): DecisionResult {
    const { callId, value } = split(session, text);
    if (value === undefined)
      throw invalidArgument('--answer as the id of a call, =, and the answer', text);
    const isQuestion = session.pending.some(
      (pending) => pending.callId === callId && pending.kind === 'question',
    );
    return isQuestion
      ? current.answer(callId, value)
      : current.submitToolResult(callId, jsonOrText(value));
  }

  function approved(current: Session, text: string): DecisionResult {
    const { callId, value } = split(session, text);
    if (value === undefined) return current.approve(callId);
    try {
      return current.approve(callId, { input: JSON.parse(value) as unknown });
    } catch (error) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          `the arguments in --approve ${callId}=… as JSON`,
          plainLine((error as Error).message),
        ),
        { cause: error },
      );
    }
  }
}

/** Returns the id of a call, and what stands after `=`. Ids are made by models and may have one themselves, so those of pending calls are tried first. */
function split(
  { pending }: Session,
  text: string,
): { readonly callId: string; readonly value?: string } {
  const ids = pending
    .map(({ callId }) => callId)
    .filter((callId) => text === callId || text.startsWith(`${callId}=`));
  const longest = ids.reduce<string | undefined>(
    (best, callId) => (best === undefined || callId.length > best.length ? callId : best),
    undefined,
  );
  const end = longest?.length ?? text.indexOf('=');
  return end === -1 || end === text.length
    ? { callId: text }
    : { callId: text.slice(0, end), value: text.slice(end + 1) };
}
