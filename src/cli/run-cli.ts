import { Command as Program, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { isToolError } from '../core/errors.js';
import type { ImportOptions } from '../load/import-modules.js';
import type { Command } from './command/command.js';
import { addOptions, defineCommand, valuesOf } from './command/define-command.js';
import { TOOL_OPTIONS } from './command/options.js';
import { EXIT } from './terminal/exit-codes.js';
import { LONGEST_LINE } from './terminal/table.js';
import { paint, type Dialog, type Terminal } from './terminal/terminal.js';

/** The codes of errors about the command line itself. */
const WRONG_USAGE: ReadonlySet<string> = new Set([
  'TOOL_NOT_FOUND',
  'INVALID_ARGUMENT',
  'INVALID_INPUT',
  'UNKNOWN_CALL',
  'ALREADY_RESOLVED',
]);

/** A command in the list of all commands. Its file is imported when the command line names it. */
type Listed = readonly [operands: string, summary: string, load: () => Promise<Command>];

const catalogue = () => import('./commands/catalogue.js');
const find = () => import('./commands/find.js');
const run = () => import('./commands/run.js');
const login = () => import('./commands/mcp-login.js');
const pins = () => import('./commands/mcp-pins.js');
const grants = () => import('./commands/grants.js');
const pending = () => import('./commands/pending.js');

const COMMANDS: Readonly<Record<string, Listed>> = {
  list: ['', 'List the tools, one per line', async () => (await catalogue()).list],
  show: ['<tool>', 'Show everything about a tool', async () => (await catalogue()).show],
  stats: [
    '',
    'Count the tools by access, danger, category …',
    async () => (await catalogue()).stats,
  ],
  search: [
    '<request...>',
    'Find the tools that fit a request, and say why they fit',
    async () => (await find()).search,
  ],
  select: [
    '<request...>',
    'Show which tools a model would get for a request, why, and what they cost',
    async () => (await find()).select,
  ],
  export: [
    '',
    'Print the tools as JSON for a model API or MCP',
    async () => (await find()).exportTools,
  ],
  run: [
    '<tool>',
    'Run a tool. Asks before a call that changes something',
    async () => (await run()).run,
  ],
  plan: [
    '<file>',
    'Show which calls of a JSON list run together, wait, or need approval (- reads standard input)',
    async () => (await run()).plan,
  ],
  chat: [
    '[prompt...]',
    'Let a model use the tools. Without --model, a scripted demo needs no key',
    async () => (await import('./chat/chat.js')).chat,
  ],
  lint: [
    '',
    'Check the metadata of tools. Exits with 1 if there is something to fix',
    async () => (await import('./commands/lint.js')).lint,
  ],
  validate: [
    '<files...>',
    'Check manifest files, or folders of them. Exits with 1 if there is an error',
    async () => (await import('./commands/validate.js')).validate,
  ],
  audit: [
    '',
    'Compare what tools declare with what their code does. Exits with 1 if a tool does more',
    async () => (await import('./commands/audit.js')).audit,
  ],
  eval: [
    '<requests>',
    'Measure whether the right tools reach the model, with a file of requests',
    async () => (await import('./commands/eval.js')).evaluate,
  ],
  serve: [
    '',
    'Serve the tools over HTTP: JSON for programs and a page for people',
    async () => (await import('./commands/serve.js')).serve,
  ],
  'mcp serve': [
    '',
    'Serve the tools to an MCP client, on standard input and output or over HTTP',
    async () => (await import('./commands/mcp-serve.js')).mcpServe,
  ],
  'mcp list': [
    '',
    'List MCP servers, their tools, and suggested settings',
    async () => (await import('./commands/mcp-list.js')).mcpList,
  ],
  'mcp login': [
    '<server>',
    'Log in to an MCP server in a browser',
    async () => (await login()).mcpLogin,
  ],
  'mcp logout': [
    '<server>',
    'Delete the login to an MCP server',
    async () => (await login()).mcpLogout,
  ],
  'mcp pins verify': [
    '',
    'List what is new, changed or gone since it was approved. Made for CI',
    async () => (await pins()).verify,
  ],
  'mcp pins diff': ['[tools...]', 'Show every difference in full', async () => (await pins()).diff],
  'mcp pins approve': [
    '[tools...]',
    'Show every difference, and pin it once you approve',
    async () => (await pins()).approve,
  ],
  pending: [
    '[id]',
    'List the calls of running agents that wait for a person',
    async () => (await pending()).pending,
  ],
  approve: ['<id>', 'Approve a waiting call', async () => (await pending()).approve],
  deny: ['<id>', 'Deny a waiting call', async () => (await pending()).deny],
  answer: [
    '<id> <json>',
    'Answer a question, or give a manual call its result',
    async () => (await pending()).answer,
  ],
  'grants list': ['', 'List the grants that are in force', async () => (await grants()).listGrants],
  'grants revoke': [
    '[ids...]',
    'End grants, so that calls need approval again',
    async () => (await grants()).revokeGrants,
  ],
  init: [
    '',
    'Add a first tool, its test and a configuration to a project',
    async () => (await import('./commands/init.js')).init,
  ],
};

const OVERVIEW: Listed = [
  '',
  'Look at the tools of an agent: what they may do, what they cost, and which fit a request. Run them safely. Without a command, tooldex shows an overview.',
  async () => (await import('./commands/overview.js')).overview,
];

/** Runs a command line, and returns its exit code. */
export async function runCli(
  args: readonly string[],
  terminal: Dialog,
  cwd: string,
  imports: ImportOptions = {},
): Promise<number> {
  try {
    const words = wordsOf(args);
    const isHelp = words[0] === 'help' || args.some((each) => each === '--help' || each === '-h');
    const name = nameOf(words.filter((word) => word !== 'help'));
    const [operands, summary, load] = COMMANDS[name] ?? OVERVIEW;
    const isCommand = name in COMMANDS || (words.length === 0 && !isHelp);
    const program = programOf(`tooldex ${name}`.trim(), isCommand ? operands : '')
      .description(name in COMMANDS || name === '' ? summary : `The ${name} commands.`)
      .helpCommand(false)
      .showHelpAfterError(`To see how to use it, run tooldex ${`${name} --help`.trim()}`)
      .configureHelp({ helpWidth: Math.min(terminal.columns, LONGEST_LINE) })
      .exitOverride()
      .configureOutput({
        writeOut: (text) => terminal.out(text.trimEnd()),
        writeErr: (text) => terminal.err(text.trimEnd()),
      });
    if (name === '') program.version(packageJson.version);
    if (!isCommand)
      for (const [each, [itsOperands, about]] of Object.entries(COMMANDS))
        if (each.startsWith(name))
          program.addCommand(
            programOf(each.slice(name.length).trim(), itsOperands).description(about),
          );
    const command = isCommand || name === '' ? await load() : NO_COMMAND;
    defineCommand(program, command);
    const rest = [...args];
    for (const word of words[0] === 'help' ? ['help', ...name.split(' ')] : name.split(' '))
      if (rest.includes(word)) rest.splice(rest.indexOf(word), 1);
    if (words[0] === 'help') rest.push('--help');
    try {
      program.parse(rest, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode === 0) return EXIT.ok;
      const advice = adviceFor(error.code, command, program.opts());
      if (advice !== undefined) terminal.err(advice);
      if (wantsJson(args))
        printJsonError(terminal, 'INVALID_ARGUMENT', error.message.replace(/^error: /, ''));
      return EXIT.usage;
    }
    const options = valuesOf(program, command.options) as { readonly json: boolean };
    return (await command.run({ terminal, cwd, imports, options, words: program.args })) ?? EXIT.ok;
  } catch (error) {
    if (!isToolError(error)) throw error;
    reportError(terminal, args, error.code, error.message);
    return WRONG_USAGE.has(error.code) ? EXIT.usage : EXIT.findings;
  }
}

/** Stands in for the command of a group, such as `mcp`. */
const NO_COMMAND: Command = { options: {}, examples: [], run: () => EXIT.usage };

function programOf(name: string, operands: string): Program {
  const program = new Program(name);
  return operands === '' ? program : program.arguments(operands);
}

/** Returns the words of a command line without options. The first of them name the command. */
function wordsOf(args: readonly string[]): readonly string[] {
  const program = new Program().allowUnknownOption().exitOverride();
  addOptions(program.configureOutput({ writeErr: () => undefined }), TOOL_OPTIONS);
  try {
    return program.parseOptions([...args]).operands;
  } catch {
    return []; // Wrong usage, which is reported later.
  }
}

/** Returns the longest name of a command, or of a group of commands, that some words begin with. */
function nameOf(words: readonly string[]): string {
  const isName = (name: string) =>
    Object.keys(COMMANDS).some((each) => `${each} `.startsWith(`${name} `));
  let length = 0;
  while (length < words.length && isName(words.slice(0, length + 1).join(' '))) length += 1;
  return words.slice(0, length).join(' ');
}

/** Returns what to do instead, for mistakes that are common. */
function adviceFor(
  code: string,
  { advice, options }: Command,
  { tools }: { readonly tools?: unknown },
): string | undefined {
  const isExcess = code === 'commander.excessArguments';
  if (isExcess || code === 'commander.unknownOption') {
    if (advice !== undefined) return advice;
    if (isExcess && tools !== undefined)
      return '--tools takes one value: repeat it, or quote the glob.';
    if (isExcess && 'tools' in options)
      return 'To name the files, folders and globs of tools, use --tools.';
  }
  return undefined;
}

/** Reports why a command ended without a result. Programs that asked for JSON get the error in place of the result. */
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

/** Returns true if the command line asks for JSON. The command line may be what's wrong, so it isn't parsed. */
function wantsJson(args: readonly string[]): boolean {
  const [words] = ` ${args.join(' ')} `.split(' -- ');
  return / --(?:json|format[ =]json) /.test(`${words!} `);
}
