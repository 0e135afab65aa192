import { Option } from 'commander';
import { addExecutionOptions } from '../options/execution-options.js';
import { addExportOptions } from '../options/export-options.js';
import { addFilterOptions, filterOf, positiveInteger } from '../options/filter-options.js';
import { LINT_FORMATS } from '../lint-formats.js';
import { addSelectionOptions, selectionRequestOf } from '../options/selection-options.js';
import type { CommandHost } from './command-host.js';

/** Defines the commands that look at tools, and those that run them. */
export function defineToolCommands({ program, terminal, cwd, onTools }: CommandHost): void {
  onTools(
    addFilterOptions(program.command('list').description('one line a tool, with every axis')),
    ['list', 'list --category git --access readonly', 'list --danger high,critical --json'],
    async () => {
      const { list } = await import('../commands/list.js');
      return (loaded, options) => list(terminal, loaded, filterOf(options), options.json === true);
    },
  );
  onTools(program.command('show <tool>').description('everything known of one tool'), ['show git_diff', 'show read_file --json'], async () => {
    const { show } = await import('../commands/show.js');
    return (loaded, { json }, [name]) => show(terminal, loaded, name!, json === true);
  });
  onTools(
    program.command('search <request...>').description('the tools that fit a request, with reasons').option('--limit <n>', 'at most so many tools', positiveInteger, 10),
    ['search "run the tests"', 'search show diff --limit 3'],
    async () => {
      const { search } = await import('../commands/search.js');
      return (loaded, { json, limit }, words) => search(terminal, loaded, words.join(' '), limit, json === true);
    },
  );
  onTools(
    addSelectionOptions(program.command('select <request...>').description('the tools a model would see for a request, why, and what they cost')),
    ['select "fix the failing test" --max 6', 'select "what changed?" --stage reading --budget 600'],
    async () => {
      const { select } = await import('../commands/select.js');
      return (loaded, options, words) => select(terminal, loaded, selectionRequestOf(words.join(' '), options), options.json === true);
    },
  );
  onTools(program.command('stats').description('how many tools have which value of every axis'), ['stats', 'stats --tools "tools/**/*.ts" --json'], async () => {
    const { stats } = await import('../commands/stats.js');
    return (loaded, { json }) => stats(terminal, loaded, json === true);
  });
  onTools(
    program
      .command('lint')
      .description('what to mend in the metadata; exits with 1 when there is something')
      .addOption(new Option('--format <format>', 'how findings are printed').choices(LINT_FORMATS).default('table')),
    ['lint', 'lint --tools ./tools --format github'],
    async () => {
      const { lint } = await import('../commands/lint.js');
      return (loaded, { json, format }) => lint(terminal, loaded, json === true ? 'json' : format);
    },
    { showsProblems: true },
  );
  onTools(
    addExecutionOptions(
      program
        .command('run <tool>')
        .description('runs one tool, and asks before it changes something')
        .option('--input <json>', 'its arguments as JSON, @file, or - for standard input (default: {})'),
    ),
    ['run list_directory', `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`, 'run git_commit --input @commit.json'],
    async () => {
      const { run } = await import('../commands/run.js');
      return (loaded, options, [name]) => run(terminal, loaded, name!, options, cwd);
    },
  );
  onTools(
    addExecutionOptions(
      program
        .command('plan <file>')
        .description('which calls of a JSON list [{"name", "input"}] run together, which must be asked, and why some wait; - reads standard input')
        .option('--run', 'then run them'),
    ),
    ['plan calls.json', 'plan - --run --yes low < calls.json'],
    async () => {
      const { plan } = await import('../commands/plan.js');
      return (loaded, options, [file]) => plan(terminal, loaded, file!, options, cwd);
    },
  );
  onTools(
    addExportOptions(program.command('export').description('the tools as JSON for a model API or for MCP')),
    ['export --to openai', 'export --to anthropic --select "run the tests" --max 8', 'export --to mcp --category git'],
    async () => {
      const { exportTools } = await import('../commands/export.js');
      return (loaded, options) => exportTools(terminal, loaded, options);
    },
  );
}
