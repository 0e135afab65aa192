import { InvalidArgumentError, Option, type Command } from 'commander';
import { DangerLevel, Priority } from '../../core/enums.js';

import { expectedGot, suggestValue } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { DERIVED_SETS } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { POLICY_MODES, type CallContext, type PolicyMode } from '../../safety/calls.js';
import { TOOL_FIELDS, valuesOf, type ToolField } from '../../tool/tool-fields.js';
import { EXIT_HELP } from '../terminal/exit-codes.js';
import type { ImportOptions } from '../../load/import-modules.js';
import type { LoadedRegistry } from './load-registry.js';
import type { Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** Does the work of a command on the loaded tools. One that gives the exit code of problems shows them itself. */
export type RunOnTools = (
  loaded: LoadedRegistry,
  options: CommandOptions,
  words: readonly string[],
) => void | number | Promise<void | number>;
/** Does the work of a command that loads no tools, or its own; gives the exit code. */
type RunAlone = (options: CommandOptions, words: readonly string[]) => Promise<number>;

/** The program as a command sees it. */
export interface CommandHost {
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly importOptions: ImportOptions;
  /** Makes a command load the tools and work on them. */
  readonly onTools: (
    command: Command,
    examples: readonly string[],
    run: RunOnTools,
    options?: {
      /** Shows what was not loaded itself. */
      readonly showsProblems?: boolean;
      /** Exits by its own result alone, also when something else was not loaded. */
      readonly exitsByResult?: boolean;
      /** The command calls and exports nothing, and so sees the tools of all personas. */
      readonly looks?: boolean;
      /** True for a command that passes questions of MCP servers on, by `relayTo`. */
      readonly relays?: boolean;
    },
  ) => void;
  /** Makes a command work without the tools. */
  readonly alone: (command: Command, examples: readonly string[], run: RunAlone) => void;
}

/** The commands of one file: each adds its options, examples and work to a command that has only its name and description. */
export type CommandFamily = Readonly<Record<string, (command: Command, host: CommandHost) => void>>;

/** The variable that gives the token of a server; unlike an option, it is not seen in the list of processes. */
export const TOKEN_VARIABLE = 'TOOLDEX_TOKEN';

/** The options that commands share, as the command line has them. */
export interface CommandOptions extends Readonly<Record<string, unknown>>, ExecutionOptions {
  readonly tools?: readonly string[];
  readonly manifests?: string;
  readonly mcp?: string;
  readonly persona?: string;
  readonly trustAutoApprove?: boolean;
  readonly flags?: readonly string[];
  /** The context of the tools: as `--context` names its file at first, then what that exports. */
  readonly context?: unknown;
  /** The folder of the bundled tools, for commands that run them. */
  readonly root?: string;
  readonly json?: boolean;
}

/** The way calls are carried out. */
export interface ExecutionOptions {
  /** Calls up to this danger run without a question. */
  readonly yes?: DangerLevel;
  readonly mode: PolicyMode;
  /** The milliseconds that a call may take, instead of its tool's own limit. */
  readonly timeout?: number;
}

/** The level of `--yes` without one: it covers new files, not lost ones. */
const USUAL_YES = DangerLevel.MEDIUM;
/** An allow-list is no word of a command line: there the one tool is named anyway. */
const MODES = POLICY_MODES.filter((mode) => mode !== 'allow-list');

export function addExecutionOptions(command: Command): Command {
  return command
    .option(
      '--context <file>',
      'what the tools get as context.context: the default export of this file, or what that function returns',
    )
    .addOption(
      new Option(
        '--yes [level]',
        `run calls up to this danger without asking (${USUAL_YES} when no level is given)`,
      )
        .choices(Object.values(DangerLevel))
        .preset(USUAL_YES),
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'read-only refuses what can change something, unattended what would have to be asked',
      )
        .choices(MODES)
        .default('default'),
    )
    .option(
      '--timeout <ms>',
      "how long a call may take, instead of the tool's own limit",
      milliseconds,
    )
    .option(
      '--flags <names>',
      'the flags that are on, for tools that need some; repeat, or separate with commas',
      collectValues(),
    )
    .option(
      '--root <dir>',
      'the folder that the bundled tools are kept to (default: the current one)',
    )
    .addHelpText('after', EXIT_HELP);
}

function milliseconds(text: string): number {
  const ms = positiveInteger(text);
  if (ms > LIMITS.timerMs) throw unexpected(`at most ${LIMITS.timerMs} milliseconds`, text);
  return ms;
}

/** The error for the value of an option; the option is named before it. */
function unexpected(expected: string, text: string, meant?: string): InvalidArgumentError {
  return new InvalidArgumentError(
    expectedGot(expected, JSON.stringify(text), meant && `Did you mean ${meant}?`),
  );
}

/** Returns what calls are made with: the context, the flags that are on, and the persona, as a user who sees its tools also calls as it. */
export function callContextOf({
  persona,
  flags,
  context,
}: CommandOptions): Pick<CallContext, 'persona' | 'flags'> & { readonly context?: unknown } {
  return {
    ...(persona !== undefined && { persona }),
    ...(flags !== undefined && { flags }),
    ...(context !== undefined && { context }),
  };
}

/** The conditions of the filter that have an option. */
const CONDITIONS = Object.values<ToolField>(TOOL_FIELDS).flatMap(({ kind, filter, most }) =>
  [filter, most].flatMap((each) =>
    each?.flag === undefined
      ? []
      : [{ ...each, flag: each.flag, most: each === most, values: valuesOf(kind) }],
  ),
);

/** Adds one option per condition of the filter; several values of one option mean any of them. */
export function addFilterOptions(command: Command): Command {
  const one = (flags: string, description: string, values: readonly string[]) =>
    command.addOption(new Option(flags, description).choices(values));
  const many = (flags: string, description: string, values?: readonly string[]) => {
    const option = new Option(flags, description);
    command.addOption(
      (values === undefined ? option : option.choices(values)).argParser(collectValues(values)),
    );
  };
  for (const { param, flag, most, about, values } of CONDITIONS) {
    if (most)
      one(`--${flag} <${param.split('_').at(-1)!}>`, about.replace(/^The (.*)\.$/, '$1'), values!);
    else
      many(`--${flag} <${param.split('_').at(-1)!}>`, `by ${param.replaceAll('_', ' ')}`, values);
  }
  many('--derived <set>', 'by derived set', Object.keys(DERIVED_SETS));
  return command
    .option('--available', 'only tools that can be used now')
    .option('--unavailable', 'only tools that cannot')
    .addHelpText(
      'after',
      '\nSeveral values of one option mean any of them: --danger high --danger critical, or --danger high,critical.',
    );
}

/** Collects the values of an option that may be repeated, each a list with commas. */
export function collectValues(
  allowed?: readonly string[],
): (text: string, before?: readonly string[]) => readonly string[] {
  return (text, before = []) => {
    const values = text.split(',').map((value) => value.trim());
    if (values.includes('')) throw unexpected('a value before and after every comma', text);
    const unknown = values.find((value) => allowed?.includes(value) === false);
    if (unknown !== undefined)
      throw unexpected(`one of ${allowed!.join(', ')}`, unknown, suggestValue(unknown, allowed!));
    return [...before, ...values];
  };
}

/** Returns the filter that the options of a command line stand for. */
export function filterOf(options: Readonly<Record<string, unknown>>): ToolFilter {
  const given = CONDITIONS.map(
    ({ flag, condition }) =>
      [
        condition,
        options[flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())],
      ] as const,
  );
  const { priority, ...rest } = Object.fromEntries(given);
  const filter = {
    ...rest,
    priority: (priority as string[] | undefined)?.map(
      (name) => Priority[name.toUpperCase() as keyof typeof Priority],
    ),
    derived: options['derived'],
    available: options['unavailable'] === true ? false : options['available'],
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Collects the values of an option that may be repeated. */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function numberFrom(least: 0 | 1, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isInteger(number) || number < least)
    throw unexpected(`a whole number of at least ${least}`, text);
  return number;
}

export const wholeNumber = (text: string): number => numberFrom(0, text);
export const positiveInteger = (text: string): number => numberFrom(1, text);

/** The formats of findings: for users, for programs, or as annotations that CI services show beside the code. */
const FORMATS = ['table', 'json', 'github'] as const;
export type Format = (typeof FORMATS)[number];

/** Adds `--format`. */
export const formatted = (command: Command, what: string) =>
  command.addOption(
    new Option('--format <format>', `how ${what} are printed (default: table)`).choices(FORMATS),
  );

/** Returns the format that `--json` or `--format` ask for. @throws ToolError `INVALID_ARGUMENT` when they differ. */
export function formatOf({ json, format }: CommandOptions): Format {
  if (json === true && format !== undefined && format !== 'json')
    throw wrongUsage(`--json or --format ${format as Format}`, 'both', 'Leave one of them out.');
  return json === true ? 'json' : ((format as Format | undefined) ?? 'table');
}
