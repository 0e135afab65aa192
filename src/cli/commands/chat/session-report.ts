import type { ChatPending } from '../../../chat/chat-state.js';
import type { Session } from '../../../chat/session/session.js';
import { callLines } from '../../execute/ask-to-confirm.js';
import { shownArguments } from '../../execute/shown-arguments.js';
import { EXIT } from '../../exit-codes.js';
import { plainLine, plainText } from '../../plain-text.js';
import { paint, type Terminal } from '../../terminal.js';

const MOST_COLUMNS = 80;

/** What a session means to whoever started the program. */
export function exitCodeOfSession({ pending, status, haltedReason }: Session): number {
  if (pending.length > 0) return EXIT.unconfirmed;
  return status === 'error' || haltedReason === 'max_turns' ? EXIT.findings : EXIT.ok;
}

/** Says why a session stands still, unless the model has just answered. */
export function showHalt(terminal: Terminal, { status, haltedReason, error }: Session): void {
  if (status === 'error') terminal.err(`${paint(terminal, 'red', 'error')} ${plainText(error?.message ?? haltedReason ?? '')}`);
  else if (haltedReason === 'cancelled') terminal.err(paint(terminal, 'yellow', 'interrupted'));
  else if (haltedReason === 'max_turns') terminal.err(`${paint(terminal, 'yellow', 'stopped')} the model was asked as often as --max-turns allows`);
  else if (status === 'completed' && haltedReason !== 'completed') terminal.err(`${paint(terminal, 'yellow', 'halt')} ${plainLine(haltedReason ?? '')}`);
}

/** Everything that a session waits for, and how it is given on the command line. */
export function showPending(terminal: Terminal, { pending }: Session, { isKept }: { readonly isKept: boolean }): void {
  for (const each of pending) {
    for (const line of linesOf(terminal, each)) terminal.err(line);
    for (const hint of hintsOf(each)) terminal.err(`  ${paint(terminal, 'dim', plainLine(hint))}`);
  }
  if (pending.length > 0 && !isKept) terminal.err(paint(terminal, 'dim', 'With --session <file> the conversation is kept, and these can be given later.'));
}

function linesOf(terminal: Terminal, pending: ChatPending): readonly string[] {
  if (pending.kind === 'approval') return callLines(terminal, pending);
  const width = Math.min(terminal.columns, MOST_COLUMNS) - 2;
  const head = (what: string) => `${paint(terminal, 'bold', plainLine(pending.toolName))}  ${paint(terminal, 'yellow', what)}`;
  const input = shownArguments(pending.input, width).map((line) => `  ${line}`);
  switch (pending.kind) {
    case 'question':
      return [head('asks'), `  ${plainText(pending.question).split('\n').join('\n  ')}`, ...(pending.options ?? []).map((option) => `  - ${plainLine(option)}`)];
    case 'manual':
      return [head('is for you to do'), ...input];
    case 'uncertain':
      return [head('was started; whether it had its effect is not known'), ...input];
  }
}

function hintsOf({ kind, callId }: ChatPending): readonly string[] {
  const id = /^[\w.:-]+$/.test(callId) ? callId : JSON.stringify(callId);
  switch (kind) {
    case 'approval':
      return [`--approve ${id} or --deny ${id}`];
    case 'question':
    case 'manual':
      return [`--answer ${id}=…`];
    case 'uncertain':
      return [`--answer ${id}=… or --rerun ${id}`];
  }
}
