import packageJson from '../../package.json' with { type: 'json' };
import { isToolError } from '../core/errors.js';
import { suggestNames } from '../core/issues.js';
import type { ImportOptions } from '../load/import-modules.js';
import type { Command } from './command.js';
import { flag, TOOL_OPTIONS, type Option } from './options.js';
import {
  checkWords,
  COMMON_OPTIONS,
  describeOption,
  parseCommandLine,
} from './parse-command-line.js';
import { EXIT } from './terminal/exit-codes.js';
import { LONGEST_LINE, wrapWords } from './terminal/table.js';
import { paint, type Dialog, type Terminal } from './terminal/terminal.js';
import { wrongUsage } from './terminal/wrong-usage.js';

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
  '[command]',
  'Look at the tools of an agent: what they may do, what they cost, and which fit a request. Run them safely. Without a command, tooldex shows an overview.',
  async () => (await import('./commands/overview.js')).overview,
];
const VERSION = { version: flag('show the version') };

/** Runs a command line, and returns its exit code. */
export async function runCli(
  args: readonly string[],
  terminal: Dialog,
  cwd: string,
  imports: ImportOptions = {},
): Promise<number> {
  try {
    const known = { ...COMMON_OPTIONS, ...TOOL_OPTIONS, ...VERSION };
    const line = parseCommandLine(args, known, { lenient: true });
    const { version } = line.options;
    const wantsHelp = line.options['help'] === true || line.words[0] === 'help';
    const named = line.words[0] === 'help' ? line.words.slice(1) : line.words;
    if (version === true && named.length === 0) {
      terminal.out(packageJson.version);
      return EXIT.ok;
    }
    const name = nameOf(named);
    const group = Object.keys(COMMANDS).filter(
      (each) => name === '' || each.startsWith(`${name} `),
    );
    if (group.length > 0 && (wantsHelp || name !== '')) {
      terminal[wantsHelp ? 'out' : 'err'](await helpOf(terminal, name, group));
      return wantsHelp ? EXIT.ok : EXIT.usage;
    }
    const [operands, , load] = COMMANDS[name] ?? OVERVIEW;
    if (wantsHelp) {
      terminal.out(await helpOf(terminal, name, []));
      return EXIT.ok;
    }
    const command = await load();
    const { words, options } = parseLine(args, name, operands, command);
    return (
      (await command.run({
        terminal,
        cwd,
        imports,
        words,
        options: options as { readonly json: boolean },
      })) ?? EXIT.ok
    );
  } catch (error) {
    if (!isToolError(error)) throw error;
    reportError(terminal, args, error.code, error.message);
    return WRONG_USAGE.has(error.code) ? EXIT.usage : EXIT.findings;
  }
}

/** Returns the name of the command, or of the group of commands, that a command line begins with. */
function nameOf(words: readonly string[]): string {
  const names = Object.keys(COMMANDS);
  const begins = (name: string) => names.some((each) => `${each} `.startsWith(`${name} `));
  let name = '';
  for (const word of words) {
    const longer = `${name} ${word}`.trim();
    if (!begins(longer)) break;
    name = longer;
  }
  if (words.length === 0 || name in COMMANDS) return name;
  const asked = words.slice(0, name === '' ? 1 : name.split(' ').length + 1).join(' ');
  if (asked === name) return name;
  const [meant] = suggestNames(asked, names);
  throw wrongUsage(
    `Unknown command: ${asked}. ${meant === undefined ? '' : `Did you mean ${meant}? `}Run tooldex --help to see all commands.`,
  );
}

/** Reads the command line of a command. Every message about wrong usage ends with its help. */
function parseLine(args: readonly string[], name: string, operands: string, command: Command) {
  try {
    const { advice } = command;
    const table = { ...command.options, ...COMMON_OPTIONS };
    const parsed = parseCommandLine(
      args,
      table,
      advice === undefined ? {} : { advice: ` ${advice}` },
    );
    const words = parsed.words.slice(name === '' ? 0 : name.split(' ').length);
    checkWords(name === '' ? '' : operands, words, command, parsed.options);
    return { ...parsed, words };
  } catch (error) {
    if (!isToolError(error)) throw error;
    throw wrongUsage(`${error.message} Run tooldex ${`${name} --help`.trim()} to see its options.`);
  }
}

/** Returns the help of a command or of a group of commands. */
async function helpOf(terminal: Terminal, name: string, group: readonly string[]): Promise<string> {
  const width = Math.min(terminal.columns, LONGEST_LINE);
  const isGroup = group.length > 0 && name !== '';
  const [operands, summary, load] = isGroup
    ? ['<command>', `The ${name} commands`, undefined]
    : (COMMANDS[name] ?? OVERVIEW);
  const { options = {}, examples = [], notes = '' } = (await load?.()) ?? {};
  const all = { ...options, ...COMMON_OPTIONS, ...(name === '' && VERSION) };
  const block = (title: string, rows: readonly (readonly [string, string])[]) => {
    const margin = Math.min(30, Math.max(...rows.map(([left]) => left.length)) + 4);
    const lines = rows.flatMap(([left, right]) => {
      const wrapped = wrapWords(right, width - margin);
      const first = `  ${left}`.padEnd(margin);
      const head = left.length + 4 > margin ? [first] : [first + wrapped.shift()!];
      return [...head, ...wrapped.map((line) => ' '.repeat(margin) + line)];
    });
    return rows.length === 0 ? [] : [`\n${paint(terminal, 'bold', title)}`, ...lines];
  };
  return [
    `Usage: tooldex ${[name, operands, '[options]'].filter((part) => part !== '').join(' ')}`,
    '',
    ...wrapWords(`${summary}${summary.endsWith('.') ? '' : '.'}`, width),
    ...block(
      'Commands:',
      group.map((each) => [`${each} ${COMMANDS[each]![0]}`.trim(), COMMANDS[each]![1]]),
    ),
    ...block(
      'Options:',
      Object.entries(all).map(([each, option]) => describeOption(each, option as Option)),
    ),
    ...(examples.length === 0 ? [] : [`\n${paint(terminal, 'bold', 'Examples:')}`]),
    ...examples.map((example) => `  $ tooldex ${example}`.trimEnd()),
    ...(notes === '' ? [] : [notes]),
    ...(group.length === 0
      ? []
      : [
          `\nRun tooldex ${`${name} `.trimStart()}<command> --help to see the options of a command.`,
        ]),
  ].join('\n');
}

/** Reports why a command ended without a result. Programs that asked for JSON get the error in place of the result. */
export function reportError(
  terminal: Terminal,
  args: readonly string[],
  code: string,
  message: string,
): void {
  terminal.err(`${paint(terminal, 'red', 'error')} ${message}`);
  if (wantsJson(args)) terminal.out(JSON.stringify({ error: { code, message } }, null, 2));
}

/** Returns true if the command line asks for JSON. The command line may be what's wrong, so it isn't parsed. */
function wantsJson(args: readonly string[]): boolean {
  const [words] = ` ${args.join(' ')} `.split(' -- ');
  return / --(?:json|format[ =]json) /.test(`${words!} `);
}
