import { describe, expect, it } from 'vitest';
import { table, wrapList } from '../../src/cli/terminal/table.js';
import { paint } from '../../src/cli/terminal/terminal.js';

const terminal = (columns: number, color = false) => ({
  out: () => {},
  err: () => {},
  color,
  columns,
});
const rows = [
  { name: 'short', text: 'a message of some words that say what to fix' },
  { name: 'a_rather_long_name', text: 'another' },
];
const columns = [
  { title: 'NAME', value: ({ name }: (typeof rows)[0]) => name, style: () => 'bold' as const },
  { title: 'TEXT', value: ({ text }: (typeof rows)[0]) => text, narrow: 'wrap' as const },
];

describe('table', () => {
  it('continues the last column on further lines, or below its row where the terminal is too narrow for that', () => {
    expect(table(terminal(Infinity), rows, columns).split('\n')).toHaveLength(3);
    expect(table(terminal(60), rows, columns)).toBe(
      [
        'NAME                TEXT',
        'short               a message of some words that say what to',
        '                    fix',
        'a_rather_long_name  another',
      ].join('\n'),
    );
    expect(table(terminal(40), rows, columns)).toBe(
      [
        'NAME',
        'short',
        '    a message of some words that say',
        '    what to fix',
        'a_rather_long_name',
        '    another',
      ].join('\n'),
    );
  });

  it('goes below for a word that is wider than the column', () => {
    const path = `${'long/'.repeat(9)}path.ts:`;
    expect(
      table(terminal(60), [{ name: 'a_rather_long_name', text: `${path} what is wrong` }], columns),
    ).toBe(`NAME\na_rather_long_name\n    ${path}\n    what is wrong`);
  });

  it('has the same layout in colours', () => {
    for (const width of [40, 60, 200]) {
      expect(
        table(terminal(width, true), rows, columns)
          // eslint-disable-next-line no-control-regex
          .replace(/\u001b\[\d+m/g, '')
          .replace(/ +$/gm, ''),
      ).toBe(table(terminal(width), rows, columns));
    }
  });

  it('leaves out what may go, the last first, and then cuts the widest', () => {
    const letters = ['a', 'b', 'c'].map((letter, index) => ({
      title: letter.toUpperCase(),
      value: () => letter.repeat(12),
      ...(index > 0 && { narrow: 'drop' as const }),
    }));
    const heads = [40, 39, 25].map((width) =>
      table(terminal(width), [1], letters).split('\n')[0]!.replace(/ +/g, ' '),
    );
    expect(heads).toEqual(['A B C', 'A B', 'A']);
    expect(table(terminal(10), [1], letters)).toBe(`A\n${'a'.repeat(9)}…`);
  });
});

describe('wrapList', () => {
  it('breaks between pieces and does not count their colours', () => {
    const coloured = terminal(12, true);
    const pieces = ['aa 1', 'bb 2', 'cc 3'].map((piece) => paint(coloured, 'cyan', piece));
    expect(wrapList(coloured, pieces, 2, '  ')).toBe(`${pieces[0]}  ${pieces[1]}\n  ${pieces[2]}`);
  });
});
