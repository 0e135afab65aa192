import { describe, expect, it } from 'vitest';
import { table } from '../../src/cli/terminal/table.js';
import { asShown } from '../../src/cli/terminal/terminal.js';

const rows = [
  { NAME: ['short', 'bold'], TEXT: 'a message of some words that say what to fix' },
  { NAME: ['a_rather_long_name', 'bold'], TEXT: undefined },
] as const;
const shown = (columns: number) => asShown(false, table({ columns }, rows)).split('\n');

describe('table', () => {
  it('gives each column the width of its longest value, and shows a missing value as a dash', () => {
    expect(shown(Infinity)).toEqual([
      'NAME                TEXT',
      'short               a message of some words that say what to fix',
      'a_rather_long_name  –',
    ]);
  });

  it('continues values on further lines if the terminal is too narrow, also words that are too long', () => {
    expect(shown(40)).toEqual([
      'NAME                TEXT',
      'short               a message of some',
      '                    words that say what',
      '                    to fix',
      'a_rather_long_name  –',
    ]);
    expect(shown(16)).toEqual([
      'NAME     TEXT',
      'short    a',
      '         message',
      '         of some',
      '         words',
      '         that',
      '         say',
      '         what to',
      '         fix',
      'a_rathe  –',
      'r_long_',
      'name',
    ]);
  });
});
