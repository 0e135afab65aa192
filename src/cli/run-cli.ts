import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { isToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { EXIT } from './terminal/exit-codes.js';
import type { ImportOptions } from '../load/import-modules.js';
import type { CommandFamily, CommandHost, CommandOptions } from './load/options.js';
import { amountOf } from './terminal/table.js';
import { paint, placeText, plainLine, type Dialog, type Terminal } from './terminal/terminal.js';
import { wrongUsage } from './terminal/wrong-usage.js';

/** The codes of errors about what was given on the command line. */
const WRONG_USAGE: ReadonlySet<string> = new Set([
  'TOOL_NOT_FOUND',
  'INVALID_ARGUMENT',
  'INVALID_INPUT',
  'UNKNOWN_CALL',
  'ALREADY_RESOLVED',
]);

const catalogue = async (): Promise<CommandFamily> =>
  (await import('./commands/catalogue.js')).CATALOGUE_COMMANDS;
const find = async (): Promise<CommandFamily> => (await import('./commands/find.js')).FIND_COMMANDS;
const check = async (): Promise<CommandFamily> =>
  (await import('./commands/check.js')).CHECK_COMMANDS;
const run = async (): Promise<CommandFamily> => (await import('./commands/run.js')).RUN_COMMANDS;

/** All commands, and the family that defines each. A family is imported when the command line names one of its commands. */
const COMMANDS: readonly (readonly [
  usage: string,
  about: string,
  family: () => Promise<CommandFamily>,
])[] = [
  ['list', 'one line a tool, with every axis', catalogue],
  ['show <tool>', 'everything known of one tool', catalogue],
  ['stats', 'how many tools have which value of every axis', catalogue],
  ['search <request...>', 'the tools that fit a request, with reasons', find],
  [
    'select <request...>',
    'the tools a model would see for a request, why, and what they cost',
    find,
  ],
  ['export', 'the tools as JSON for a model API or for MCP', find],
  [
    'init',
    'writes a first tool, its test and a configuration into a project; asks before it overwrites',
    async () => (await import('./commands/init.js')).INIT_COMMANDS,
  ],
  ['lint', 'what to fix in the metadata; exits with 1 when there is something', check],
  [
    'audit',
    'what tools do beside what they say, read from their code; with --mcp <package, command or settings file> those of a server; exits with 1 when one does more',
    async () => (await import('./commands/audit.js')).AUDIT_COMMANDS,
  ],
  [
    'validate <files...>',
    'everything that is wrong in manifest files, or in folders of them; exits with 1 when there is an error',
    check,
  ],
  ['run <tool>', 'runs one tool, and asks before it changes something', run],
  [
    'plan <file>',
    'which calls of a JSON list [{"name", "input"}] run together, which need approval, and why some wait; - reads standard input',
    run,
  ],
  [
    'chat [prompt...]',
    'lets a model use the tools, and asks before they change something; without --model a scripted one',
    async () => (await import('./chat/chat.js')).CHAT_COMMANDS,
  ],
  [
    'serve',
    'shows the tools over HTTP: JSON for programs, a page for users; manifests are watched',
    async () => (await import('./commands/serve.js')).SERVE_COMMANDS,
  ],
  [
    'grants',
    'what users approved in advance: lists and revokes it',
    async () => (await import('./commands/grants.js')).GRANTS_COMMANDS,
  ],
  [
    'mcp',
    'MCP: serves the tools, looks at other servers, and pins what they offer',
    async () => (await import('./commands/mcp.js')).MCP_COMMANDS,
  ],
];

/** Runs one command line and returns its exit code. */
export async function runCli(
  args: readonly string[],
  terminal: Dialog,
  cwd: string,
  importOptions: ImportOptions = {},
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = addGlobalOptions(new Command('tooldex'))
    .description(
      'Looks at the tools of an agent: what they may do, what they cost, which fit a request; and runs them safely.\nWithout a command: an overview.',
    )
    .version(packageJson.version)
    .showHelpAfterError('(tooldex --help shows the commands and options)')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    });

  const withExamples = (command: Command, examples: readonly string[]) =>
    command.addHelpText(
      'after',
      `\nExamples:\n${examples.map((each) => `  $ tooldex ${each}`).join('\n')}`,
    );
  const host: CommandHost = {
    terminal,
    cwd,
    importOptions,
    onTools: (
      command,
      examples,
      run,
      { showsProblems = false, exitsByResult = showsProblems, looks = false, relays = false } = {},
    ) =>
      withExamples(command, examples).action(async () => {
        const given = command.optsWithGlobals<CommandOptions>();
        const options =
          typeof given.context === 'string'
            ? { ...given, context: await loadContext(given.context, cwd, importOptions) }
            : given;
        const { existingFolder, loadRegistry } = await import('./load/load-registry.js');
        const { tools: patterns, manifests, mcp: settings, persona, trustAutoApprove } = options;
        const mcp =
          settings === undefined
            ? undefined
            : async () =>
                (await import('./load/load-mcp-tools.js')).loadMcpTools(
                  settings,
                  terminal,
                  cwd,
                  trustAutoApprove,
                  relays,
                );
        const loaded = await loadRegistry(
          { patterns, manifests, mcp, persona, everyone: looks },
          rootOf(options, cwd, existingFolder),
          importOptions,
        );
        try {
          const problems = loaded.problems.map((each) => `${placeText(each)}: ${each.reason}`);
          if (!showsProblems)
            for (const problem of problems)
              terminal.err(`${paint(terminal, 'red', 'not loaded')} ${problem}`);
          if (!showsProblems && loaded.registry.size === 0) {
            exitCode = EXIT.findings;
            reportError(
              terminal,
              args,
              'NOT_A_TOOL',
              `${expectedGot('tools to work on', 'none')}${wantsJson(args) ? ` ${problems.join('. ')}` : ''}`,
            );
            return;
          }
          const { tools: left = 0, personas = [] } = loaded.leftOut ?? {};
          if (left > 0)
            terminal.err(
              paint(
                terminal,
                'dim',
                `left out: ${amountOf(left, 'tool')} of ${plainLine(personas.join(', ')) || 'no persona'} (--persona names one)`,
              ),
            );
          const code = (await run(loaded, options, command.args)) ?? EXIT.ok;
          exitCode =
            code === EXIT.ok && problems.length > 0 && !exitsByResult ? EXIT.findings : code;
        } finally {
          await loaded.close?.();
        }
      }),
    alone: (command, examples, run) =>
      withExamples(command, examples).action(async () => {
        exitCode = await run(command.optsWithGlobals<CommandOptions>(), command.args);
      }),
  };

  const words = operandsOf(args);
  const named = words[0] === 'help' ? words[1] : words[0];
  // Only without a command: with an action of its own, the program would take a misspelt command for an argument.
  if (words.length === 0 && !args.some((each) => each === '--version' || each === '-V'))
    (await import('./commands/overview.js')).defineOverview(program, host);
  for (const [usage, about, family] of COMMANDS) {
    const command = program.command(usage).description(about);
    const name = command.name();
    if (name === named) (await family())[name]!(command, host);
  }

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      const isExcess = error.code === 'commander.excessArguments';
      if (named === 'run' && (isExcess || error.code === 'commander.unknownOption'))
        terminal.err(
          `(--input takes the arguments of a tool as JSON: --input '{"name": "value"}')`,
        );
      else if (isExcess && program.getOptionValue('tools') !== undefined)
        terminal.err('(--tools takes one value: repeat it, or quote a glob)');
      else if (isExcess && ['list', 'stats', 'lint', 'export'].includes(named ?? ''))
        terminal.err('(--tools names the files, folders and globs of tools)');
      if (wantsJson(args))
        printJsonError(terminal, 'INVALID_ARGUMENT', error.message.replace(/^error: /, ''));
      return EXIT.usage;
    }
    if (!isToolError(error)) throw error;
    reportError(terminal, args, error.code, error.message);
    return WRONG_USAGE.has(error.code) ? EXIT.usage : EXIT.findings;
  }
}

async function loadContext(file: string, cwd: string, options: ImportOptions): Promise<unknown> {
  return (await import('./load/import-default.js')).importContext(file, cwd, options);
}

/** Returns the folder of the bundled tools. @throws ToolError `INVALID_ARGUMENT`: tools of files know no root, and may reach whatever they like. */
function rootOf(
  { root, tools, manifests, mcp }: CommandOptions,
  cwd: string,
  existingFolder: (option: string, name: string, cwd: string) => string,
): string {
  if (root === undefined) return cwd;
  if (tools !== undefined || manifests !== undefined || mcp !== undefined)
    throw wrongUsage(
      '--root, or --tools, --manifests or --mcp',
      'both',
      'Only the bundled tools keep to a root.',
    );
  return existingFolder('--root', root, cwd);
}

/** Reports why a command ended without a result; programs that asked for JSON get it where the result would have been. */
export function reportError(
  terminal: Terminal,
  args: readonly string[],
  code: string,
  message: string,
): void {
  terminal.err(`${paint(terminal, 'red', 'error')} ${message}`);
  if (wantsJson(args)) printJsonError(terminal, code, message);
}

function printJsonError(terminal: Terminal, code: string, message: string): void {
  terminal.out(JSON.stringify({ error: { code, message } }, null, 2));
}

/** Returns whether JSON is asked for, before the command line is understood: that may be what fails. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  return options.some(
    (each, index) =>
      each === '--json' ||
      each === '--format=json' ||
      (each === '--format' && options[index + 1] === 'json'),
  );
}

/** Returns the words of a command line beside the options of all commands; the first names the command. */
function operandsOf(args: readonly string[]): readonly string[] {
  try {
    return addGlobalOptions(new Command())
      .allowUnknownOption()
      .exitOverride()
      .configureOutput({ outputError: () => {} })
      .parseOptions([...args]).operands;
  } catch {
    return []; // Wrong usage, which the program itself reports.
  }
}

function addGlobalOptions(command: Command): Command {
  return command
    .option(
      '--tools <path>',
      'a file, folder or quoted glob that exports tools; may be repeated (default: the bundled tools)',
      (path: string, before: readonly string[] = []) => [...before, path],
    )
    .option(
      '--manifests <folder>',
      'the tools of the manifests in a folder, instead of the bundled ones',
    )
    .option(
      '--mcp <file>',
      'the tools of the MCP servers that a settings file names, instead of the bundled ones; with tooldex-pins.json beside it only those that were approved',
    )
    .option(
      '--trust-auto-approve',
      'with --mcp: the tools that the settings of another program approve run without approval',
    )
    .option(
      '--persona <name>',
      'calls are made as this persona; with --manifests: its tools, as it sees them',
    )
    .option('--json', 'print JSON');
}
