import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { publicMessage } from '../../src/core/public-message.js';

const shown = (message: unknown) => publicMessage({ message });

describe('publicMessage', () => {
  it('removes terminal colors and control characters', () => {
    expect(shown('\u001b[1m\u001b[31mNo key.\u001b[0m\n\nSet one.')).toBe('No key.');
    expect(shown('\u001b[0m\nafter\u0007 \u001b[38;5;196mred\u001b[0m\u0000')).toBe('after red');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => !/[\p{Cc}]/u.test(shown(text).replaceAll('\t', '')),
      ),
    );
  });

  it.each([
    'sk-proj-abcdef0123456789abcdef',
    `sk-${'a1'.repeat(200)}`,
    'ghp_abcdefABCDEF0123456789abcdefABCDEF0123',
    'github_pat_11ABCDEFG0123456789_abcdef',
    'glpat-abcdefgh12345678',
    'xoxb-123456789012-abcdefghijkl',
    'AKIAIOSFODNN7EXAMPLE',
    'ASIAIOSFODNN7EXAMPLE',
    `AIza${'B7'.repeat(18)}`,
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    `npm_${'aB3'.repeat(12)}`,
  ])('hides the token %s anywhere in the message', (token) => {
    for (const message of [
      token,
      `bad key ${token}!`,
      `"${token}"`,
      `key=${token}&x=1`,
      `user_${token}`,
      `(${token})`,
    ])
      expect(shown(message)).not.toContain(token.slice(-12));
  });

  it.each([
    ['password=hunter2 rest', 'hunter2'],
    ['DB_PASSWORD=hunter2', 'hunter2'],
    ['{"clientSecret": "hunter2"}', 'hunter2'],
    ["{'accessToken':'hunter2'}", 'hunter2'],
    ['passwd: "two words"', 'words'],
    ['X-Api-Key: hunter2', 'hunter2'],
    ['x-api-key: "a, b; hunter2"', 'hunter2'],
    ['Authorization: Basic aHVudGVyMg==', 'aHVudGVyMg'],
    ['authorization: Token hunter2', 'hunter2'],
    ['Authorization: Bearer hunter2', 'hunter2'],
    ['sent Bearer abcDEF123456', 'abcDEF'],
    ['Cookie: sid=hunter2; other=secret3', 'secret3'],
    ['set-cookie: sid=hunter2', 'hunter2'],
    ['postgres://ada:hunter2@db.example.com/x', 'hunter2'],
    ['redis://:hunter2@host', 'hunter2'],
    ['https://ada:p@hunter2@host/x', 'hunter2'],
    ['https://host/x?api_key=hunter2&b=1', 'hunter2'],
    ['https://host/x?X-Amz-Signature=hunter2', 'hunter2'],
    ['https://host/x?a=1&sig=hunter2#top', 'hunter2'],
    [`token=${'h'.repeat(600)}unter2`, 'unter2'],
  ])('hides the secret in %s', (message, secret) => {
    expect(shown(message)).not.toContain(secret);
    expect(shown(message)).toContain('[secret]');
  });

  it('never shows part of a secret where the message is truncated', () => {
    for (let before = 950; before < 1_001; before++) {
      expect(shown(`${'x'.repeat(before)} password=hunter2hunter2`)).not.toContain('hunter2h');
      expect(shown(`${'x'.repeat(before)} https://ada:hunter2hunter2@host`)).not.toContain(
        'hunter2h',
      );
    }
  });

  it.each([
    [
      "ENOENT: no such file or directory, open '/home/ada/secret dir/my file.txt'",
      "ENOENT: no such file or directory, open 'my file.txt'",
    ],
    ['cannot read /home/ada/a.txt: denied', 'cannot read a.txt: denied'],
    ['/home/ada/a.txt', 'a.txt'],
    ['at run (/home/ada/a.ts:3:7)', 'at run (a.ts:3:7)'],
    ['path=/home/ada/a.txt', 'path=a.txt'],
    ['cwd:/home/ada/a.txt', 'cwd:a.txt'],
    ['in /home/ada/', 'in ada'],
    ['"C:\\Users\\Ada Lovelace\\a.txt"', '"a.txt"'],
    ['open C:\\Users\\ada\\a.txt now', 'open a.txt now'],
    ['open C:\\\\Users\\\\ada\\\\a.txt now', 'open a.txt now'],
    ['open C:/Users/ada/a.txt now', 'open a.txt now'],
    ['open \\\\server\\share\\a.txt now', 'open a.txt now'],
    ['imported from file:///home/ada/x/a.js', 'imported from a.js'],
    ["'file:///C:/Users/ada/a.js'", "'a.js'"],
    ['file:/home/ada/a.js', 'file:a.js'],
    ['[/home/ada/a.txt,/home/ada/b.txt]', '[a.txt,b.txt]'],
    ['`/home/ada/a.txt`', '`a.txt`'],
  ])('shows %s as %s', (message, expected) => expect(shown(message)).toBe(expected));

  it.each([
    'see https://example.com/docs/a/b?x=1#y',
    'http://127.0.0.1:8080/a/b and http://[::1]:80/a/b',
    'src/core/clock.ts and ./a/b, ../a/b, ~/a/b',
    'matched **/src/*.ts and a-b/c/d.ts and föö/bar/baz',
    '@scope/name/file and $HOME/a/b',
    '3/4 of them, and/or 1/2/3',
    'application/json; charset=utf-8',
    '</div> // comment',
    '/tmp is full',
    'expected at most 5 tokens, found 6',
    'maxTokens: 4096',
    'basic authentication is required',
    'Unexpected token } in JSON',
    'token: expected text, found a list of 2',
    'password: required',
    'mailto:ada@example.com',
    'git@example.com:ada/x.git and ssh://git@example.com/ada/x.git',
  ])('shows %s unchanged', (message) => expect(shown(message)).toBe(message));

  it('returns a single line of at most 1,001 characters without splitting surrogate pairs', () => {
    expect(shown('first\nsecond')).toBe('first');
    expect(shown('\n first\r\nsecond')).toBe('first');
    expect(shown('x'.repeat(5_000))).toBe(`${'x'.repeat(1_000)}…`);
    expect(shown(`${'x'.repeat(999)}🔥🔥`)).toBe(`${'x'.repeat(999)}…`);
  });

  it('returns a message for anything that can be thrown', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap');
        },
      },
    );
    for (const thrown of [
      undefined,
      null,
      5,
      {},
      { message: 5 },
      { message: '' },
      { message: '  \n ' },
      hostile,
      Symbol('x'),
      () => 'x',
      {
        get message() {
          throw new Error('no');
        },
      },
    ])
      expect(publicMessage(thrown)).toBe('no message');
    expect(publicMessage('as text')).toBe('as text');
    expect(publicMessage(new Error('as an error'))).toBe('as an error');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => void expect(shown(text).length).toBeLessThanOrEqual(1_001),
      ),
    );
  });
});
