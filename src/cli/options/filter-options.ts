import { InvalidArgumentError, Option, type Command } from 'commander';
import { Priority } from '../../core/enums.js';
import { DERIVED_SETS } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { TOOL_FIELDS, valuesOf, type ToolField } from '../../tool/metadata/tool-fields.js';

/** The conditions of the filter that have an option. */
const CONDITIONS = Object.values<ToolField>(TOOL_FIELDS).flatMap(({ kind, filter, most }) =>
  [filter, most].flatMap((each) => (each?.flag === undefined ? [] : [{ ...each, flag: each.flag, most: each === most, values: valuesOf(kind) }])),
);

/** Adds one option per condition of the filter; several values of one option mean any of them. */
export function addFilterOptions(command: Command): Command {
  const one = (flags: string, description: string, values: readonly string[]) => command.addOption(new Option(flags, description).choices(values));
  const many = (flags: string, description: string, values?: readonly string[]) => {
    const option = new Option(flags, description);
    command.addOption((values === undefined ? option : option.choices(values)).argParser(collectValues(values)));
  };
  for (const { param, flag, most, about, values } of CONDITIONS) {
    if (most) one(`--${flag} <${param.split('_').at(-1)!}>`, about.replace(/^The (.*)\.$/, '$1'), values!);
    else many(`--${flag} <${param.split('_').at(-1)!}>`, `by ${param.replaceAll('_', ' ')}`, values);
  }
  many('--derived <set>', 'by derived set', Object.keys(DERIVED_SETS));
  return command
    .option('--available', 'only tools that can be used now')
    .option('--unavailable', 'only tools that cannot')
    .addHelpText('after', '\nSeveral values of one option mean any of them: --danger high --danger critical, or --danger high,critical.');
}

/** Collects the values of an option that may be repeated, each a list with commas. */
function collectValues(allowed: readonly string[] | undefined): (text: string, before?: readonly string[]) => readonly string[] {
  return (text, before = []) => {
    const values = text.split(',').map((value) => value.trim());
    if (values.includes('')) throw new InvalidArgumentError('Expected a value before and after every comma.');
    if (allowed !== undefined && !values.every((value) => allowed.includes(value))) throw new InvalidArgumentError(`Allowed choices are ${allowed.join(', ')}.`);
    return [...before, ...values];
  };
}

/** Returns the filter that the options of a command line stand for. */
export function filterOf(options: Readonly<Record<string, unknown>>): ToolFilter {
  const given = CONDITIONS.map(({ flag, condition }) => [condition, options[flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]] as const);
  const { priority, ...rest } = Object.fromEntries(given);
  const filter = {
    ...rest,
    priority: (priority as string[] | undefined)?.map((name) => Priority[name.toUpperCase() as keyof typeof Priority]),
    derived: options['derived'],
    available: options['unavailable'] === true ? false : options['available'],
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** A whole number, 0 included. */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isInteger(number) || number < 0) throw new InvalidArgumentError('Expected a whole number.');
  return number;
}

/** A whole number of at least 1. */
export function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('Expected a whole number of at least 1.');
  return number;
}
