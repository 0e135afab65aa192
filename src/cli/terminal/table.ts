import { stripVTControlCharacters } from 'node:util';
import { plainLine, paint, type Style, type Terminal } from './terminal.js';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly style?: (row: Row) => Style | undefined;
  readonly align?: 'left' | 'right';
  /** Tells what happens where the terminal is too narrow: left out, or, for the last column, continued on further lines. Otherwise cut. */
  readonly narrow?: 'drop' | 'wrap';
}

const GAP = '  ';
/** The fewest columns of wrapped text: narrower text goes below its row, and so does text with a word that is wider than its column. */
const LEAST_WRAPPED = 36;
const LEAST_CUT = 4;
const INDENT = 4;
/** The most columns of a line: longer ones are hard to follow, also where there is room for them. */
export const LONGEST_LINE = 110;

/** Returns rows under headings, each column as wide as its longest value and all of them as wide as the terminal at most. */
export function table<Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string {
  const natural = new Map(
    columns.map((column) => [
      column,
      Math.max(column.title.length, ...rows.map((row) => plainLine(column.value(row)).length)),
    ]),
  );
  const widthOf = (shown: readonly Column<Row>[]) =>
    shown.reduce((sum, column) => sum + natural.get(column)!, GAP.length * (shown.length - 1));

  let shown = columns;
  for (const column of columns.filter(({ narrow }) => narrow === 'drop').reverse()) {
    if (widthOf(shown) > terminal.columns) shown = shown.filter((each) => each !== column);
  }
  const last = shown.at(-1);
  if (last?.narrow !== 'wrap' || widthOf(shown) <= terminal.columns)
    return linesOf(terminal, rows, shown, cutWidths(terminal, shown, natural)).join('\n');

  const others = shown.slice(0, -1);
  const widths = cutWidths(terminal, others, natural);
  const before = widths.reduce((sum, width) => sum + width + GAP.length, 0);
  const longestWord = Math.max(
    0,
    ...rows.flatMap((row) =>
      plainLine(last.value(row))
        .split(' ')
        .map((word) => word.length),
    ),
  );
  const below = terminal.columns - before < Math.max(LEAST_WRAPPED, longestWord);
  const margin = below ? INDENT : before;
  const [head, ...body] = linesOf(terminal, rows, others, widths);
  const wrapped = rows.map((row) => {
    const style = last.style?.(row);
    return wrapWords(plainLine(last.value(row)), terminal.columns - margin).map((line) =>
      style === undefined ? line : paint(terminal, style, line),
    );
  });
  const indented = (lines: readonly string[]) =>
    lines.map((line) => `\n${' '.repeat(margin)}${line}`).join('');
  if (below)
    return [head!, ...body.map((line, index) => line + indented(wrapped[index]!))].join('\n');
  // A row's own line ends where its last value does; what is painted has no other end to measure.
  const padded = (line: string) => line + ' '.repeat(Math.max(0, before - visibleLength(line)));
  return [
    padded(head!) + paint(terminal, 'dim', last.title),
    ...body.map(
      (line, index) =>
        padded(line) + (wrapped[index]![0] ?? '') + indented(wrapped[index]!.slice(1)),
    ),
  ].join('\n');
}

/** Returns the widths of the values; where they are too wide together, the widest columns give way first. */
function cutWidths<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  natural: ReadonlyMap<Column<Row>, number>,
): number[] {
  const widths = columns.map((column) => natural.get(column)!);
  let excess =
    widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - terminal.columns;
  for (; excess > 0; excess -= 1) {
    const widest = Math.max(...widths);
    if (widest <= LEAST_CUT) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

function linesOf<Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  widths: readonly number[],
): string[] {
  const fit = (text: string, index: number) => {
    const width = widths[index]!;
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
    if (columns[index]!.align === 'right') return cut.padStart(width);
    return index === columns.length - 1 ? cut : cut.padEnd(width);
  };
  const head = columns
    .map(({ title }, index) => paint(terminal, 'dim', fit(title, index)))
    .join(GAP);
  const body = rows.map((row) =>
    columns
      .map(({ value, style }, index) => {
        const text = fit(plainLine(value(row)), index);
        const wanted = style?.(row);
        return wanted === undefined ? text : paint(terminal, wanted, text);
      })
      .join(GAP),
  );
  return [head, ...body].map((line) => line.trimEnd());
}

/** Returns pieces joined and broken between each other at the terminal's width, every further line after a margin. They may be painted. */
export function wrapList(
  terminal: Terminal,
  pieces: readonly string[],
  margin: number,
  separator = ', ',
): string {
  const end = Math.min(terminal.columns, LONGEST_LINE);
  const lines: string[] = [];
  let line = '';
  for (const [index, each] of pieces.entries()) {
    const piece = index < pieces.length - 1 ? each + separator : each;
    if (line !== '' && margin + visibleLength(line + piece.trimEnd()) > end) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  return [...lines, line].join(`\n${' '.repeat(margin)}`);
}

/** Returns prose broken between words, in lines of at most so many characters. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Returns a number with what it counts. */
export function amountOf(count: number, what: string, plural = `${what}s`): string {
  return `${count} ${count === 1 ? what : plural}`;
}

/** Returns how many characters are seen: the colours that `paint` adds are not. */
export function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
