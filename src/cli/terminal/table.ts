import { paint, plainLine, type Style, type Terminal } from './terminal.js';

/**
 * A table row: its values by heading, each with an optional style after the text. Names of tools
 * and servers are bold.
 */
export type Row = Readonly<
  Record<string, string | number | null | undefined | readonly [string, Style]>
>;

const GAP = '  ';
const LEAST_WIDTH = 4;
/**
 * The maximum width of prose. Longer lines are hard to follow, even if the terminal has room for
 * them.
 */
export const LONGEST_LINE = 110;

interface Cell {
  readonly text: string;
  readonly style: Style | undefined;
}

/**
 * Formats rows under headings. Each column is as wide as its longest value. If the table is wider
 * than the terminal, the widest columns shrink, and their values wrap.
 *
 * @param spare Headings of columns to leave out, in this order, if words would break otherwise.
 */
export function table(
  { columns }: Pick<Terminal, 'columns'>,
  rows: readonly Row[],
  [spare, ...more]: readonly string[] = [],
): string {
  const titles = Object.keys(rows[0] ?? {});
  const lines: Cell[][] = [titles.map((text) => ({ text, style: 'dim' }))];
  for (const row of rows) lines.push(titles.map((title) => cellOf(title, row[title])));
  const least = widthsOf(lines, ' ');
  const room = columns - GAP.length * (titles.length - 1);
  if (spare !== undefined && sumOf(least) > room) {
    const fewer = rows.map(({ [spare]: _, ...row }) => row);
    return table({ columns }, fewer, more);
  }
  const fitting = shrink(shrink(widthsOf(lines, '\n'), least, room), [], room);
  return lines.flatMap((cells) => [...linesOf(cells, fitting)]).join('\n');
}

function cellOf(title: string, value: Row[string]): Cell {
  const usual = /^(?:TOOL|SERVER)$/.test(title) ? 'bold' : undefined;
  const [text, style = usual] = [value ?? '–'].flat() as [unknown, Style?];
  return { text: plainLine(String(text)), style };
}

/** Returns the width of each column's longest text, or of the longest part of one. */
function widthsOf(lines: readonly (readonly Cell[])[], separator: string): readonly number[] {
  const widths: number[] = [];
  for (const cells of lines)
    for (const [at, { text }] of cells.entries())
      for (const { length } of text.split(separator))
        widths[at] = Math.max(widths[at] ?? LEAST_WIDTH, length);
  return widths;
}

/** Makes the widest columns narrower until the table fits, but not narrower than `least`. */
function shrink(
  widths: readonly number[],
  least: readonly number[],
  room: number,
): readonly number[] {
  const fitting = [...widths];
  while (sumOf(fitting) > room) {
    const shrinkable = fitting.map((width, at) => (width > (least[at] ?? LEAST_WIDTH) ? width : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    fitting[shrinkable.indexOf(widest)]! -= 1;
  }
  return fitting;
}

function* linesOf(cells: readonly Cell[], widths: readonly number[]): Generator<string> {
  const wrapped = cells.map(({ text }, at) => wrapWords(text, widths[at]!));
  const height = Math.max(...wrapped.map(({ length }) => length));
  for (let line = 0; line < height; line += 1) {
    const parts: string[] = [];
    for (const [at, { style }] of cells.entries())
      parts.push(padded(wrapped[at]![line] ?? '', style, widths[at]!));
    yield parts.join(GAP).trimEnd();
  }
}

function padded(text: string, style: Style | undefined, width: number): string {
  const space = ' '.repeat(width - text.length);
  return (style === undefined || text === '' ? text : paint(style, text)) + space;
}

const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);

/**
 * Wraps prose into lines of at most `width` characters, breaking between words. A word longer than
 * a line is broken too.
 */
export function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
    while (line.length > width) {
      lines.push(line.slice(0, width));
      line = line.slice(width);
    }
  }
  return [...lines, line];
}

/** Returns a number with a noun: `1 tool`, `2 tools`. */
export function amountOf(count: number, what: string, plural = `${what}s`): string {
  return `${count} ${count === 1 ? what : plural}`;
}

/** Returns how often each value occurs: `2 confirm`, `1 deny`. */
export function countsOf(values: readonly string[]): readonly string[] {
  return [...new Set(values)].map(
    (value) => `${values.filter((each) => each === value).length} ${value}`,
  );
}
