import { Command as Program, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { isToolError } from '../core/errors.js';
import type { ModuleOptions } from '../load/import-modules.js';
import type { Command, Context } from './command/command.js';
import { defineCommand, optionValuesOf } from './command/define-command.js';
import { EXIT } from './terminal/exit-codes.js';
import { LONGEST_LINE } from './terminal/table.js';
import { plainJson, report, type Dialog, type Terminal } from './terminal/terminal.js';

/** Codes of errors about the command line itself. */
const WRONG_USAGE: ReadonlySet<string> = new Set([
  'TOOL_NOT_FOUND',
  'INVALID_ARGUMENT',
  'INVALID_INPUT',
  'UNKNOWN_CALL',
  'ALREADY_RESOLVED',
]);

/**
 * A file of commands, imported when the command line uses one of these commands. `summaries`
 * describes each command.
 */
type Family = readonly [
  load: () => Promise<{ readonly commands: Readonly<Record<string, Command>> }>,
  summaries: Readonly<Record<string, string>>,
];

const FAMILIES: readonly Family[] = [
  [
    () => import('./commands/catalogue.js'),
    {
      list: 'List the tools, one per line, or count them',
      'show <tool>': 'Show everything about a tool',
    },
  ],
  [
    () => import('./commands/find.js'),
    {
      'search <request...>': 'Find the tools that match a request, and explain why they match',
      'select <request...>':
        'Show which tools a model would get for a request, why, and what they cost',
      export: 'Print the tools as JSON for a model API or MCP',
    },
  ],
  [
    () => import('./commands/run.js'),
    {
      'run <tool>': 'Run a tool. Asks for approval before a call that changes something',
      'plan <file>':
        'Show which calls in a JSON list run in parallel, wait, or need approval (- reads standard input)',
    },
  ],
  [
    () => import('./chat/chat.js'),
    {
      'chat [prompt...]':
        'Let a model use the tools. Without --model, runs a scripted demo that needs no API key',
    },
  ],
  [
    () => import('./commands/lint.js'),
    { lint: "Check the tools' metadata. Exits with 1 if there is something to fix" },
  ],
  [
    () => import('./commands/validate.js'),
    {
      'validate <files...>': 'Check manifest files or folders. Exits with 1 if there is an error',
    },
  ],
  [
    () => import('./commands/audit.js'),
    {
      audit:
        'Compare what tools declare with what their code does. Exits with 1 if a tool does more',
    },
  ],
  [
    () => import('./commands/eval.js'),
    {
      'eval <requests>':
        'Measure whether the right tools reach the model, using a file of requests',
    },
  ],
  [
    () => import('./commands/enrich.js'),
    {
      enrich: 'Let a model write hints, so that requests in other words find the tools',
    },
  ],
  [
    () => import('./commands/serve.js'),
    { serve: 'Serve the tools over HTTP: JSON for programs and a page for people' },
  ],
  [
    () => import('./commands/mcp-serve.js'),
    {
      'mcp serve': 'Serve the tools to an MCP client, over standard input and output or HTTP',
    },
  ],
  [
    () => import('./commands/mcp-servers.js'),
    {
      'mcp list': 'List MCP servers, their tools, and suggested settings',
      'mcp login <server>': 'Log in to an MCP server in a browser',
      'mcp logout <server>': 'Delete the login to an MCP server',
    },
  ],
  [
    () => import('./commands/mcp-pins.js'),
    {
      'mcp pins verify':
        'List tools that are new, changed or removed since they were approved. Made for CI',
      'mcp pins diff [tools...]': 'Show every difference in full',
      'mcp pins approve [tools...]': 'Show every difference, and pin it after you approve',
    },
  ],
  [
    () => import('./commands/pending.js'),
    {
      'pending [id]': "List the running agents' calls that are waiting for a person",
      'approve <id>': 'Approve a waiting call',
      'deny <id>': 'Deny a waiting call',
      'answer <id> <json>': 'Answer a question, or give a manual call its result',
      'grants list': 'List the active grants',
      'grants revoke [ids...]': 'Revoke grants, so that calls need approval again',
    },
  ],
  [
    () => import('./commands/init.js'),
    { init: 'Add a first tool, its test and a configuration to a project' },
  ],
  [() => import('./commands/overview.js'), { overview: 'Show on one page what tooldex does' }],
];

/** The descriptions of groups of commands, by their first word. */
const GROUPS: Readonly<Record<string, string>> = {
  mcp: 'List MCP servers, log in to them, approve their tools, and serve your own tools',
  pins: 'Check and approve what MCP servers say about their tools',
  grants: 'List and revoke grants, which let similar calls run without approval',
};

/** Runs a command line and returns its exit code. */
export async function runCli(
  args: readonly string[],
  terminal: Dialog,
  cwd: string,
  imports: ModuleOptions = {},
): Promise<number> {
  const line = new CommandLine({ terminal, cwd, imports }, args[0]?.startsWith('-') !== false);
  try {
    return await line.run(args);
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      const advice = adviceFor(error.code, line.current, args) ?? 'For help, add --help.';
      const message = `${error.message.replace(/^error: |\.$/g, '')}. ${advice}`;
      if (error.code !== 'commander.help') reportError(terminal, args, 'INVALID_ARGUMENT', message);
      return EXIT.usage;
    }
    if (!isToolError(error)) throw error;
    reportError(terminal, args, error.code, error.message);
    return WRONG_USAGE.has(error.code) ? EXIT.usage : EXIT.findings;
  }
}

/** All commands, whose files are imported on use. */
class CommandLine {
  /** The command that the user named. */
  current: Command | undefined;
  #code: number = EXIT.ok;
  readonly #loaders = new Map<Program, () => Promise<Command | undefined>>();
  readonly #root: Program;

  constructor(
    readonly place: Pick<Context, 'terminal' | 'cwd' | 'imports'>,
    isOverview: boolean,
  ) {
    this.#root = rootProgram(place.terminal).hook('preSubcommand', this.#define);
    for (const [load, summaries] of FAMILIES)
      for (const [usage, summary] of Object.entries(summaries)) {
        const name = usage.replace(/ [<[].*/, '');
        const words = name.split(' ');
        const hidden = name === 'overview';
        const program = this.#group(words.slice(0, -1)).command(
          words.at(-1)! + usage.slice(name.length),
          { hidden, isDefault: hidden && isOverview },
        );
        this.#loaders.set(program.description(summary), async () => (await load()).commands[name]);
      }
  }

  async run(args: readonly string[]): Promise<number> {
    await this.#root.parseAsync(commandFirst(args, this.#root), { from: 'user' });
    return this.#code;
  }

  /** Returns the group of commands with these words, which it adds if it's missing. */
  #group(words: readonly string[]): Program {
    return words.reduce(
      (group, word) =>
        group.commands.find((each) => each.name() === word) ??
        group
          .command(word)
          .description(GROUPS[word]!)
          .helpCommand(false)
          .hook('preSubcommand', this.#define),
      this.#root,
    );
  }

  /** Adds a command's options when the command line uses the command. */
  readonly #define = async (_: Program, program: Program): Promise<void> => {
    const current = await this.#loaders.get(program)?.();
    if (current === undefined) return;
    this.current = current;
    defineCommand(program, current);
    program.action(async () => {
      const options = optionValuesOf(program, current.options) as { readonly json: boolean };
      const context = { ...this.place, options, words: program.args };
      this.#code = (await current.run(context)) ?? EXIT.ok;
    });
  };
}

function rootProgram(terminal: Dialog): Program {
  return new Program('tooldex')
    .description(
      "Inspect an agent's tools: what they may do, what they cost, and which match a request. Run them safely. Without a command, tooldex shows an overview.",
    )
    .version(packageJson.version)
    .helpCommand(false)
    .configureHelp({ helpWidth: Math.min(terminal.columns, LONGEST_LINE) })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      outputError: () => undefined,
    });
}

/** Moves the command name before the options that precede it. `help x` means `x --help`. */
function commandFirst(args: readonly string[], { commands }: Program): readonly string[] {
  if (args[0] === 'help') return [...args.slice(1), '--help'];
  const at = args.findIndex((arg) => commands.some((each) => each.name() === arg));
  return at > 0 ? [...args.slice(at), ...args.slice(0, at)] : args;
}

/** Returns advice for common mistakes. */
function adviceFor(
  code: string,
  { advice, options }: Partial<Command> = {},
  args: readonly string[],
): string | undefined {
  const isExcess = code === 'commander.excessArguments';
  if (!isExcess && code !== 'commander.unknownOption') return undefined;
  if (advice !== undefined || !isExcess || options?.['tools'] === undefined) return advice;
  return args.includes('--tools')
    ? '--tools takes one value: repeat the option, or quote the glob.'
    : 'To pass files, folders and globs of tools, use --tools.';
}

/**
 * Reports why a command ended without a result. Programs that requested JSON get the error in place
 * of the result.
 */
export function reportError(
  terminal: Terminal,
  args: readonly string[],
  code: string,
  message: string,
): void {
  report(terminal, 'red', 'error', message);
  if (wantsJson(args)) terminal.out(plainJson({ error: { code, message } }, 2));
}

/**
 * Returns true if the command line asks for JSON. Doesn't parse the command line, because it may be
 * invalid.
 */
function wantsJson(args: readonly string[]): boolean {
  return ` ${args.join(' ')} -- `.split(' -- ')[0]!.includes(' --json');
}
