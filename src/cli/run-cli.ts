import { Command, CommanderError, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isToolError, ToolError } from '../core/errors.js';
import { addExecutionOptions } from './execute/execution-options.js';
import { EXIT } from './exit-codes.js';
import { addFilterOptions, filterOf, positiveInteger, wholeNumber } from './filter-options.js';
import { addSelectionOptions, selectionRequestOf } from './selection-options.js';
import type { ImportOptions } from './load/import-modules.js';
import { LINT_FORMATS, type LintFormat } from './lint-formats.js';
import type { LoadedRegistry } from './load/loaded-registry.js';
import { paint, type Dialog, type Terminal } from './terminal.js';

interface Options extends Readonly<Record<string, unknown>> {
  readonly tools?: readonly string[];
  readonly manifests?: string;
  readonly persona?: string;
  /** Of commands that run tools. */
  readonly root?: string;
  readonly json?: boolean;
  readonly limit: number;
  readonly format: LintFormat;
}

/** What a command does with the loaded tools; one that decides the exit code also shows what did not load. */
type Run = (loaded: LoadedRegistry, options: Options, words: readonly string[]) => void | number | Promise<void | number>;

/** Runs one command line and returns its exit code. */
export async function runCli(args: readonly string[], terminal: Dialog, cwd: string, importOptions: ImportOptions = {}): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = addGlobalOptions(new Command('tooldex'))
    .description('Looks at the tools of an agent: what they may do, what they cost, which fit a request; and runs them safely.\nWithout a command: an overview.')
    .version(packageJson.version)
    .showHelpAfterError('(tooldex --help shows the commands and options)')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text.trimEnd()), writeErr: (text) => terminal.err(text.trimEnd()) });

  // Commands are imported when they run: --help and --version answer without loading schemas and tools.
  const define = (command: Command, examples: readonly string[], importRun: () => Promise<Run>, { showsProblems = false } = {}): Command =>
    command.addHelpText('after', `\nExamples:\n${examples.map((each) => `  $ tooldex ${each}`).join('\n')}`).action(async () => {
      const options = command.optsWithGlobals<Options>();
      const run = await importRun();
      const { loadRegistry } = await import('./load/load-registry.js');
      const loaded = await loadRegistry({ patterns: options.tools, manifests: options.manifests, persona: options.persona }, rootOf(options, cwd), importOptions);
      const problems = loaded.problems.map(({ file, reason }) => `${file}: ${reason}`);
      if (!showsProblems) for (const problem of problems) terminal.err(`${paint(terminal, 'red', 'not loaded')} ${problem}`);
      if (!showsProblems && loaded.registry.size === 0) {
        exitCode = EXIT.findings;
        reportError(terminal, args, 'NOT_A_TOOL', `expected tools to work on, found none${wantsJson(args) ? `. ${problems.join('. ')}` : ''}`);
        return;
      }
      const code = (await run(loaded, options, command.args)) ?? EXIT.ok;
      exitCode = code === EXIT.ok && problems.length > 0 && !showsProblems ? EXIT.findings : code;
    });

  // Only without a command: with an action of its own, the program would take a misspelt command for an argument.
  if (!hasOperand(args)) define(program, ['', 'list --derived write', 'search "show me what changed"', 'lint --tools ./src/tools'], async () => {
    const { overview } = await import('./commands/overview.js');
    // Tools of other people are not run unasked.
    return (loaded, { json, tools, manifests }) => overview(terminal, loaded, { json: json === true, runs: tools === undefined && manifests === undefined });
  });
  define(
    addFilterOptions(program.command('list').description('one line a tool, with every axis')),
    ['list', 'list --category git --access readonly', 'list --danger high,critical --json'],
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
      return (loaded, { json, limit }, words) => search(terminal, loaded, words.join(' '), limit, json === true);
    },
  );
  define(
    addSelectionOptions(program.command('select <request...>').description('the tools a model would see for a request, why, and what they cost')),
    ['select "fix the failing test" --max 6', 'select "what changed?" --stage reading --budget 600'],
    async () => {
      const { select } = await import('./commands/select.js');
      return (loaded, options, words) => select(terminal, loaded, selectionRequestOf(words.join(' '), options), options.json === true);
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
      .addOption(new Option('--format <format>', 'how findings are printed').choices(LINT_FORMATS).default('table')),
    ['lint', 'lint --tools ./tools --format github'],
    async () => {
      const { lint } = await import('./commands/lint.js');
      return (loaded, { json, format }) => lint(terminal, loaded, json === true ? 'json' : format);
    },
    { showsProblems: true },
  );
  define(
    addExecutionOptions(
      program
        .command('run <tool>')
        .description('runs one tool, and asks before it changes something')
        .option('--input <json>', 'its arguments as JSON, @file, or - for standard input (default: {})'),
    ),
    ['run list_directory', `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`, 'run git_commit --input @commit.json'],
    async () => {
      const { run } = await import('./commands/run.js');
      return (loaded, options, [name]) => run(terminal, loaded, name!, options, cwd);
    },
  );
  define(
    addExecutionOptions(
      program
        .command('plan <file>')
        .description('which calls of a JSON list [{"name", "input"}] run together, which must be asked, and why some wait; - reads standard input')
        .option('--run', 'then run them'),
    ),
    ['plan calls.json', 'plan - --run --yes low < calls.json'],
    async () => {
      const { plan } = await import('./commands/plan.js');
      return (loaded, options, [file]) => plan(terminal, loaded, file!, options, cwd);
    },
  );

  program
    .command('validate <files...>')
    .description('everything that is wrong in manifest files, or in folders of them; exits with 1 when there is an error')
    .addOption(new Option('--format <format>', 'how it is printed').choices(LINT_FORMATS).default('table'))
    .addHelpText('after', '\nExamples:\n  $ tooldex validate functions.json\n  $ tooldex validate ./manifests --format github')
    .action(async (places: string[], _: unknown, command: Command) => {
      const { json, format } = command.optsWithGlobals<Options>();
      const { validate } = await import('./commands/validate.js');
      exitCode = await validate(terminal, places, json === true ? 'json' : format, cwd);
    });

  program
    .command('serve')
    .description('shows the tools over HTTP: JSON for programs, a page for people; manifests are watched')
    .option('--port <n>', 'the port to listen on; 0 takes any that is free (default: 4780)', wholeNumber)
    .option('--host <address>', 'the address to listen on; any but 127.0.0.1 needs a token')
    .option('--token <text>', 'what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN, which other users cannot see)')
    .option('--allowed-host <name>', 'a name under which it is asked for instead of localhost; may be repeated', (name: string, before: readonly string[] = []) => [...before, name])
    .addHelpText('after', '\nExamples:\n  $ tooldex serve\n  $ tooldex serve --manifests ./manifests --port 8080\n  $ TOOLDEX_TOKEN=$(openssl rand -hex 32) tooldex serve --host 0.0.0.0')
    .action(async (_: unknown, command: Command) => {
      const { serveCatalogue } = await import('./commands/serve.js');
      exitCode = await serveCatalogue(terminal, command.optsWithGlobals<Options>(), cwd, importOptions);
    });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      if (error.code === 'commander.excessArguments' && program.getOptionValue('tools') !== undefined) terminal.err('(--tools takes one value: repeat it, or quote a glob)');
      if (wantsJson(args)) printJsonError(terminal, 'INVALID_ARGUMENT', error.message.replace(/^error: /, ''));
      return EXIT.usage;
    }
    if (!isToolError(error)) throw error;
    reportError(terminal, args, error.code, error.message);
    return error.code === 'TOOL_NOT_FOUND' || error.code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.findings;
  }
}

/** @throws ToolError `INVALID_ARGUMENT`: tools of files know no root, and may reach whatever they like. */
function rootOf({ root, tools, manifests }: Options, cwd: string): string {
  if (root === undefined) return cwd;
  if (tools !== undefined || manifests !== undefined) throw new ToolError('INVALID_ARGUMENT', 'expected --root, or --tools or --manifests, found both; only the bundled tools keep to a root');
  const folder = resolve(cwd, root);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw new ToolError('INVALID_ARGUMENT', `expected --root as a folder that exists, found ${JSON.stringify(root)}`);
  return folder;
}

/** Says why a command ended without a result; programs that asked for JSON find it where the result would have been. */
export function reportError(terminal: Terminal, args: readonly string[], code: string, message: string): void {
  terminal.err(`${paint(terminal, 'red', 'error')} ${message}`);
  if (wantsJson(args)) printJsonError(terminal, code, message);
}

function printJsonError(terminal: Terminal, code: string, message: string): void {
  terminal.out(JSON.stringify({ error: { code, message } }, null, 2));
}

/** Known before the command line is understood: that may be what fails. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  return options.some((each, index) => each === '--json' || each === '--format=json' || (each === '--format' && options[index + 1] === 'json'));
}

function hasOperand(args: readonly string[]): boolean {
  try {
    return addGlobalOptions(new Command()).allowUnknownOption().exitOverride().configureOutput({ outputError: () => {} }).parseOptions([...args]).operands.length > 0;
  } catch {
    return false; // Wrong usage, which the program itself reports.
  }
}

function addGlobalOptions(command: Command): Command {
  return command
    .option('--tools <path>', 'a file, folder or quoted glob that exports tools; may be repeated (default: the bundled tools)', (path: string, before: readonly string[] = []) => [...before, path])
    .option('--manifests <folder>', 'the tools of the manifests in a folder, instead of the bundled ones')
    .option('--persona <name>', 'with --manifests: as this persona sees them')
    .option('--json', 'print JSON');
}
