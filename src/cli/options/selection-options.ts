import { Option, type Command } from 'commander';
import { AccessMode, CostTier, DangerLevel } from '../../core/enums.js';
import type { SelectionRequest } from '../../selection/selection-request.js';
import { wholeNumber } from './filter-options.js';

const collect = (value: string, before: readonly string[] = []) => [...before, ...value.split(',').map((name) => name.trim()).filter((name) => name !== '')];

/** Adds one option per part of a selection request. */
export function addSelectionOptions(command: Command): Command {
  return command
    .option('--max <n>', 'at most so many tools, beside those of critical priority', wholeNumber)
    .option('--no-critical-outside-limit', 'tools of critical priority take places of --max')
    .option('--budget <tokens>', 'what all tools together may cost the prompt', wholeNumber)
    .option('--stage <name>', 'only tools of this stage, beside the guaranteed')
    .option('--task-type <name>', 'only tools for this type of task, beside the guaranteed')
    .option('--include <names>', 'tools that are offered in any case; repeat, or separate with commas', collect)
    .option('--exclude <names>', 'tools that are not offered; repeat, or separate with commas', collect)
    .option('--access <modes>', `only these access modes (${Object.values(AccessMode).join(', ')}); repeat, or separate with commas`, collect)
    .addOption(new Option('--max-danger <level>', 'at most this dangerous').choices(Object.values(DangerLevel)))
    .addOption(new Option('--max-cost <tier>', 'at most this dear').choices(Object.values(CostTier)));
}

/** The request that the options of a command line stand for. */
export function selectionRequestOf(text: string, options: Readonly<Record<string, unknown>>): SelectionRequest {
  const request = {
    text,
    maxTools: options['max'],
    criticalOutsideLimit: options['criticalOutsideLimit'],
    tokenBudget: options['budget'],
    stage: options['stage'],
    taskType: options['taskType'],
    include: options['include'],
    exclude: options['exclude'],
    accessModes: options['access'],
    maxDanger: options['maxDanger'],
    maxCostTier: options['maxCost'],
  };
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as unknown as SelectionRequest;
}
