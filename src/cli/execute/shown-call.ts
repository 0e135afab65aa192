import type { Question } from '../../tool/question.js';
import type { DangerLevel } from '../../core/enums.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import { previewLines } from '../../core/preview.js';
import type { Pending, PendingApproval } from '../../safety/calls.js';
import { dangerStyle } from '../terminal/axis-row.js';
import { wrapWords } from '../terminal/table.js';
import {
  paint,
  plainLine,
  plainText,
  seenText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';

/**
 * The maximum width of a question. Standard output may not be a terminal, so its width can't be
 * used.
 */
const MAX_COLUMNS = 80;
const INDENT = '  ';
/** The number of lines of a call that are shown at first. */
const MAX_LINES = 60;

/** A call that the user is asked about. */
export interface ConfirmableCall extends Pick<PendingApproval, 'preview' | 'noPreview'> {
  readonly toolName: string;
  readonly danger: DangerLevel;
  readonly reason: string;
  readonly input: Json;
}

/**
 * Returns a call as a user sees it before approving it: the tool, its danger and the reason for it,
 * the preview, and all arguments.
 */
export function callLines(
  terminal: Pick<Terminal, 'columns'>,
  call: ConfirmableCall,
  whole = false,
): readonly string[] {
  const { toolName, danger, reason, input } = call;
  const width = widthOf(terminal);
  const body: string[] = [];
  for (const line of wrapWords(plainLine(reason), width)) body.push(INDENT + paint('dim', line));
  for (const text of previewLines(call))
    for (const line of pieces(seenText(text), width - 2))
      body.push(INDENT + paint(previewStyle(line), `> ${line}`));
  for (const line of shownArguments(input, width)) body.push(INDENT + line);
  const head = `${paint('bold', plainLine(toolName))}  ${paint(dangerStyle(danger), `danger ${danger}`)}`;
  if (whole || body.length <= MAX_LINES + 1) return [head, ...body];
  const hidden = body.length - MAX_LINES;
  return [head, ...body.slice(0, MAX_LINES), `${INDENT}… ${hidden} more lines are NOT shown`];
}

function previewStyle(line: string): Style {
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'bold';
}

/**
 * A call that waits for a user. `uncertain` means that the call was started, but its outcome is
 * unknown.
 */
type PendingCall =
  Pending | { readonly kind: 'uncertain'; readonly toolName: string; readonly input: Json };

/** Returns a pending call as a user sees it. */
export function pendingLines(
  terminal: Terminal,
  pending: PendingCall,
  whole = false,
): readonly string[] {
  if (pending.kind === 'approval') return callLines(terminal, pending, whole);
  const head = (note: string) =>
    `${paint('bold', plainLine(pending.toolName))}  ${paint('yellow', note)}`;
  if (pending.kind === 'question')
    return [head('asks'), INDENT + plainText(pending.question), ...choiceLines(pending)];
  const note =
    pending.kind === 'manual' ? 'is for you to do' : 'was started, and its outcome is unknown';
  const lines = shownArguments(pending.input, widthOf(terminal));
  return [head(note), ...lines.map((line) => INDENT + line)];
}

function widthOf({ columns }: Pick<Terminal, 'columns'>): number {
  return Math.min(columns, MAX_COLUMNS) - INDENT.length;
}

/** Matches a name that is short and plain enough for a column of names. */
const SIMPLE_NAME = /^[\w.-]{1,24}$/;
const LEAST_WIDTH = 16;

/**
 * Returns a call's arguments in lines of at most `width` columns.
 *
 * Every line starts with a bar: `│` for a new line of the text, `┆` for a wrapped line. With these
 * bars, text in arguments can't look like output of tooldex itself. Hidden characters are escaped.
 */
export function shownArguments(input: Json, width: number): readonly string[] {
  if (!isPlainObject(input) || !Object.keys(input).every((name) => SIMPLE_NAME.test(name)))
    return barred(JSON.stringify(input, null, 2), width);
  const names = Object.keys(input);
  if (names.length === 0) return ['no arguments'];
  const margin = Math.max(...names.map(({ length }) => length)) + 1;
  const lines: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    let label = name;
    for (const line of barred(fieldText(value), width - margin)) {
      lines.push(label.padEnd(margin) + line);
      label = '';
    }
  }
  return lines;
}

/** Returns a multi-line text unchanged, and everything else as JSON. */
function fieldText(value: unknown): string {
  if (typeof value === 'string' && value.includes('\n')) return value;
  const json = JSON.stringify(value);
  return json.length > 60 && typeof value === 'object' ? JSON.stringify(value, null, 2) : json;
}

function barred(text: string, width: number): string[] {
  const room = Math.max(LEAST_WIDTH, width - 2);
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    let bar = '│';
    for (const piece of pieces(seenText(line), room)) {
      lines.push(`${bar} ${piece}`);
      bar = '┆';
    }
  }
  return lines;
}

/** Returns a line in pieces that fit. Non-Latin characters may be two columns wide. */
function pieces(line: string, room: number): string[] {
  const lines = [''];
  let used = 0;
  for (const character of line) {
    const width = character.codePointAt(0)! >= 0x1100 ? 2 : 1;
    if (used + width > room) {
      lines.push('');
      used = 0;
    }
    lines[lines.length - 1] += character;
    used += width;
  }
  return lines;
}

/** Returns a question's choices, one per line, with their numbers. */
export function choiceLines({ options = [] }: Pick<Question, 'options'>): readonly string[] {
  return options.map(
    (choice, index) => `  ${paint('cyan', String(index + 1))} ${plainText(choice)}`,
  );
}
