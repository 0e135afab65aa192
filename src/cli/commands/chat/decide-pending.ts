import type { ChatPending } from '../../../chat/chat-state.js';
import type { Decided, Session } from '../../../chat/session/session.js';
import type { Json } from '../../../core/plain-data.js';
import type { ToolExecutor } from '../../../execution/tool-executor.js';
import type { PendingQuestion } from '../../../safety/calls.js';
import { askToConfirm } from '../../execute/ask-to-confirm.js';
import { answerQuestion } from '../../execute/answer-question.js';
import { shownArguments } from '../../execute/shown-arguments.js';
import { Turns } from '../../execute/turns.js';
import { plainLine } from '../../plain-text.js';
import { paint, type Dialog } from '../../terminal.js';

const MOST_COLUMNS = 80;

export interface DecideOptions {
  readonly executor: ToolExecutor;
  /** Fires when the person gives the turn up. */
  readonly signal: AbortSignal;
}

/** The session once the person has decided about a call that waits; `undefined` when nobody answers. */
export async function decidePending(terminal: Dialog, session: Session, pending: ChatPending, options: DecideOptions): Promise<Session | undefined> {
  for (;;) {
    const decided = await decide(terminal, session, pending, options);
    if (decided === undefined || decided.ok) return decided?.session;
    terminal.err(`${paint(terminal, 'red', 'refused')} ${plainLine(decided.error.message)}`);
  }
}

async function decide(terminal: Dialog, session: Session, pending: ChatPending, { executor, signal }: DecideOptions): Promise<Decided | undefined> {
  const { callId } = pending;
  const turns = new Turns(terminal);
  switch (pending.kind) {
    case 'approval': {
      const answer = await askToConfirm(terminal, turns, async (call) => (await executor.dryRun([call]))[0]!)(pending, { signal });
      if (signal.aborted || answer === 'later') return undefined;
      if (typeof answer === 'boolean') return answer ? session.approve(callId) : session.deny(callId);
      return session.approve(callId, answer);
    }
    case 'question': {
      const answer = await answerOf(terminal, turns, pending, signal);
      return answer === undefined ? undefined : session.answer(callId, answer);
    }
    case 'manual': {
      callLines(terminal, pending, 'you do what it is for, and type what came of it');
      const text = await askForText(terminal, 'Result (JSON or text): ', signal);
      return text === undefined ? undefined : session.submitToolResult(callId, jsonOrText(text));
    }
    case 'uncertain': {
      callLines(terminal, pending, 'it was started, and nobody knows whether it had its effect');
      const text = await askForText(terminal, 'What came of it (JSON or text), or r to run it again: ', signal);
      if (text === undefined) return undefined;
      return text.trim() === 'r' ? session.rerun(callId) : session.submitToolResult(callId, jsonOrText(text));
    }
  }
}

/** JSON where a text is some, else the text: what people type as the result of a call. */
export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

async function answerOf(terminal: Dialog, turns: Turns, pending: PendingQuestion, signal: AbortSignal): Promise<string | undefined> {
  const { callId, toolName, question, options } = pending;
  const asked = { callId, toolName, durationMs: 0, attempts: 1, cached: false, status: 'ask_user', question, ...(options && { options }), pending } as const;
  const outcome = await answerQuestion(terminal, turns, asked, signal);
  return outcome.status === 'ok' ? (outcome.value as string) : undefined;
}

/** An empty line is no result; an empty text is typed as "". */
async function askForText(terminal: Dialog, question: string, signal: AbortSignal): Promise<string | undefined> {
  for (;;) {
    const text = await terminal.ask(question, { signal });
    if (text === undefined || text.trim() !== '') return text;
  }
}

function callLines(terminal: Dialog, { toolName, input }: ChatPending, why: string): void {
  const width = Math.min(terminal.columns, MOST_COLUMNS) - 2;
  for (const line of [`${paint(terminal, 'bold', plainLine(toolName))}  ${paint(terminal, 'dim', why)}`, ...shownArguments(input, width).map((each) => `  ${each}`)]) terminal.err(line);
}
