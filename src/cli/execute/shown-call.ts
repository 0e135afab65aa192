import type { DangerLevel } from '../../core/enums.js';
import { digestOf, isPlainObject, type Json } from '../../core/plain-data.js';
import { previewLines } from '../../safety/approvals.js';
import type { PendingApproval } from '../../safety/calls.js';
import { choicesOf, type Question } from '../../tool/question.js';
import { dangerStyle } from '../terminal/axis-columns.js';
import { wrapWords } from '../terminal/table.js';
import {
  paint,
  plainLine,
  plainText,
  seenText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';

/** The most columns of a question: where nobody reads standard output, its width is not that of the user's terminal. */
const MOST_COLUMNS = 80;
const INDENT = '  ';

/** A call that the user is asked about. */
export interface ConfirmableCall extends Pick<PendingApproval, 'preview' | 'noPreview'> {
  readonly toolName: string;
  readonly danger: DangerLevel;
  readonly reason: string;
  readonly input: Json;
}

/** Returns a call as a user sees it before approving it: the tool, how dangerous this call is and why, and all arguments. */
export function callLines(
  terminal: Terminal,
  call: ConfirmableCall,
  options: { readonly whole?: boolean } = {},
): readonly string[] {
  const { toolName, danger, reason, input } = call;
  const preview = shownPreview(terminal, call, options.whole);
  const [head, ...rest] = callBlock(
    terminal,
    toolName,
    paint(terminal, dangerStyle(danger), `danger ${danger}`),
    input,
    options,
  );
  return [
    head!,
    ...wrapWords(plainLine(reason), widthOf(terminal)).map(
      (line) => `${INDENT}${paint(terminal, 'dim', line)}`,
    ),
    ...preview,
    ...rest,
  ];
}

/** Returns true for a call of which less is shown at first. */
export function isLong(call: ConfirmableCall): boolean {
  return (
    seenText(JSON.stringify(call.input)).length > SHOWN_WHOLE ||
    previewLines(call).reduce(
      (lines, line) => lines + Math.ceil((line.length + 1) / LEAST_WIDTH_OF_PREVIEW),
      0,
    ) > PREVIEW_LINES
  );
}

/** Returns what the call would do, each line behind a mark; the beginning of a long one, unless the whole is asked for. */
function shownPreview(terminal: Terminal, call: ConfirmableCall, whole = false): readonly string[] {
  const lines = previewLines(call).flatMap((line) => pieces(seenText(line), widthOf(terminal) - 2));
  const shown = (whole ? lines : lines.slice(0, PREVIEW_LINES)).map(
    (line) => `${INDENT}${paint(terminal, styleOf(line), `> ${line}`)}`,
  );
  return shown.length === lines.length
    ? shown
    : [...shown, `${INDENT}${lines.length - shown.length} lines of the preview that are NOT shown`];
}

/** Added and removed lines of a diff have their usual colours. */
function styleOf(line: string): Style {
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'bold';
}

/** Returns the name of a tool with a note, and the arguments of a call below. */
export function callBlock(
  terminal: Terminal,
  toolName: string,
  note: string,
  input: Json,
  options: { readonly whole?: boolean } = {},
): readonly string[] {
  return [
    `${paint(terminal, 'bold', plainLine(toolName))}  ${note}`,
    ...shownArguments(input, widthOf(terminal), options).map((line) => INDENT + line),
  ];
}

function widthOf(terminal: Terminal): number {
  return Math.min(terminal.columns, MOST_COLUMNS) - INDENT.length;
}

/** The characters of JSON that are shown whole, and of the beginning and end of what is longer. */
const SHOWN_WHOLE = 4_096;
const SHOWN_ENDS = 1_024;
/** The lines of a preview that are shown at first. */
const PREVIEW_LINES = 24;
/** The least width that is reckoned with: on a wider terminal the whole may be offered though nothing is left out. */
const LEAST_WIDTH_OF_PREVIEW = 60;
/** A name that stands beside others in a column of their own. */
const SIMPLE_NAME = /^[\w.-]{1,24}$/;
const LEAST_WIDTH = 16;

/**
 * Returns a call's arguments for the user who is asked about it, in lines of at most `width` columns.
 *
 * Every line of them stands behind a bar, `│` where a line of the text begins and `┆` where it goes on, so that no text can
 * pass for what the program says. What cannot be seen is written out. Only arguments of more than 4,096 characters are
 * shortened, which the first line then says, unless `whole` is set.
 */
export function shownArguments(
  input: Json,
  width: number,
  { whole = false } = {},
): readonly string[] {
  const json = seenText(JSON.stringify(input));
  if (json.length > SHOWN_WHOLE && !whole) {
    const hidden = json.length - 2 * SHOWN_ENDS;
    return [
      `${json.length} characters of arguments, SHA-256 ${digestOf(input)}`,
      `the first ${SHOWN_ENDS}:`,
      ...barred(json.slice(0, SHOWN_ENDS), width),
      `${hidden} characters that are NOT shown, then the last ${SHOWN_ENDS}:`,
      ...barred(json.slice(-SHOWN_ENDS), width),
    ];
  }
  if (!isPlainObject(input) || !Object.keys(input).every((name) => SIMPLE_NAME.test(name)))
    return barred(seenLines(JSON.stringify(input, null, 2)), width);
  const fields = Object.entries(input);
  if (fields.length === 0) return ['without arguments'];
  const margin = Math.max(...fields.map(([name]) => name.length)) + 1;
  return fields.flatMap(([name, value]) =>
    barred(fieldText(value), width - margin).map(
      (line, index) => (index === 0 ? name : '').padEnd(margin) + line,
    ),
  );
}

/** Returns texts of several lines as such, everything else as JSON. */
function fieldText(value: unknown): string {
  if (typeof value === 'string' && value.includes('\n')) return seenLines(value);
  const json = JSON.stringify(value);
  return seenLines(
    json.length > 60 && typeof value === 'object' ? JSON.stringify(value, null, 2) : json,
  );
}

function seenLines(text: string): string {
  return text.split('\n').map(seenText).join('\n');
}

function barred(text: string, width: number): string[] {
  const room = Math.max(LEAST_WIDTH, width - 2);
  return text
    .split('\n')
    .flatMap((line) =>
      pieces(line, room).map((piece, index) => `${index === 0 ? '│' : '┆'} ${piece}`),
    );
}

/** Returns a line in pieces that fit. Characters after the Latin ones may be two columns wide. */
function pieces(line: string, room: number): string[] {
  const lines: string[] = [];
  let piece = '';
  let used = 0;
  for (const character of line) {
    const wide = character.codePointAt(0)! >= 0x1100 ? 2 : 1;
    if (used + wide > room) {
      lines.push(piece);
      piece = '';
      used = 0;
    }
    piece += character;
    used += wide;
  }
  return [...lines, piece];
}

/** Returns the choices of a question, one a line. */
export function choiceLines(
  terminal: Terminal,
  question: Question,
  isNumbered = false,
): readonly string[] {
  return choicesOf(question).map(({ value, label }, index) => {
    const mark = isNumbered ? `${paint(terminal, 'cyan', String(index + 1))} ` : '-';
    return `  ${mark} ${plainText(label)}${label === value || isNumbered ? '' : paint(terminal, 'dim', `  ${plainText(value)}`)}`;
  });
}
