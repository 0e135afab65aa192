import { InvalidArgumentError, Option, type Command } from 'commander';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority } from '../../core/enums.js';
import { DERIVED_SETS } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { PRIORITY_NAMES } from '../axis-columns.js';

/** Adds one option per condition of the filter; several values of one option mean any of them. */
export function addFilterOptions(command: Command): Command {
  const one = (flags: string, description: string, values: readonly string[]) => command.addOption(new Option(flags, description).choices(values));
  const many = (flags: string, description: string, values?: readonly string[]) => {
    const option = new Option(flags, description);
    command.addOption((values === undefined ? option : option.choices(values)).argParser(collectValues(values)));
  };
  many('--priority <name>', 'by priority', PRIORITY_NAMES);
  many('--access <mode>', 'by access mode', Object.values(AccessMode));
  many('--danger <level>', 'by danger level', Object.values(DangerLevel));
  one('--max-danger <level>', 'at most this dangerous', Object.values(DangerLevel));
  many('--execution <category>', 'by execution category', Object.values(ExecutionCategory));
  many('--cost <tier>', 'by cost tier', Object.values(CostTier));
  one('--max-cost <tier>', 'at most this dear', Object.values(CostTier));
  many('--derived <set>', 'by derived set', Object.keys(DERIVED_SETS));
  many('--category <name>', 'by category');
  many('--keyword <word>', 'by keyword');
  many('--stage <name>', 'by stage');
  many('--task-type <name>', 'by task type');
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

/** The filter that the options of a command line stand for. */
export function filterOf(options: Readonly<Record<string, unknown>>): ToolFilter {
  const priorities = options['priority'] as string[] | undefined;
  const filter = {
    priority: priorities?.map((name) => Priority[name.toUpperCase() as keyof typeof Priority]),
    accessMode: options['access'],
    dangerLevel: options['danger'],
    maxDanger: options['maxDanger'],
    executionCategory: options['execution'],
    costTier: options['cost'],
    maxCostTier: options['maxCost'],
    derived: options['derived'],
    category: options['category'],
    keyword: options['keyword'],
    stage: options['stage'],
    taskType: options['taskType'],
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
