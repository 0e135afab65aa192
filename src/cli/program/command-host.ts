import type { Command } from 'commander';
import type { ImportOptions } from '../load/import-modules.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import type { LintFormat } from '../lint-formats.js';
import type { Dialog } from '../terminal.js';

/** The options that commands share. */
export interface CommandOptions extends Readonly<Record<string, unknown>> {
  readonly tools?: readonly string[];
  readonly manifests?: string;
  readonly mcp?: string;
  readonly persona?: string;
  /** Of commands that run tools. */
  readonly root?: string;
  readonly json?: boolean;
  readonly limit: number;
  readonly format: LintFormat;
}

/** What a command does with the loaded tools; one that decides the exit code also shows what did not load. */
export type RunOnTools = (loaded: LoadedRegistry, options: CommandOptions, words: readonly string[]) => void | number | Promise<void | number>;

/** What a command does that loads no tools, or its own; it gives the exit code. */
export type RunAlone = (options: CommandOptions, words: readonly string[]) => number | Promise<number>;

/** Where commands are defined, and what they work with. */
export interface CommandHost {
  readonly program: Command;
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly importOptions: ImportOptions;
  /**
   * Makes a command load the tools and work on them.
   *
   * It is imported when it runs: `--help` and `--version` answer without loading schemas and tools.
   */
  readonly onTools: (command: Command, examples: readonly string[], importRun: () => Promise<RunOnTools>, options?: { readonly showsProblems?: boolean }) => Command;
  /** Makes a command work without the tools. */
  readonly alone: (command: Command, examples: readonly string[], importRun: () => Promise<RunAlone>) => Command;
}

export function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((each) => `  $ tooldex ${each}`).join('\n')}`;
}
