import { Option, type Command } from 'commander';
import { AccessMode, CostTier, DangerLevel } from '../core/enums.js';
import { SCHEMA_LEVELS } from '../tool/render/render-tool.js';
import { PINS_EXIT_HELP } from './exit-codes.js';
import type { ImportOptions } from './load/import-modules.js';
import type { LoadedRegistry } from './load/load-registry.js';
import { addExecutionOptions, addFilterOptions, EXPORT_APIS, EXPORT_TARGETS, filterOf, LINT_FORMATS, positiveInteger, wholeNumber, type CommandOptions } from './options.js';
import type { Dialog } from './terminal.js';

/** Does the work of a command on the loaded tools. One that gives the exit code of problems shows them itself. */
export type RunOnTools = (loaded: LoadedRegistry, options: CommandOptions, words: readonly string[]) => Promise<void | number>;

/** Does the work of a command that loads no tools, or its own; gives the exit code. */
export type RunAlone = (options: CommandOptions, words: readonly string[]) => Promise<number>;

/** The program that commands are added to, and what they work with. They import their code when they run: `--help` answers without it. */
export interface CommandHost {
  readonly program: Command;
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly importOptions: ImportOptions;
  /** Makes a command load the tools and work on them. */
  readonly onTools: (command: Command, examples: readonly string[], run: RunOnTools, options?: { readonly showsProblems?: boolean }) => void;
  /** Makes a command work without the tools. */
  readonly alone: (command: Command, examples: readonly string[], run: RunAlone) => void;
}

/** Adds all commands to the program. */
export function defineCommands(host: CommandHost): void {
  defineLooking(host);
  defineRunning(host);
  defineServing(host);
  defineMcp(host);
}

/** Adds the commands that look at tools and check them. */
function defineLooking({ program, terminal, cwd, onTools, alone }: CommandHost): void {
  onTools(addFilterOptions(program.command('list').description('one line a tool, with every axis')), ['list', 'list --category git --access readonly', 'list --danger high,critical --json'], async (loaded, options) => {
    const { list } = await import('./commands/catalogue.js');
    list(terminal, loaded, filterOf(options), options.json === true);
  });
  onTools(program.command('show <tool>').description('everything known of one tool'), ['show git_diff', 'show read_file --json'], async (loaded, { json }, [name]) => {
    const { show } = await import('./commands/catalogue.js');
    show(terminal, loaded, name!, json === true);
  });
  onTools(program.command('stats').description('how many tools have which value of every axis'), ['stats', 'stats --tools "tools/**/*.ts" --json'], async (loaded, { json }) => {
    const { stats } = await import('./commands/catalogue.js');
    stats(terminal, loaded, json === true);
  });
  const search = program.command('search <request...>').description('the tools that fit a request, with reasons').option('--limit <n>', 'at most so many tools', positiveInteger, 10);
  onTools(search, ['search "run the tests"', 'search show diff --limit 3'], async (loaded, { json, limit }, words) => {
    const { search } = await import('./commands/find.js');
    search(terminal, loaded, words.join(' '), limit, json === true);
  });
  const select = program
    .command('select <request...>')
    .description('the tools a model would see for a request, why, and what they cost')
    .option('--max <n>', 'at most so many tools, beside those of critical priority', wholeNumber)
    .option('--no-critical-outside-limit', 'tools of critical priority take places of --max')
    .option('--budget <tokens>', 'what all tools together may cost the prompt', wholeNumber)
    .option('--stage <name>', 'only tools of this stage, beside the guaranteed')
    .option('--task-type <name>', 'only tools for this type of task, beside the guaranteed')
    .option('--include <names>', 'tools that are offered in any case; repeat, or separate with commas', separated)
    .option('--exclude <names>', 'tools that are not offered; repeat, or separate with commas', separated)
    .option('--access <modes>', `only these access modes (${Object.values(AccessMode).join(', ')}); repeat, or separate with commas`, separated)
    .addOption(new Option('--max-danger <level>', 'at most this dangerous').choices(Object.values(DangerLevel)))
    .addOption(new Option('--max-cost <tier>', 'the maximum cost tier').choices(Object.values(CostTier)));
  onTools(select, ['select "fix the failing test" --max 6', 'select "what changed?" --stage reading --budget 600'], async (loaded, options, words) => {
    const { select, selectionRequestOf } = await import('./commands/find.js');
    return select(terminal, loaded, selectionRequestOf(words.join(' '), options), options.json === true);
  });
  const exporting = addExportOptions(program.command('export').description('the tools as JSON for a model API or for MCP'));
  onTools(exporting, ['export --to openai', 'export --to anthropic --select "run the tests" --max 8', 'export --to mcp --category git'], async (loaded, options) => {
    const { exportTools } = await import('./commands/find.js');
    return exportTools(terminal, loaded, options);
  });
  const formatted = (command: Command, what: string) => command.addOption(new Option('--format <format>', `how ${what} are printed`).choices(LINT_FORMATS).default('table'));
  onTools(
    formatted(program.command('lint').description('what to fix in the metadata; exits with 1 when there is something'), 'findings'),
    ['lint', 'lint --tools ./tools --format github'],
    async (loaded, { json, format }) => {
      const { lint } = await import('./commands/check.js');
      return lint(terminal, loaded, json === true ? 'json' : format);
    },
    { showsProblems: true },
  );
  alone(
    formatted(program.command('validate <files...>').description('everything that is wrong in manifest files, or in folders of them; exits with 1 when there is an error'), 'problems'),
    ['validate functions.json', 'validate ./manifests --format github'],
    async ({ json, format }, places) => {
      const { validate } = await import('./commands/check.js');
      return validate(terminal, places, json === true ? 'json' : format, cwd);
    },
  );
}

/** Adds the options of `tooldex export` to its command. */
export function addExportOptions(command: Command): Command {
  return addFilterOptions(
    command
      .addOption(new Option('--to <target>', 'for whose interface').choices(EXPORT_TARGETS).makeOptionMandatory())
      .addOption(new Option('--api <api>', 'with --to openai: which of its two interfaces (default: chat)').choices(EXPORT_APIS))
      .addOption(new Option('--level <level>', 'how much of every tool is shown').choices(SCHEMA_LEVELS))
      .option('--strict', 'with --to openai: in strict mode where a tool allows it')
      .option('--select <request>', 'only the tools a model would see for this request, each at the level chosen for it')
      .option('--max <n>', 'with --select: at most so many tools', wholeNumber)
      .option('--budget <tokens>', 'with --select: what all tools together may cost the prompt', wholeNumber),
  );
}

/** Adds the commands that run tools. */
function defineRunning({ program, terminal, cwd, importOptions, onTools }: CommandHost): void {
  onTools(
    addExecutionOptions(program.command('run <tool>').description('runs one tool, and asks before it changes something').option('--input <json>', 'its arguments as JSON, @file, or - for standard input (default: {})')),
    ['run list_directory', `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`, 'run git_commit --input @commit.json'],
    async (loaded, options, [name]) => {
      const { run } = await import('./commands/run.js');
      return run(terminal, loaded, name!, options, cwd);
    },
  );
  onTools(
    addExecutionOptions(program.command('plan <file>').description('which calls of a JSON list [{"name", "input"}] run together, which need approval, and why some wait; - reads standard input').option('--run', 'then run them')),
    ['plan calls.json', 'plan - --run --yes low < calls.json'],
    async (loaded, options, [file]) => {
      const { plan } = await import('./commands/run.js');
      return plan(terminal, loaded, file!, options, cwd);
    },
  );
  const chat = program
    .command('chat [prompt...]')
    .description('lets a model use the tools, and asks before they change something; without --model a scripted one')
    .option('--model <model>', 'a file whose default export is a model of the AI SDK or a function, or provider/name (default: demo, a script that needs no key)')
    .option('--system <text>', 'what the model is told before all messages')
    .option('--session <file>', 'keeps the conversation in a file, and goes on with the one that is there')
    .option('--max-turns <n>', 'how often the model is asked before it must have answered (default: 8)', positiveInteger)
    .option('--max-tools <n>', 'the model sees at most so many tools that fit, and one that finds others', positiveInteger)
    .option('--manual', 'no tool is run: you answer every call')
    .option('--accept-changed', 'runs calls of a session although their tools are declared otherwise now')
    .option('--answer <call=value>', 'the answer to a question, or the result of a call as JSON or text; may be repeated', repeated)
    .option('--approve <call>', 'approves a pending call; call=<json> gives it other arguments', repeated)
    .option('--deny <call>', 'denies a pending call; call=<text> gives the reason', repeated)
    .option('--rerun <call>', 'runs a call again whose outcome is not known', repeated);
  onTools(
    addExecutionOptions(chat),
    ['chat', 'chat "what is in this folder?"', 'chat --model ./model.mjs --session talk.json', 'chat --session talk.json --approve call-2'],
    async (loaded, options, words) => {
      const { chat } = await import('./chat/chat.js');
      return chat(terminal, loaded, words, options, cwd, importOptions);
    },
  );
}

/** Adds the command that serves the catalogue. */
function defineServing({ program, terminal, cwd, importOptions, alone }: CommandHost): void {
  const serve = program
    .command('serve')
    .description('shows the tools over HTTP: JSON for programs, a page for users; manifests are watched')
    .option('--port <n>', 'the port to listen on; 0 takes any that is free (default: 4780)', wholeNumber)
    .option('--host <address>', 'the address to listen on; any but 127.0.0.1 needs a token')
    .option('--token <text>', 'what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN, which other users cannot see)')
    .option('--allowed-host <name>', 'a name under which it is asked for instead of localhost; may be repeated', repeated)
    .option('--redis <url>', 'shows the health that all processes on this Redis measured (default: the variable TOOLDEX_REDIS_URL, which other users cannot see)')
    .option('--redis-prefix <text>', 'what those processes put before their keys: `prefix` of RedisStateStore (default: tooldex:)');
  alone(serve, ['serve', 'serve --manifests ./manifests --port 8080', 'serve --mcp .mcp.json', 'serve --redis redis://127.0.0.1:6379'], async (options) => {
    const { serveCatalogue } = await import('./commands/serve.js');
    return serveCatalogue(terminal, options, cwd, importOptions);
  });
}

/** Adds `tooldex mcp` and the commands below it. */
function defineMcp({ program, terminal, cwd, onTools, alone }: CommandHost): void {
  const mcp = program.command('mcp').description('MCP: serves the tools, looks at other servers, and pins what they offer');
  const serve = mcp
    .command('serve')
    .description('serves the tools to an MCP client on standard input and output, or over HTTP')
    .option('--http', 'listens for clients over streamable HTTP')
    .option('--port <n>', 'with --http: the port; 0 takes any that is free (default: 4781)', wholeNumber)
    .option('--host <address>', 'with --http: the address; any but 127.0.0.1 needs a token')
    .option('--token <text>', 'with --http: what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN)')
    .option('--allowed-host <name>', 'with --http: a name under which it is asked for; may be repeated', repeated)
    .option('--search', 'lists the tool that finds others instead of all tools (default: above 128 tools)')
    .option('--no-search', 'lists all tools, however many');
  onTools(addExecutionOptions(addFilterOptions(serve)), ['mcp serve', 'mcp serve --http --port 4781', 'mcp serve --manifests ./manifests --yes low'], async (loaded, options) => {
    const { mcpServe } = await import('./commands/mcp.js');
    return mcpServe(terminal, loaded, options);
  });
  const withConfig = (command: Command) => command.option('--config <file>', 'the settings of MCP servers (default: .mcp.json or mcp.json)');
  alone(withConfig(mcp.command('list').description('the servers of a settings file, and the tools they offer now')), ['mcp list', 'mcp list --config servers.json --json'], async (options) => {
    const { mcpList } = await import('./commands/mcp.js');
    return mcpList(terminal, options, cwd);
  });
  const pins = mcp.command('pins').description('compares what servers offer with what was approved');
  const approve = pins.command('approve [tools...]').description('shows how it differs, and pins it after approval').option('--all', 'all that differ').option('--yes', 'without a question');
  for (const [action, command, examples] of [
    ['verify', pins.command('verify').description('what is new, changed or gone; for CI'), ['mcp pins verify']],
    ['diff', pins.command('diff [tools...]').description('how it differs, leaf by leaf'), ['mcp pins diff', 'mcp pins diff memory.read_graph']],
    ['approve', approve, ['mcp pins approve --all', 'mcp pins approve memory.read_graph --yes']],
  ] as const) {
    alone(withConfig(command).option('--lock <file>', 'the file with what was approved (default: tooldex-pins.json beside the settings)').addHelpText('after', PINS_EXIT_HELP), examples, async (options, tools) => {
      const { mcpPins } = await import('./commands/mcp-pins.js');
      return mcpPins(terminal, action, tools, options, cwd);
    });
  }
}

function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Collects names that are given one by one or separated with commas. */
function separated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...value.split(',').map((name) => name.trim()).filter((name) => name !== '')];
}
