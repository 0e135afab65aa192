import { plainLine, paint, visibleLength, type Style, type Terminal } from './terminal.js';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly style?: (row: Row) => Style | undefined;
  readonly align?: 'left' | 'right';
  /** What happens if the terminal is too narrow: the column is dropped, or the last column is wrapped. Other columns are cut. */
  readonly narrow?: 'drop' | 'wrap';
}

interface Cell {
  readonly text: string;
  readonly style: Style | undefined;
}

const GAP = '  ';
/** The minimum width of wrapped text. Text that would be narrower, or has a longer word, goes below its row. */
const LEAST_WRAPPED = 36;
const LEAST_CUT = 4;
const INDENT = 4;
/** The maximum width of prose: longer lines are hard to follow, even if the terminal has room for them. */
export const LONGEST_LINE = 110;

/** Returns rows under headings. Each column is as wide as its longest value, and the table is at most as wide as the terminal. */
export function table<Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string {
  let shown = columns;
  let { lines, widths } = layOut(rows, shown);
  for (const dropped of columns.filter(({ narrow }) => narrow === 'drop').reverse()) {
    if (widthOf(widths) <= terminal.columns) break;
    shown = shown.filter((column) => column !== dropped);
    ({ lines, widths } = layOut(rows, shown));
  }
  const fit = ({ text, style }: Cell, index: number) => {
    const width = widths[index]!;
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
    const painted = style === undefined ? cut : paint(terminal, style, cut);
    const space = ' '.repeat(width - cut.length);
    return shown[index]!.align === 'right' ? space + painted : painted + space;
  };
  if (shown.at(-1)?.narrow !== 'wrap' || widthOf(widths) <= terminal.columns) {
    widths = shrunk(widths, terminal.columns);
    return lines.map((cells) => cells.map(fit).join(GAP).trimEnd()).join('\n');
  }

  widths = shrunk(widths.slice(0, -1), terminal.columns);
  const before = widthOf(widths) + GAP.length;
  const words = lines.flatMap((cells) => cells.at(-1)!.text.split(' '));
  const longestWord = Math.max(...words.map((word) => word.length));
  const below = terminal.columns - before < Math.max(LEAST_WRAPPED, longestWord);
  const margin = ' '.repeat(below ? INDENT : before);
  return lines
    .flatMap((cells, index) => {
      const head = cells.slice(0, -1).map(fit).join(GAP);
      const { text, style } = cells.at(-1)!;
      const wrapped = wrapWords(text, terminal.columns - margin.length).map((line) =>
        style === undefined ? line : paint(terminal, style, line),
      );
      if (below) return [head, ...(index === 0 ? [] : wrapped.map((line) => margin + line))];
      return wrapped.map((line, at) => (at === 0 ? head + GAP : margin) + line);
    })
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Returns all cells, the headings first, and the width that each column needs. */
function layOut<Row>(rows: readonly Row[], columns: readonly Column<Row>[]) {
  const lines: readonly (readonly Cell[])[] = [
    columns.map(({ title }) => ({ text: title, style: 'dim' as const })),
    ...rows.map((row) =>
      columns.map(({ value, style }) => ({ text: plainLine(value(row)), style: style?.(row) })),
    ),
  ];
  const widths = columns.map((_, index) =>
    Math.max(...lines.map((cells) => cells[index]!.text.length)),
  );
  return { lines, widths };
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/** Returns widths that fit together. The widest columns give way first. */
function shrunk(widths: readonly number[], columns: number): number[] {
  const narrower = [...widths];
  while (widthOf(narrower) > columns && Math.max(...narrower) > LEAST_CUT)
    narrower[narrower.lastIndexOf(Math.max(...narrower))]! -= 1;
  return narrower;
}

/** Returns pieces joined and broken at the terminal's width. Every further line starts with a margin. The pieces may be painted. */
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

/** Returns prose broken between words into lines of at most `width` characters. */
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

/** Returns a number with a noun: `1 tool`, `2 tools`. */
export function amountOf(count: number, what: string, plural = `${what}s`): string {
  return `${count} ${count === 1 ? what : plural}`;
}
