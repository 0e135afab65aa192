import { paint, plainLine, type Style, type Terminal } from './terminal.js';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly style?: (row: Row) => Style | undefined;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/** Rows under headings, each column as wide as its longest value; the last one is cut to the terminal. */
export function table<Row>(terminal: Terminal, rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => plainLine(value(row))));
  const widths = columns.map(({ title }, column) => Math.max(title.length, ...cells.map((line) => line[column]!.length)));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  widths[widths.length - 1] = Math.max(8, Math.min(widths.at(-1)!, terminal.columns - before));

  const fit = (text: string, column: number) => {
    const width = widths[column]!;
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
    return columns[column]!.align === 'right' ? cut.padStart(width) : cut.padEnd(width);
  };
  const head = columns.map(({ title }, column) => paint(terminal, 'dim', fit(title, column))).join(GAP);
  const body = rows.map((row, index) =>
    columns.map(({ style }, column) => {
      const text = fit(cells[index]![column]!, column);
      const wanted = style?.(row);
      return wanted === undefined ? text : paint(terminal, wanted, text);
    }).join(GAP),
  );
  return [head, ...body].map((line) => line.trimEnd()).join('\n');
}

/** Words joined by commas and broken at the terminal's width, every line after a margin. */
export function wrapList(terminal: Terminal, words: readonly string[], margin: number): string {
  const lines: string[] = [];
  let line = '';
  for (const [index, word] of words.entries()) {
    const piece = index < words.length - 1 ? `${word}, ` : word;
    if (line !== '' && margin + line.length + piece.trimEnd().length > Math.min(terminal.columns, 110)) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  return [...lines, line].join(`\n${' '.repeat(margin)}`);
}
