import { describe, expect, it } from 'vitest';
import { table, wrapList } from '../../src/cli/terminal/table.js';
import { paint } from '../../src/cli/terminal/terminal.js';

const terminal = (columns: number, color = false) => ({
  out: () => {},
  err: () => {},
  write: () => {},
  color,
  columns,
});
const rows = [
  { NAME: ['short', 'bold'], TEXT: 'a message of some words that say what to fix' },
  { NAME: ['a_rather_long_name', 'bold'], TEXT: 'another' },
] as const;

describe('table', () => {
  it('continues the last column on further lines, or below its row where the terminal is too narrow for that', () => {
    expect(table(terminal(Infinity), rows).split('\n')).toHaveLength(3);
    expect(table(terminal(60), rows)).toBe(
      [
        'NAME                TEXT',
        'short               a message of some words that say what to',
        '                    fix',
        'a_rather_long_name  another',
      ].join('\n'),
    );
    expect(table(terminal(40), rows)).toBe(
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
      table(terminal(60), [{ NAME: 'a_rather_long_name', TEXT: `${path} what is wrong` }]),
    ).toBe(`NAME\na_rather_long_name\n    ${path}\n    what is wrong`);
  });

  it('has the same layout in colours', () => {
    for (const width of [40, 60, 200]) {
      expect(
        table(terminal(width, true), rows)
          // eslint-disable-next-line no-control-regex
          .replace(/\u001b\[\d+m/g, '')
          .replace(/ +$/gm, ''),
      ).toBe(table(terminal(width), rows));
    }
  });

  it('leaves out what may go, the last first, and then cuts the widest', () => {
    const row = { A: 'a'.repeat(12), B: 'b'.repeat(12), C: 'c'.repeat(12) };
    const heads = [40, 39, 25].map((width) =>
      table(terminal(width), [row], ['C', 'B']).split('\n')[0]!.replace(/ +/g, ' '),
    );
    expect(heads).toEqual(['A B C', 'A B', 'A']);
    const two = { A: row.A, B: '1' };
    expect(table(terminal(10), [two, two])).toBe('A\naaaaaaaaa…\n    1\naaaaaaaaa…\n    1');
  });

  it('aligns numbers to the right', () => {
    expect(
      table(terminal(80), [
        { N: '1.5', T: 'x' },
        { N: '10', T: 'y' },
      ]),
    ).toBe('  N  T\n1.5  x\n 10  y');
  });
});

describe('wrapList', () => {
  it('breaks between pieces and does not count their colours', () => {
    const coloured = terminal(12, true);
    const pieces = ['aa 1', 'bb 2', 'cc 3'].map((piece) => paint(coloured, 'cyan', piece));
    expect(wrapList(coloured, pieces, 2, '  ')).toBe(`${pieces[0]}  ${pieces[1]}\n  ${pieces[2]}`);
  });
});
