import { paint, plainLine, visibleLength, type Style, type Terminal } from './terminal.js';

/** A row of a table: its values by heading, each perhaps with a style. */
export type Row = Readonly<Record<string, string | readonly [text: string, style: Style]>>;

const GAP = '  ';
/** The minimum width of wrapped text. Text that would be narrower, or has a longer word, goes below its row. */
const LEAST_WRAPPED = 36;
const LEAST_CUT = 4;
const INDENT = 4;
/** The maximum width of prose: longer lines are hard to follow, even if the terminal has room for them. */
export const LONGEST_LINE = 110;

/**
 * Returns rows under headings. Each column is as wide as its longest value, and numbers are aligned to the right. If the table
 * is wider than the terminal, some columns are dropped, then the last one is wrapped, and the others are cut.
 *
 * @param droppable the columns that may be dropped, the first one first.
 */
export function table(
  terminal: Terminal,
  rows: readonly Row[],
  droppable: readonly string[] = [],
): string {
  let titles = Object.keys(rows[0] ?? {});
  const lines = [
    Object.fromEntries(titles.map((title) => [title, [title, 'dim']])) as Row,
    ...rows,
  ].map((row) => (title: string) => {
    const value = row[title]!;
    const [text, style] = typeof value === 'string' ? [value] : value;
    return { text: plainLine(text), style };
  });
  const widths = new Map(
    titles.map((title) => [title, Math.max(...lines.map((cell) => cell(title).text.length))]),
  );
  const widthOf = (of: readonly string[]) =>
    of.reduce((sum, title) => sum + widths.get(title)! + GAP.length, 0);
  const isWide = () => widthOf(titles) - GAP.length > terminal.columns;
  for (const title of droppable) if (isWide()) titles = titles.filter((each) => each !== title);
  const last = titles.at(-1)!;
  const wraps = isWide();
  const others = wraps ? titles.slice(0, -1) : titles;
  // The widest columns give way first.
  while (widthOf(others) - GAP.length > terminal.columns) {
    const widest = others.reduce((a, b) => (widths.get(b)! >= widths.get(a)! ? b : a));
    if (widths.get(widest)! <= LEAST_CUT) break;
    widths.set(widest, widths.get(widest)! - 1);
  }
  const isNumber = (title: string) =>
    lines.slice(1).every((cell) => /^[\d.]+$/.test(cell(title).text));
  const numbers = new Set(titles.filter(isNumber));
  const painted = (text: string, style: Style | undefined) =>
    style === undefined ? text : paint(terminal, style, text);
  const longestWord = Math.max(
    ...lines.flatMap((cell) =>
      cell(last)
        .text.split(' ')
        .map((word) => word.length),
    ),
  );
  const before = widthOf(others);
  const below = terminal.columns - before < Math.max(LEAST_WRAPPED, longestWord);
  const margin = ' '.repeat(below ? INDENT : before);
  return lines
    .flatMap((cell, row) => {
      const start = others.map((title) => {
        const { text, style } = cell(title);
        const width = widths.get(title)!;
        const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
        const space = ' '.repeat(width - cut.length);
        return numbers.has(title) ? space + painted(cut, style) : painted(cut, style) + space;
      });
      if (!wraps) return [start.join(GAP)];
      const { text, style } = cell(last);
      const wrapped = wrapWords(text, terminal.columns - margin.length);
      const shown = wrapped.map((line) => painted(line, style));
      if (below) return [start.join(GAP), ...(row === 0 ? [] : shown.map((line) => margin + line))];
      return shown.map((line, index) => (index === 0 ? [...start, line].join(GAP) : margin + line));
    })
    .map((line) => line.trimEnd())
    .join('\n');
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
