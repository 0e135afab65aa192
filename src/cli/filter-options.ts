import { InvalidArgumentError, Option, type Command } from 'commander';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority } from '../core/enums.js';
import { DERIVED_SETS } from '../registry/derived-sets.js';
import type { ToolFilter } from '../registry/tool-filter.js';

/** Adds one option per condition of the filter; the same option given several values means any of them. */
export function addFilterOptions(command: Command): Command {
  const choice = (flags: string, description: string, values: readonly string[]) => command.addOption(new Option(flags, description).choices(values));
  choice('--priority <name...>', 'by priority', Object.keys(Priority).map((name) => name.toLowerCase()));
  choice('--access <mode...>', 'by access mode', Object.values(AccessMode));
  choice('--danger <level...>', 'by danger level', Object.values(DangerLevel));
  choice('--max-danger <level>', 'at most this dangerous', Object.values(DangerLevel));
  choice('--execution <category...>', 'by execution category', Object.values(ExecutionCategory));
  choice('--cost <tier...>', 'by cost tier', Object.values(CostTier));
  choice('--max-cost <tier>', 'at most this dear', Object.values(CostTier));
  choice('--derived <set...>', 'by derived set', Object.keys(DERIVED_SETS));
  return command
    .option('--category <name...>', 'by category')
    .option('--keyword <word...>', 'by keyword')
    .option('--stage <name...>', 'by stage')
    .option('--task-type <name...>', 'by task type')
    .option('--available', 'only tools that can be used now')
    .option('--unavailable', 'only tools that cannot');
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

/** A whole number of at least 1. */
export function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('Expected a whole number of at least 1.');
  return number;
}
