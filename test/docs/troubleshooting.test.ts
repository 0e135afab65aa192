import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { TOOL_ERROR_CODES } from '../../src/core/errors.js';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(resolve(root, path), 'utf8');
const sections = new Map(
  read('docs/troubleshooting.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);
const rowsOf = (section: string) =>
  sections
    .get(section)!
    .split('\n')
    .filter((line) => /^\| (?!---|Code|Rule|You see)/.test(line))
    .map((line) => line.slice(2, -2).split(' | '));
const source = readdirSync(resolve(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => read(`src/${file}`))
  .join('\n');

it('docs/troubleshooting.md has one row for each error code, with its cause and a fix', () => {
  const rows = rowsOf('Error codes');
  expect(rows.map(([code]) => code)).toEqual(TOOL_ERROR_CODES.map((code) => `\`${code}\``));
  for (const [code, cause, fix] of rows)
    expect([cause!.length > 20, fix!.length > 5], code).toEqual([true, true]);
});

it('docs/troubleshooting.md has a row for each built-in rule that denies calls', () => {
  const named = ['built-in-checks', 'safety-policy'].flatMap((file) =>
    [...read(`src/safety/${file}.ts`).matchAll(/rule: '([a-z-]+)'/g)].map(([, rule]) => rule!),
  );
  const asking = ['axes', 'flow-influenced']; // `flow-leak` asks, too, but users often deny it.
  expect(
    rowsOf('Denied calls')
      .map(([rule]) => rule!.replaceAll('`', ''))
      .sort(),
  ).toEqual([...new Set(named)].filter((rule) => !asking.includes(rule)).sort());
});

it('the messages of tooldex that docs/troubleshooting.md quotes are in the code', () => {
  const quoted = [...sections.keys()]
    .slice(2)
    .filter((section) => section !== 'Messages of other programs')
    .flatMap((section) => rowsOf(section).map(([message]) => /^`([^`]+)`$/.exec(message!)?.[1]))
    .filter((message) => message !== undefined);
  expect(quoted.length).toBeGreaterThan(5);
  for (const message of quoted)
    for (const part of message.split(/\{\w+\}|…/)) expect(source, message).toContain(part.trim());
});
