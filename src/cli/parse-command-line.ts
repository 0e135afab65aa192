import { parseArgs } from 'node:util';
import { suggestNames, suggestValue } from '../core/issues.js';
import type { Command } from './command.js';
import { flag, given, type Option, type Options } from './options.js';
import { wrongUsage } from './terminal/wrong-usage.js';

/** The options of every command. */
export const COMMON_OPTIONS = {
  json: flag('print JSON'),
  help: flag('show this help'),
} satisfies Options;

/** Returns an option as it's typed: `--dry-run` for `dryRun`. */
export const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

interface ParsedLine {
  readonly options: Readonly<Record<string, unknown>>;
  readonly words: readonly string[];
}

/**
 * Splits a command line into options and operands.
 *
 * @param lenient takes unknown options, for reading a command line whose command isn't known yet.
 * @throws ToolError `INVALID_ARGUMENT` that says what is wrong, and what was probably meant.
 */
export function parseCommandLine(
  args: readonly string[],
  table: Options,
  { lenient = false, advice = '' } = {},
): ParsedLine {
  const byFlag = new Map(Object.keys(table).map((name) => [flagOf(name), name]));
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(table).map(([name, { value }]) => [
        flagOf(name).slice(2),
        {
          type: value?.startsWith('<') === true ? 'string' : 'boolean',
          ...(name === 'help' && { short: 'h' }),
        },
      ]),
    ),
  });
  const values: Record<string, unknown> = {};
  const words: string[] = [];
  /** The option that may take the next word as its value. */
  let open: { readonly name: string; readonly option: Option; readonly index: number } | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') {
      const isValue =
        open?.index === token.index - 1 && open.option.choices?.includes(token.value) === true;
      if (isValue) values[open!.name] = token.value;
      else words.push(token.value);
    }
    if (token.kind !== 'option') continue;
    const typed = `--${token.name}`;
    const name = byFlag.get(typed);
    if (name === undefined) {
      if (lenient) continue;
      const [meant] = suggestNames(typed, [...byFlag.keys()]);
      const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
      throw wrongUsage(`Unknown option: ${token.rawName}.${hint || advice}`);
    }
    const option = table[name]! as Option;
    const { value } = token;
    if (lenient && value === undefined && option.value?.startsWith('<') === true) continue;
    values[name] = valueOf(typed, option, value, token.inlineValue === true, values[name], lenient);
    if (value === undefined && option.alone !== undefined)
      open = { name, option, index: token.index };
  }
  if (!lenient) checkRules(table, values);
  for (const [name, { env, default: usual }] of Object.entries(table) as [string, Option][])
    values[name] ??= (env === undefined ? undefined : process.env[env]) ?? usual;
  return { options: values, words };
}

function valueOf(
  typed: string,
  option: Option,
  value: string | undefined,
  isInline: boolean,
  before: unknown,
  lenient: boolean,
): unknown {
  const { choices, many, read = (each: string) => each } = option;
  if (value === undefined && option.value?.startsWith('<') !== true) return option.alone ?? true;
  if (option.value === undefined) throw wrongUsage(`${typed} takes no value.`);
  if (value === undefined || (!isInline && /^-./.test(value)))
    throw wrongUsage(`${typed} needs a value: ${typed} ${option.value}.`);
  if (lenient) return value;
  const parts = many === 'commas' ? value.split(',').map((part) => part.trim()) : [value];
  if (many === 'commas' && parts.includes(''))
    throw wrongUsage(
      `Expected ${typed} to have a value before and after every comma, got ${JSON.stringify(value)}.`,
    );
  for (const part of parts) {
    if (choices?.includes(part) !== false) continue;
    const meant = suggestValue(part, choices);
    throw wrongUsage(
      `Expected ${typed} to be one of ${choices.join(', ')}, got ${JSON.stringify(part)}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    );
  }
  if (many !== undefined) return [...((before as readonly string[] | undefined) ?? []), ...parts];
  return read(value, typed);
}

/** Checks which options need or exclude others. */
function checkRules(table: Options, values: Readonly<Record<string, unknown>>): void {
  const isGiven = (name: string) => name in values;
  for (const name of Object.keys(values)) {
    const { needs, excludes = [] } = table[name]!;
    if (needs?.some(isGiven) === false)
      throw wrongUsage(`${flagOf(name)} only works with ${needs.map(flagOf).join(' or ')}.`);
    const other = excludes.find(isGiven);
    if (other !== undefined)
      throw wrongUsage(`${flagOf(name)} can't be used with ${flagOf(other)}. Remove one of them.`);
  }
}

/** Checks the number of operands against the usage of a command, such as `<tool>` or `[prompt...]`. */
export function checkWords(
  operands: string,
  words: readonly string[],
  { advice = '', options }: Command,
  values: Readonly<Record<string, unknown>>,
): void {
  const expected = operands.split(' ').filter((each) => each !== '');
  const required = expected.filter((each) => each.startsWith('<'));
  const missing = required[words.length];
  if (missing !== undefined)
    throw wrongUsage(`Expected ${missing} after the command, got nothing.`);
  if (operands.endsWith('...>') || operands.endsWith('...]') || words.length <= expected.length)
    return;
  const hint =
    'tools' in options
      ? values['tools'] === undefined
        ? ' --tools names the files, folders and globs of tools.'
        : ' --tools takes one value: repeat the option, or quote the glob.'
      : '';
  throw wrongUsage(
    `Unexpected argument: ${JSON.stringify(words[expected.length])}.${advice || hint}`,
  );
}

/** Returns an option as help shows it, and its description. */
export function describeOption(
  name: string,
  option: Option,
): readonly [usage: string, description: string] {
  const { value, help, choices, many, alone, env, needs } = option;
  const condition = needs === undefined ? '' : `with ${needs.map(flagOf).join(' or ')}: `;
  const facts = [
    ...(choices === undefined || help.includes(choices.at(-1)!) ? [] : [choices.join(', ')]),
    ...(alone === undefined ? [] : [`${String(alone)} if you give no level`]),
    ...(many === 'commas' ? ['repeat, or separate with commas'] : []),
    ...(env === undefined ? [] : [`default: the environment variable ${env}`]),
    ...(option.default === undefined || typeof option.default === 'boolean'
      ? []
      : [`default: ${String(option.default)}`]),
  ];
  const usage = [
    ...(name === 'help' ? ['-h,'] : []),
    flagOf(name),
    ...Object.values(given({ value })),
  ];
  return [usage.join(' '), condition + help + (facts.length === 0 ? '' : ` (${facts.join('; ')})`)];
}
