import type { ModuleOptions } from '../../load/import-modules.js';
import { flag, type Options, type OptionValues } from './options.js';
import { plainJson, type Dialog } from '../terminal/terminal.js';

/** The environment of a running command. */
export interface Context<V = unknown> {
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly imports: ModuleOptions;
  readonly options: V & { readonly json: boolean };
  /** The operands, such as a tool name. */
  readonly words: readonly string[];
}

/**
 * A command: its options, and the work it does. The command's name and summary are in the list of
 * all commands.
 */
export interface Command<O extends Options = Options> {
  readonly options: O;
  readonly examples: readonly string[];
  /** Text at the end of the command's help. */
  readonly notes?: string;
  /** Advice for a user who passed an unknown option or too many operands. */
  readonly advice?: string;
  /**
   * Runs the command, prints its result, and returns the exit code. No return value means success.
   */
  readonly run: (context: Context<OptionValues<O>>) => number | void | Promise<number | void>;
}

/**
 * Returns a command whose options have the types declared in its table of options. Every command
 * supports `--json`.
 */
export function command<O extends Options>(declared: Command<O>): Command {
  const options = { ...declared.options, json: flag('print JSON') };
  return { ...declared, options } as unknown as Command;
}

/**
 * Prints a result: JSON if the user asked for it, annotations for `--format github`, and lines of
 * text in all other cases.
 */
export function print(
  {
    terminal,
    options,
  }: Pick<Context<{ readonly format?: 'github' | undefined }>, 'terminal' | 'options'>,
  data: unknown,
  lines: () => Iterable<string>,
  annotations = lines,
): void {
  if (options.json) terminal.out(plainJson(data, 2));
  else for (const line of (options.format ? annotations : lines)()) terminal.out(line);
}
