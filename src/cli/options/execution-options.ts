import { InvalidArgumentError, Option, type Command } from 'commander';
import { DangerLevel } from '../../core/enums.js';
import { LIMITS } from '../../core/limits.js';
import { POLICY_MODES, type PolicyMode } from '../../safety/calls.js';
import { EXIT_HELP } from '../exit-codes.js';
import { positiveInteger } from './filter-options.js';

/** How calls are carried out, as given on the command line. */
export interface ExecutionOptions {
  /** Calls up to this danger run without a question. */
  readonly yes?: DangerLevel;
  readonly mode: PolicyMode;
  /** Instead of the tools' own limits. */
  readonly timeoutMs?: number;
}

/** Of `--yes` without a level: new files, not lost ones. */
const USUAL_YES = DangerLevel.MEDIUM;
/** An allow-list is no word of a command line: there the one tool is named anyway. */
const MODES = POLICY_MODES.filter((mode) => mode !== 'allow-list');

export function addExecutionOptions(command: Command): Command {
  return command
    .addOption(new Option('--yes [level]', `run calls up to this danger without asking (${USUAL_YES} when no level is given)`).choices(Object.values(DangerLevel)).preset(USUAL_YES))
    .addOption(new Option('--mode <mode>', 'read-only refuses what can change something, unattended what would have to be asked').choices(MODES).default('default'))
    .option('--timeout <ms>', "how long a call may take, instead of the tool's own limit", milliseconds)
    .option('--root <dir>', 'the folder that the bundled tools are kept to (default: the current one)')
    .addHelpText('after', EXIT_HELP);
}

export function executionOptionsOf(options: Readonly<Record<string, unknown>>): ExecutionOptions {
  const { yes, mode, timeout } = options as { readonly yes?: DangerLevel; readonly mode: PolicyMode; readonly timeout?: number };
  return { mode, ...(yes !== undefined && { yes }), ...(timeout !== undefined && { timeoutMs: timeout }) };
}

function milliseconds(text: string): number {
  const ms = positiveInteger(text);
  if (ms > LIMITS.timerMs) throw new InvalidArgumentError(`Expected at most ${LIMITS.timerMs} milliseconds.`);
  return ms;
}

/** As whom calls are made: whoever sees the tools of a persona also calls as it. */
export function personaOf({ persona }: Readonly<Record<string, unknown>>): { readonly persona?: string } {
  return typeof persona === 'string' ? { persona } : {};
}
