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

/**
 * Formats rows under headings. Each column is as wide as its longest value. If the table is wider
 * than the terminal, the widest columns shrink, and their values wrap.
 *
 * @param spare Headings of columns to leave out, in this order, if words would break otherwise.
 */
export function table(
  terminal: Pick<Terminal, 'columns'>,
  rows: readonly Row[],
  [spare, ...more]: readonly string[] = [],
): string {
  const titles = Object.keys(rows[0] ?? {});
  const heading = titles.map((title) => [title, [title, 'dim']]);
  const lines = [Object.fromEntries(heading) as Row, ...rows].map((row) =>
    titles.map((title) => {
      const usual = /^(?:TOOL|SERVER)$/.test(title) ? 'bold' : undefined;
      const [text, style = usual] = [row[title] ?? '–'].flat() as [unknown, Style?];
      return { text: plainLine(String(text)), style };
    }),
  );
  const widths = titles.map((_, at) => Math.max(...lines.map((cells) => cells[at]!.text.length)));
  const room = terminal.columns - GAP.length * (titles.length - 1);
  // Breaks words only as a last resort.
  const words = (at: number) => lines.flatMap((cells) => cells[at]!.text.split(' '));
  const least = titles.map((_, at) => Math.max(...words(at).map(({ length }) => length)));
  if (spare !== undefined && sumOf(least) > room) {
    const fewer = rows.map(({ [spare]: _, ...row }) => row);
    return table(terminal, fewer, more);
  }
  while (sumOf(widths) > room) {
    const order = widths.map((width, at) => {
      if (width <= LEAST_WIDTH) return 0;
      return width > least[at]! ? width + terminal.columns : width;
    });
    const widest = order.indexOf(Math.max(...order));
    if (order[widest] === 0) break;
    widths[widest]! -= 1;
  }
  return lines
    .flatMap((cells) => {
      const wrapped = cells.map(({ text }, at) => wrapWords(text, widths[at]!));
      const height = Math.max(...wrapped.map(({ length }) => length));
      return Array.from({ length: height }, (_, line) =>
        cells
          .map(({ style }, at) => {
            const text = wrapped[at]![line] ?? '';
            const space = ' '.repeat(widths[at]! - text.length);
            return (style === undefined || text === '' ? text : paint(style, text)) + space;
          })
          .join(GAP)
          .trimEnd(),
      );
    })
    .join('\n');
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
