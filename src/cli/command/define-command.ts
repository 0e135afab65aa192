import { InvalidArgumentError, Option as ProgramOption, type Command as Program } from 'commander';
import { isToolError } from '../../core/errors.js';
import { suggestValue } from '../../core/issues.js';
import type { Command } from './command.js';
import type { Option, Options } from './options.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** Returns an option as users type it: `--dry-run` for `dryRun`. */
const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Adds a table of options, examples and notes to a command. */
export function defineCommand(program: Program, { options, examples, notes = '' }: Command): void {
  const lines = examples.map((example) => `  $ tooldex ${example}`.trimEnd());
  program.addHelpText('after', `\nExamples:\n${lines.join('\n')}${notes && `\n${notes}`}`);
  for (const [name, option] of Object.entries(options) as [string, Option][]) {
    const { value = '', help, choices, many, default: usual, alone, env, excludes = [] } = option;
    const needs = option.needs && namesOf(option.needs);
    const list = many === 'commas' ? '; repeat, or separate with commas' : '';
    const about = `${needs === undefined ? '' : `with ${needs}: `}${help}${list}`;
    const defined = new ProgramOption(`${flagOf(name)} ${value}`.trim(), about).conflicts([
      ...excludes,
    ]);
    if (choices) defined.choices(choices);
    if (value !== '')
      defined.argParser((word: string, before: unknown) => valueOf(option, word, before));
    if (usual !== undefined && usual !== false) defined.default(usual);
    if (alone !== undefined) defined.preset(alone);
    if (env !== undefined) defined.env(env);
    program.addOption(defined);
  }
}

function valueOf({ choices, many, read = (text) => text }: Option, word: string, before: unknown) {
  const parts = many === 'commas' ? word.split(',').map((part) => part.trim()) : [word];
  const wrong = parts.find(
    (part) => (part === '' && many === 'commas') || choices?.includes(part) === false,
  );
  if (wrong !== undefined) {
    const expected = choices === undefined ? 'a value' : `one of ${choices.join(', ')}`;
    const meant = choices && suggestValue(wrong, choices);
    throw new InvalidArgumentError(
      `Expected ${expected}, got ${JSON.stringify(wrong)}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    );
  }
  if (many !== undefined)
    return [...(Array.isArray(before) ? (before as readonly string[]) : []), ...parts];
  try {
    return read(word);
  } catch (error) {
    throw isToolError(error) ? new InvalidArgumentError(error.message) : error;
  }
}

/**
 * Returns the values for a table of options. @throws ToolError `INVALID_ARGUMENT` if an option is
 * used without the options that it needs. Those may also come from the environment.
 */
export function optionValuesOf(
  program: Program,
  options: Options,
): Readonly<Record<string, unknown>> {
  const used = program.opts<Record<string, unknown>>();
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const isUsed = program.getOptionValueSource(name) === 'cli';
    const missing = isUsed && option.needs?.some((needed) => !used[needed]);
    if (missing)
      throw wrongUsage(`${flagOf(name)} only works with ${namesOf(option.needs ?? [])}.`);
    values[name] = used[name] ?? option.default;
  }
  return values;
}

function namesOf(options: readonly string[]): string {
  return options.map(flagOf).join(' and ');
}
