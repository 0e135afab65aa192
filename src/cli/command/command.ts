import type { ImportOptions } from '../../load/import-modules.js';
import { flag, type Options, type Values } from './options.js';
import { plainJson, type Dialog } from '../terminal/terminal.js';

/** The things that a command works with. */
export interface Context<V = unknown> {
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly imports: ImportOptions;
  readonly options: V & { readonly json: boolean };
  /** The operands, such as the name of a tool. */
  readonly words: readonly string[];
}

/** A command: its options, and the work it does. Its name and summary are in the list of all commands. */
export interface Command<O extends Options = Options> {
  readonly options: O;
  readonly examples: readonly string[];
  /** Text for the end of its help. */
  readonly notes?: string;
  /** Advice for a user who gave it an unknown option or too many operands. */
  readonly advice?: string;
  /** Loads, does its work, prints, and returns the exit code; nothing means success. */
  readonly run: (context: Context<Values<O>>) => number | void | Promise<number | void>;
}

/** Returns a command whose options have the types that its table declares. Every command has `--json`. */
export function command<O extends Options>(declared: Command<O>): Command {
  const options = { ...declared.options, json: flag('print JSON') };
  return { ...declared, options } as unknown as Command;
}

/** Prints a result: its data if the user asked for JSON, its annotations for `--format github`, otherwise lines of text. */
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
