import { Command, CommanderError, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { isToolError } from '../core/errors.js';
import { addFilterOptions, filterOf, positiveInteger } from './filter-options.js';
import type { LoadedRegistry } from './load-registry.js';
import { paint, type Terminal } from './terminal.js';

/** Exit codes of every command: done; findings, or files that failed to load; wrong usage. */
export const EXIT = Object.freeze({ ok: 0, findings: 1, usage: 2 });

interface Options extends Readonly<Record<string, unknown>> {
  readonly tools?: readonly string[];
  readonly json?: boolean;
}

/** What a command does with the loaded tools; it may decide the exit code. */
type Run = (loaded: LoadedRegistry, options: Options, words: readonly string[]) => void | number;

/** Runs one command line and returns its exit code. */
export async function runCli(args: readonly string[], terminal: Terminal, cwd: string): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = new Command('tooldex')
    .description('Looks at the tools of an agent: what they may do, what they cost, and which fit a request.\nWithout a command: an overview.')
    .version(packageJson.version)
    .showHelpAfterError('(tooldex --help shows the commands and options)')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text.trimEnd()), writeErr: (text) => terminal.err(text.trimEnd()) });

  // Commands are imported when they run: --help and --version answer without loading schemas and tools.
  const define = (command: Command, examples: readonly string[], importRun: () => Promise<Run>): Command =>
    command
      .option('--tools <paths...>', 'files, folders or globs that export tools (default: the bundled tools)')
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExamples:\n${examples.map((each) => `  $ tooldex ${each}`).join('\n')}`)
      .action(async () => {
        const options: Options = command.optsWithGlobals();
        const run = await importRun();
        const { loadRegistry } = await import('./load-registry.js');
        const loaded = await loadRegistry(options.tools, cwd);
        reportProblems(terminal, loaded);
        exitCode = run(loaded, options, command.args) ?? (loaded.problems.length > 0 ? EXIT.findings : EXIT.ok);
      });

  define(program, ['', 'list --derived write', 'search "show me what changed"', 'lint --tools ./src/tools'], async () => {
    const { overview } = await import('./commands/overview.js');
    return (loaded, { json }) => overview(terminal, loaded, json === true);
  });
  define(
    addFilterOptions(program.command('list').description('one line a tool, with every axis')),
    ['list', 'list --category git --access readonly', 'list --max-danger low --json'],
    async () => {
      const { list } = await import('./commands/list.js');
      return (loaded, options) => list(terminal, loaded, filterOf(options), options.json === true);
    },
  );
  define(program.command('show <tool>').description('everything known of one tool'), ['show git_diff', 'show read_file --json'], async () => {
    const { show } = await import('./commands/show.js');
    return (loaded, { json }, [name]) => show(terminal, loaded, name!, json === true);
  });
  define(
    program.command('search <request...>').description('the tools that fit a request, with reasons').option('--limit <n>', 'at most so many tools', positiveInteger, 10),
    ['search "run the tests"', 'search show diff --limit 3'],
    async () => {
      const { search } = await import('./commands/search.js');
      return (loaded, { json, limit }, words) => search(terminal, loaded, words.join(' '), limit as number, json === true);
    },
  );
  define(program.command('stats').description('how many tools have which value of every axis'), ['stats', 'stats --tools "tools/**/*.ts" --json'], async () => {
    const { stats } = await import('./commands/stats.js');
    return (loaded, { json }) => stats(terminal, loaded, json === true);
  });
  define(
    program
      .command('lint')
      .description('what to mend in the metadata; exits with 1 when there is something')
      .addOption(new Option('--format <format>', 'how findings are printed').choices(['table', 'json', 'github']).default('table')),
    ['lint', 'lint --tools ./tools --format github'],
    async () => {
      const { lint } = await import('./commands/lint.js');
      return (loaded, { json, format }) => lint(terminal, loaded, json === true ? 'json' : (format as 'table' | 'json' | 'github'));
    },
  );

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!isToolError(error)) throw error;
    terminal.err(`${paint(terminal, 'red', 'error')} ${error.message}`);
    return error.code === 'TOOL_NOT_FOUND' || error.code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.findings;
  }
}

function reportProblems(terminal: Terminal, { registry, problems }: LoadedRegistry): void {
  for (const { file, reason } of problems) terminal.err(`${paint(terminal, 'red', 'not loaded')} ${file}: ${reason}`);
  if (registry.size === 0 && problems.length === 0) {
    terminal.err('The files were read, but export no tools. Export classes decorated with @tool, instances of them, or results of defineTool');
  }
}
