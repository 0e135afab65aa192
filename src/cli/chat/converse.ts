import type { ChatPending } from '../../chat/chat-state.js';
import { Session, type DecisionResult } from '../../chat/session/session.js';
import { DangerLevel } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import type { Json } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { answerQuestion, askToConfirm, Turns } from '../execute/ask-user.js';
import { callBlock } from '../execute/shown-call.js';
import { EXIT } from '../terminal/exit-codes.js';
import { wrapList } from '../terminal/table.js';
import { plainLine, paint, type Dialog } from '../terminal/terminal.js';
import { exitCodeOfSession, showHalt } from './chat-view.js';
import type { ChatSetup } from './chat-setup.js';

const GIVEN_UP = 'the user gave this turn up';

/** Holds a conversation with the user at the terminal, until it is left: Ctrl-C gives a turn up, at the prompt it leaves. */
export async function converse(
  setup: ChatSetup,
  opened: Session,
  first: string | undefined,
): Promise<number> {
  const { terminal } = setup;
  let session = opened;
  let text = first;
  for (let goesOn = text === undefined && isOpen(session); ;) {
    const [, command] = COMMAND.exec(text ?? '') ?? [];
    if (command === 'quit') return exitCodeOfSession(session);
    if (command !== undefined) {
      for (const each of answerToCommand(command, setup)) terminal.err(each);
    } else if (text !== undefined || goesOn) {
      const { after, leaves } = await takeTurn(setup, session, text);
      session = after;
      if (leaves) return EXIT.interrupted;
      showHalt(terminal, session);
      const hint =
        session.status === 'error'
          ? 'An empty line tries again.'
          : isOpen(session)
            ? 'An empty line goes on with the calls that are left; text drops them.'
            : undefined;
      if (hint !== undefined) terminal.err(paint(terminal, 'dim', hint));
    }
    terminal.err('');
    const line = await terminal.ask('› ');
    if (line === undefined) return exitCodeOfSession(session);
    text = line.trim() === '' ? undefined : line;
    goesOn =
      text === undefined &&
      (isOpen(session) || session.status === 'error' || session.haltedReason === 'cancelled');
  }
}

/** A line that begins with a slash and one word; paths have more of them. */
const COMMAND = /^\s*\/([\w?-]*)(?:\s|$)/;
const HELP: readonly string[] = [
  '/help      these lines',
  '/tools     the names of the tools',
  '/quit      leaves, like Ctrl-D',
  '(nothing)  goes on with the calls that are left, or tries again after an error',
  'Ctrl-C     stops a turn',
];

function answerToCommand(
  command: string,
  { terminal, executor, about }: ChatSetup,
): readonly string[] {
  if (command === 'help') return [...HELP, '', ...about];
  if (command === 'tools')
    return [
      wrapList(
        terminal,
        [...executor.registry].map(({ name }) => name),
        0,
      ),
    ];
  return [
    `Expected /help, /tools or /quit, got ${plainLine(`/${command}`)}. /help says what they do.`,
  ];
}

/** Runs one request, or the rest of one, and asks the user about whatever is pending. */
async function takeTurn(
  setup: ChatSetup,
  before: Session,
  given: string | undefined,
): Promise<{ readonly after: Session; readonly leaves: boolean }> {
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
      const ran =
        text !== undefined
          ? session.start(engine, text, run)
          : session.status === 'error'
            ? session.retry(engine, run)
            : session.continue(engine, run);
      ({ session } = await ran);
      view.flush();
      if (signal.aborted || session.pending.length === 0) return { after: session, leaves };
    }
  } catch (error) {
    // Nothing has run yet: the user can look at the tools, and start again with --accept-changed.
    if (!isToolError(error, 'TOOL_CHANGED')) throw error;
    terminal.err(`${paint(terminal, 'red', 'error')} ${error.message}`);
    return { after: session, leaves };
  } finally {
    stopListening();
    view.flush();
  }
}

/** A session that takes a new request: calls that are open are given up, and after an error the conversation goes on. */
async function readyForText(
  { engine, executor, run }: ChatSetup,
  before: Session,
): Promise<Session> {
  let session = before;
  for (const { callId } of before.pending) {
    const denied = session.deny(callId, GIVEN_UP);
    if (!denied.ok) throw denied.error;
    ({ session } = denied);
  }
  if (isOpen(session)) {
    // Calls that were not started yet: a policy that says nothing else denies each, and no model is asked.
    const refusing = new ToolExecutor({
      registry: executor.registry,
      policy: {
        decide: () => ({
          verdict: 'deny',
          reason: GIVEN_UP,
          rule: 'given up',
          danger: DangerLevel.HIGH,
        }),
      },
    });
    try {
      ({ session } = await session.continue(
        { ...engine, executor: refusing, haltWhen: () => true },
        { ...run, acceptChangedTools: true },
      ));
    } finally {
      await refusing.close();
    }
  }
  if (session.status !== 'error') return session;
  return Session.create({ id: session.id, context: session.context, messages: session.messages });
}

/** Returns whether calls of the last answer are still to be settled. */
function isOpen(session: Session): boolean {
  return session.snapshot()['openTurn'] !== undefined;
}

interface DecideOptions {
  readonly executor: ToolExecutor;
  /** Fires when the user gives the turn up. */
  readonly signal: AbortSignal;
}

/** Returns the session once the user has decided about a pending call; `undefined` when nobody answers. */
async function decidePending(
  terminal: Dialog,
  session: Session,
  pending: ChatPending,
  options: DecideOptions,
): Promise<Session | undefined> {
  for (;;) {
    const decided = await decide(terminal, session, pending, options);
    if (decided === undefined || decided.ok) return decided?.session;
    terminal.err(`${paint(terminal, 'red', 'refused')} ${plainLine(decided.error.message)}`);
  }
}

async function decide(
  terminal: Dialog,
  session: Session,
  pending: ChatPending,
  { executor, signal }: DecideOptions,
): Promise<DecisionResult | undefined> {
  const { callId } = pending;
  const turns = new Turns(terminal);
  switch (pending.kind) {
    case 'approval': {
      const answer = await askToConfirm(
        terminal,
        turns,
        async (call) => (await executor.dryRun([call]))[0]!,
        (asked) => Promise.resolve(executor.grantChoices(asked)),
      )(pending, { signal });
      if (signal.aborted || answer === 'later') return undefined;
      if (typeof answer === 'boolean')
        return answer ? session.approve(callId) : session.deny(callId);
      return session.approve(callId, answer);
    }
    case 'question': {
      const { expiresAt } = pending;
      const left =
        expiresAt === undefined ? {} : { timeoutMs: Math.max(1, expiresAt - Date.now()) };
      const outcome = await answerQuestion(
        terminal,
        turns,
        {
          ...pending,
          ...left,
          durationMs: 0,
          attempts: 1,
          cached: false,
          status: 'ask_user',
          pending,
        },
        signal,
      );
      if (outcome.status === 'ok')
        return session.answer(callId, outcome.value as string | readonly string[]);
      return outcome.status === 'error' ? session.expire(expiresAt!) : undefined;
    }
    case 'manual': {
      showCall(terminal, pending, 'you do what it is for, and type what came of it');
      const text = await askForText(terminal, 'Result (JSON or text): ', signal);
      return text === undefined ? undefined : session.submitToolResult(callId, jsonOrText(text));
    }
    case 'uncertain': {
      showCall(terminal, pending, 'it was started, and nobody knows whether it had its effect');
      const text = await askForText(
        terminal,
        'What came of it (JSON or text), or r to run it again: ',
        signal,
      );
      if (text === undefined) return undefined;
      return text.trim() === 'r'
        ? session.rerun(callId)
        : session.submitToolResult(callId, jsonOrText(text));
    }
  }
}

/** Returns the value of a text that is JSON, else the text: users type either as the result of a call. */
export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** An empty line is no result; an empty text is typed as "". */
async function askForText(
  terminal: Dialog,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (;;) {
    const text = await terminal.ask(question, { signal });
    if (text === undefined || text.trim() !== '') return text;
  }
}

function showCall(terminal: Dialog, { toolName, input }: ChatPending, why: string): void {
  for (const line of callBlock(terminal, toolName, paint(terminal, 'dim', why), input))
    terminal.err(line);
}
