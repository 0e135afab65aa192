import type { DangerLevel } from '../../core/enums.js';
import type { Json } from '../../core/plain-data.js';
import type { Confirm, Confirmation } from '../../execution/executor-options.js';
import type { DryRun } from '../../execution/tool-executor.js';
import type { PendingApproval, ToolCall } from '../../safety/calls.js';
import { dangerStyle } from '../axis-columns.js';
import { plainLine, plainText, seenText } from '../plain-text.js';
import { wrapWords } from '../table.js';
import { paint, type Dialog, type Terminal } from '../terminal.js';
import { shownArguments, SHOWN_WHOLE } from './shown-arguments.js';
import type { Turns } from './turns.js';

/** Of a question: where nobody reads standard output, its width is not that of the terminal of the person. */
const MOST_COLUMNS = 80;
const INDENT = '  ';

/** What a person is asked about. */
export interface ConfirmableCall {
  readonly toolName: string;
  readonly danger: DangerLevel;
  readonly reason: string;
  readonly input: Json;
}

/**
 * Asks the person at the terminal: `y` runs the call, `e` changes its arguments first, everything else is a no.
 *
 * Changed arguments are judged anew and shown again before they run.
 *
 * @param judge what the policy would say to other arguments, without running anything.
 */
export function askToConfirm(terminal: Dialog, turns: Turns, judge: (call: ToolCall) => Promise<DryRun>): Confirm {
  return (pending, { signal }) => turns.take(() => confirmed(terminal, pending, judge, signal));
}

async function confirmed(terminal: Dialog, pending: PendingApproval, judge: (call: ToolCall) => Promise<DryRun>, signal: AbortSignal | undefined): Promise<Confirmation> {
  let call: ConfirmableCall = pending;
  let whole = false;
  for (let shown = false; signal?.aborted !== true; ) {
    const isLong = seenText(JSON.stringify(call.input)).length > SHOWN_WHOLE;
    if (!shown) for (const line of callLines(terminal, call, { whole })) terminal.err(line);
    shown = true;
    const answer = (await terminal.ask(`Run it? ${isLong && !whole ? '[y/N/e/a] (a shows all) ' : '[y/N/e] '}`, { signal }))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return call === pending ? true : { input: call.input };
    if (answer === 'a' && isLong) {
      whole = true;
      shown = false;
    } else if (answer === 'e') {
      const edited = await editedCall(terminal, call, pending, judge, signal);
      if (edited === undefined) continue;
      call = edited;
      shown = false;
      whole = false;
    } else return false;
  }
  return false;
}

/** The call with the arguments that were typed, or nothing when they cannot run. */
async function editedCall(terminal: Dialog, call: ConfirmableCall, { callId, toolName }: PendingApproval, judge: (call: ToolCall) => Promise<DryRun>, signal: AbortSignal | undefined): Promise<ConfirmableCall | undefined> {
  const refuse = (why: string) => terminal.err(`${paint(terminal, 'red', 'refused')} ${plainText(why)}`);
  const text = await terminal.ask('Arguments as JSON: ', { prefill: seenText(JSON.stringify(call.input)), signal });
  if (text === undefined) return undefined;
  let input: Json;
  try {
    input = JSON.parse(text) as Json;
  } catch (error) {
    refuse(`expected JSON, found ${plainLine((error as SyntaxError).message)}`);
    return undefined;
  }
  const { refused, decision } = await judge({ id: callId, name: toolName, input });
  if (refused !== undefined || decision.verdict === 'deny') {
    refuse(refused ?? decision.reason);
    return undefined;
  }
  return { toolName, danger: decision.danger, reason: decision.reason, input };
}

/** A call as a person sees it before saying yes: the tool, how dangerous this call is and why, and all arguments. */
export function callLines(terminal: Terminal, { toolName, danger, reason, input }: ConfirmableCall, options: { readonly whole?: boolean } = {}): readonly string[] {
  const width = Math.min(terminal.columns, MOST_COLUMNS) - INDENT.length;
  return [
    `${paint(terminal, 'bold', toolName)}  ${paint(terminal, dangerStyle(danger), `danger ${danger}`)}`,
    ...wrapWords(plainLine(reason), width).map((line) => `${INDENT}${paint(terminal, 'dim', line)}`),
    ...shownArguments(input, width, options).map((line) => INDENT + line),
  ];
}
