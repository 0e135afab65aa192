import { without as given } from '../../core/plain-data.js';
import { DangerLevel, Priority } from '../../core/enums.js';
import { LIMITS } from '../../core/limits.js';
import { DERIVED_SETS } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { POLICY_MODES } from '../../safety/calls.js';
import { AXES, AXIS_NAMES, axisValues, type AxisName, type AxisRow } from '../../tool/axes.js';
import { AXIS_LABELS } from '../terminal/axis-row.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** An option of the command line. Parsing, help and usage errors all use this declaration. */
export interface Option<T = unknown> {
  /**
   * The value as shown in help: `<file>` if it's required, `[level]` if the option can also be used
   * without a value. Flags have no value.
   */
  readonly value?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  /** Parses the value, or throws an error that explains the expected format. */
  readonly read?: (text: string) => unknown;
  /**
   * Allows the option to be repeated. With `commas`, each value can also be a comma-separated list.
   */
  readonly many?: 'repeat' | 'commas';
  readonly default?: T;
  /** The value to use if the user gives the option without a value. */
  readonly alone?: T;
  /** The environment variable that supplies the value if the option isn't given. */
  readonly env?: string;
  /** The option requires these options. */
  readonly needs?: readonly string[];
  /** The option can't be used together with any of these options. */
  readonly excludes?: readonly string[];
}

/** A command's options by name. `dryRun` is `--dry-run` on the command line. */
export type Options = Readonly<Record<string, Option<never> | Option>>;

/** The values of a command's options. */
export type OptionValues<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

type Rules = Pick<Option, 'needs' | 'excludes' | 'env'>;

export const flag = (help: string, rules: Rules = {}): Option<boolean> => ({
  help,
  default: false,
  ...rules,
});

export const textOption = (
  value: string,
  help: string,
  rules: Rules = {},
): Option<string | undefined> => ({ value, help, ...rules });

export const choice = <T extends string>(
  value: string,
  help: string,
  choices: readonly T[],
  rules: Rules = {},
): Option<T | undefined> => ({ value, help, choices, ...rules });

export const repeated = (
  value: string,
  help: string,
  rules: Rules = {},
): Option<readonly string[] | undefined> => ({ value, help, many: 'repeat', ...rules });

export const listOption = (
  value: string,
  help: string,
  choices?: readonly string[],
): Option<readonly string[] | undefined> => ({
  value,
  help,
  many: 'commas',
  ...(choices && { choices }),
});

/** Returns an option whose value is a whole number. */
export const amount = (
  value: string,
  help: string,
  { least = 0, most = Infinity, ...rules }: Rules & { least?: number; most?: number } = {},
): Option<number | undefined> => ({
  value,
  help,
  ...rules,
  read: (word) => {
    const number = Number(word);
    if (word.trim() !== '' && Number.isInteger(number) && number >= least && number <= most)
      return number;
    const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
    throw wrongUsage(`Expected a whole number ${range}, got ${JSON.stringify(word)}.`);
  },
});

/** Adds a default to an option. */
export const withDefault = <T>(option: Option<T | undefined>, value: NoInfer<T>): Option<T> => ({
  ...(option as Option<T>),
  default: value,
});

/** Options for commands that load tools. */
export const TOOL_OPTIONS = {
  tools: repeated(
    '<path>',
    'load tools from a file, a folder or a quoted glob; can be repeated (default: the places in tooldex.config.json, or else the bundled tools)',
  ),
  manifests: textOption('<folder>', 'load tools from the manifests in a folder'),
  mcp: textOption(
    '<file>',
    'load tools from the MCP servers in a settings file; if tooldex-pins.json is next to it, only approved tools',
  ),
  openapi: textOption('<file|url>', 'create a tool from each operation in an OpenAPI document'),
  baseUrl: textOption(
    '<url>',
    'the base URL of the API (default: the first server in the document)',
  ),
  auth: repeated(
    '<scheme=variable>',
    'the environment variable with the credential for a security scheme; can be repeated',
  ),
  hints: textOption(
    '<file>',
    'words that find the tools (default: tooldex.hints.json, if it exists)',
  ),
  persona: textOption('<name>', 'see and call tools as this persona'),
} satisfies Options;

/** The sources that tools are loaded from. */
export type ToolPlaces = Partial<OptionValues<typeof TOOL_OPTIONS>> & {
  readonly root?: string | undefined;
};

/**
 * `--yes` without a level approves creating files. Overwriting or deleting files still needs
 * approval.
 */
const USUAL_YES = DangerLevel.MEDIUM;

/** Options for commands that run tools. */
export const RUN_OPTIONS = {
  ...TOOL_OPTIONS,
  yes: {
    ...choice(
      '[level]',
      'run calls up to this danger level without asking for approval',
      Object.values(DangerLevel),
    ),
    alone: USUAL_YES,
  },
  mode: withDefault(
    choice(
      '<mode>',
      'read-only denies every call that can change something; unattended denies every call that needs approval',
      // A command that names the tool to run needs no allow list.
      POLICY_MODES.filter((mode) => mode !== 'allow-list'),
    ),
    'default',
  ),
  timeout: amount('<ms>', "the timeout for a call, instead of the tool's own", {
    least: 1,
    most: LIMITS.timerMs,
  }),
  flags: listOption('<names>', 'the feature flags that are on, for tools that require flags'),
  context: textOption(
    '<module>',
    'the file whose default export is passed to tools as context.context; if it exports a function, its result is passed',
  ),
  root: textOption(
    '<dir>',
    'the folder that the bundled tools are confined to (default: the current folder)',
    {
      excludes: ['tools', 'manifests', 'mcp', 'openapi'],
    },
  ),
} satisfies Options;

export type RunValues = OptionValues<typeof RUN_OPTIONS>;

/** Conditions of a `ToolFilter` that have a command-line option, by the option's name. */
const CONDITIONS: Readonly<Record<string, FilterCondition>> = {
  category: { condition: 'category', about: 'category' },
  ...Object.fromEntries(AXIS_NAMES.flatMap(axisConditions)),
  keyword: { condition: 'keyword', about: 'keyword' },
  stage: { condition: 'stage', about: 'stage' },
  taskType: { condition: 'taskType', about: 'task type' },
};

interface FilterCondition {
  readonly condition: string;
  /** The values' name in the help. */
  readonly about: string;
  readonly values?: readonly string[];
  readonly isMost?: true;
}

/** Returns the options for an axis, such as `--danger` and `--max-danger`. */
function axisConditions(name: AxisName): (readonly [string, FilterCondition])[] {
  const { wire, most }: AxisRow = AXES[name];
  const label = AXIS_LABELS[name];
  const shared = { about: wire.replaceAll('_', ' '), values: axisValues(name) };
  const each = [label, { ...shared, condition: name }] as const;
  if (most === undefined) return [each];
  const option = `max${label[0]!.toUpperCase()}${label.slice(1)}`;
  return [each, [option, { ...shared, condition: most, isMost: true }]];
}

type FilterOption = Option<string | readonly string[] | undefined>;

/**
 * Options for commands that filter tools, one per condition. If an option has several values, a
 * tool must match at least one of them.
 */
export const FILTER_OPTIONS = {
  ...Object.fromEntries(
    Object.entries(CONDITIONS).map(([name, { about, values, isMost }]): [string, FilterOption] => {
      const value = `<${about.split(' ').at(-1)!}>`;
      return isMost
        ? [name, choice(value, `maximum ${about}`, values!)]
        : [name, listOption(value, `only tools with this ${about}`, values)];
    }),
  ),
  derived: listOption('<set>', 'only tools in this derived set', Object.keys(DERIVED_SETS)),
} satisfies Options;

/** Returns the filter for a command's options. */
export function filterOf(options: Readonly<Record<string, unknown>>): ToolFilter {
  const conditions = Object.fromEntries(
    Object.entries(CONDITIONS).map(([name, { condition }]) => [condition, options[name]]),
  );
  const priority = conditions['priority'] as readonly string[] | undefined;
  return given({
    ...conditions,
    priority: priority?.map((name) => Priority[name.toUpperCase() as keyof typeof Priority]),
    derived: options['derived'],
  }) as ToolFilter;
}

/** Option for commands that print findings. CI services show annotations next to the code. */
export const FORMAT_OPTIONS = {
  format: choice<'github'>(
    '<format>',
    'print findings as annotations for GitHub Actions',
    ['github'],
    {
      excludes: ['json'],
    },
  ),
} satisfies Options;

export { given };
