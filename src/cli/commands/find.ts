import { Option } from 'commander';
import { AccessMode, CostTier, DangerLevel, Priority } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import type { ExportInput } from '../../interop/export/exported-tools.js';
import { toAnthropicTools } from '../../interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../interop/export/to-openai-tools.js';
import { selectTools } from '../../selection/select-tools.js';
import type { SelectionRequest } from '../../selection/selection-request.js';
import type { Selection } from '../../selection/selection.js';
import { SCHEMA_LEVELS, type SchemaLevel } from '../../tool/render-tool.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import {
  addFilterOptions,
  collectValues,
  filterOf,
  positiveInteger,
  wholeNumber,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { table, wrapList } from '../terminal/table.js';
import { personaColumn } from './catalogue.js';
import { paint, type Terminal } from '../terminal/terminal.js';
import { requireTogether, wrongUsage } from '../terminal/wrong-usage.js';

const EXPORT_TARGETS = ['openai', 'anthropic', 'gemini', 'mcp'] as const;
const EXPORT_APIS = ['chat', 'responses'] as const;

/** The form in which tools are exported. */
interface ExportForm {
  readonly to: (typeof EXPORT_TARGETS)[number];
  readonly api?: (typeof EXPORT_APIS)[number];
  readonly level?: SchemaLevel;
}

/** Looks for the tools of a request, and gives them to models. */
export const FIND_COMMANDS: CommandFamily = {
  search: (command, { terminal, onTools }) =>
    onTools(
      command.option('--limit <n>', 'at most so many tools', positiveInteger, 10),
      ['search "run the tests"', 'search show diff --limit 3'],
      (loaded, { json, limit }, words) =>
        search(terminal, loaded, words.join(' '), limit as number, json === true),
      { looks: true },
    ),
  select: (command, { terminal, onTools }) => {
    command
      .option('--max <n>', 'at most so many tools, beside those of critical priority', wholeNumber)
      .option('--no-critical-outside-limit', 'tools of critical priority take places of --max')
      .option('--budget <tokens>', 'what all tools together may cost the prompt', wholeNumber)
      .option('--stage <name>', 'only tools of this stage, beside the guaranteed')
      .option('--task-type <name>', 'only tools for this type of task, beside the guaranteed')
      .option(
        '--include <names>',
        'tools that are offered in any case; repeat, or separate with commas',
        collectValues(),
      )
      .option(
        '--exclude <names>',
        'tools that are not offered; repeat, or separate with commas',
        collectValues(),
      )
      .option(
        '--access <modes>',
        `only these access modes (${Object.values(AccessMode).join(', ')}); repeat, or separate with commas`,
        collectValues(),
      )
      .addOption(
        new Option('--max-danger <level>', 'at most this dangerous').choices(
          Object.values(DangerLevel),
        ),
      )
      .addOption(
        new Option('--max-cost <tier>', 'the maximum cost tier').choices(Object.values(CostTier)),
      );
    onTools(
      command,
      [
        'select "fix the failing test" --max 6',
        'select "what changed?" --stage reading --budget 600',
      ],
      (loaded, options, words) =>
        select(
          terminal,
          loaded,
          selectionRequestOf(words.join(' '), options),
          options.json === true,
        ),
    );
  },
  export: (command, { terminal, onTools }) => {
    command
      .addOption(
        new Option('--to <target>', 'for whose interface')
          .choices(EXPORT_TARGETS)
          .makeOptionMandatory(),
      )
      .addOption(
        new Option(
          '--api <api>',
          'with --to openai: which of its two interfaces (default: chat)',
        ).choices(EXPORT_APIS),
      )
      .addOption(
        new Option('--level <level>', 'how much of every tool is shown').choices(SCHEMA_LEVELS),
      )
      .option(
        '--select <request>',
        'only the tools a model would see for this request, each at the level chosen for it',
      )
      .option('--max <n>', 'with --select: at most so many tools', wholeNumber)
      .option(
        '--budget <tokens>',
        'with --select: what all tools together may cost the prompt',
        wholeNumber,
      );
    onTools(
      addFilterOptions(command),
      [
        'export --to openai',
        'export --to anthropic --select "run the tests" --max 8',
        'export --to mcp --category git',
      ],
      (loaded, options) => exportTools(terminal, loaded, options),
    );
  },
};

/** Prints the tools that fit a request, best first, with the reasons: ranked search, and the keyword formula beside it. */
function search(
  terminal: Terminal,
  { registry, owned }: LoadedRegistry,
  text: string,
  limit: number,
  json: boolean,
): void {
  const ranked = registry.search(text, { limit });
  const keywords = registry.getToolsMatchingTextScored(text, { maxResults: limit });
  const mandatory = [...registry.getToolsMatchingMandatoryKeywords(text)];
  const categories = [...registry.detectCategoriesFromText(text)];
  if (json)
    return terminal.out(
      JSON.stringify(
        {
          text,
          search: ranked.map((match) => ({
            ...match,
            persona: owned?.get(match.toolName)?.persona,
          })),
          keywords,
          mandatory,
          categories,
        },
        null,
        2,
      ),
    );

  const heading = (title: string, note: string) =>
    terminal.out(`${paint(terminal, 'bold', title)}${paint(terminal, 'dim', `  ${note}`)}`);
  if (ranked.length === 0)
    return terminal.out(
      `No tool fits ${JSON.stringify(text)}. \`tooldex list\` shows all ${registry.size}.`,
    );
  heading('Search', 'everything known of a tool');
  terminal.out(
    table(terminal, ranked, [
      { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
      ...personaColumn(owned, ({ toolName }: (typeof ranked)[number]) => toolName),
      { title: 'SCORE', value: ({ score }) => score.toFixed(2), align: 'right' },
      { title: 'WHY', value: ({ explanation }) => explanation, narrow: 'wrap' },
    ]),
  );
  if (keywords.length > 0) {
    heading('\nKeywords', 'matched / declared + specificity + priority');
    terminal.out(keywordTable(terminal, keywords));
  }
  if (mandatory.length > 0)
    terminal.out(
      `\n${paint(terminal, 'bold', 'Always offered')}  ${wrapList(terminal, mandatory, 16)}`,
    );
  if (categories.length > 0)
    terminal.out(
      `${mandatory.length > 0 ? '' : '\n'}${paint(terminal, 'bold', 'Categories')}  ${wrapList(terminal, categories, 12)}`,
    );
}

type KeywordMatches = ReturnType<LoadedRegistry['registry']['getToolsMatchingTextScored']>;

/** Keyword scores with the parts they are the sum of. */
export function keywordTable(terminal: Terminal, matches: KeywordMatches): string {
  return table(terminal, matches, [
    { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
    { title: 'SCORE', value: ({ score }) => score.toFixed(2), align: 'right' },
    { title: '= BASE', value: ({ base }) => base.toFixed(2), align: 'right' },
    { title: '+ SPEC', value: ({ specificity }) => specificity.toFixed(2), align: 'right' },
    { title: '+ PRIO', value: ({ priorityBoost }) => priorityBoost.toFixed(2), align: 'right' },
    {
      title: 'KEYWORDS',
      value: ({ matchedKeywords }) => matchedKeywords.join(', '),
      narrow: 'wrap',
    },
  ]);
}

/** Prints which tools a model would see for a request, why, and what they cost; returns 1 when a limit cannot be held. */
export function select(
  terminal: Terminal,
  { registry }: LoadedRegistry,
  request: SelectionRequest,
  json: boolean,
): number {
  const selection = selectTools(registry, request);
  if (json) terminal.out(JSON.stringify(selectionToJson(selection), null, 2));
  else {
    printSelection(terminal, selection);
    if (selection.error !== undefined)
      terminal.err(`${paint(terminal, 'red', 'error')} ${selection.error.message}`);
  }
  return selection.error === undefined ? 0 : 1;
}

/** The chosen tools, the token account, and the tools left out. */
export function printSelection(
  terminal: Terminal,
  { tools, dropped, tokens, tokenBudget, maxTools, error }: Selection,
): void {
  if (tools.length > 0) {
    terminal.out(
      table(terminal, tools, [
        { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
        { title: 'LEVEL', value: ({ level }) => level },
        { title: 'TOKENS', value: (tool) => String(tool.tokens), align: 'right' },
        { title: 'SCORE', value: ({ score }) => score.toFixed(1), align: 'right' },
        {
          title: 'REASON',
          value: ({ reason, explanation }) => `${reason.replace('_', ' ')}: ${explanation}`,
          narrow: 'wrap',
        },
      ]),
    );
  }
  const budget = tokenBudget === undefined ? '' : ` of ${tokenBudget}`;
  const isAbove = error === undefined && tools.length > maxTools; // So the critical ones were not counted.
  const beside = isAbove
    ? ` and ${tools.filter(({ entry }) => entry.priority === Priority.CRITICAL).length} critical`
    : '';
  terminal.out(
    paint(
      terminal,
      'dim',
      `${tools.length === 0 ? '' : '\n'}${tools.length} of at most ${maxTools}${beside} tools, ${tokens}${budget} tokens`,
    ),
  );
  if (dropped.length === 0) return;
  terminal.out(`\n${paint(terminal, 'bold', 'Considered and left out')}`);
  terminal.out(
    table(terminal, dropped, [
      { title: 'TOOL', value: ({ toolName }) => toolName },
      { title: 'REASON', value: ({ reason }) => reason.replace('_', ' ') },
      { title: 'WHY', value: ({ explanation }) => explanation, narrow: 'wrap' },
    ]),
  );
}

/** A selection as plain JSON, without the entries. */
export function selectionToJson({ tools, error, ...rest }: Selection): object {
  return {
    tools: tools.map(({ entry: _entry, ...tool }) => tool),
    ...rest,
    error: isToolError(error) ? { code: error.code, message: error.message } : null,
  };
}

/** Returns the request that the options of a command line stand for. */
function selectionRequestOf(
  text: string,
  options: Readonly<Record<string, unknown>>,
): SelectionRequest {
  const request = {
    text,
    maxTools: options['max'],
    criticalOutsideLimit: options['criticalOutsideLimit'],
    tokenBudget: options['budget'],
    stage: options['stage'],
    taskType: options['taskType'],
    include: options['include'],
    exclude: options['exclude'],
    accessModes: options['access'],
    maxDanger: options['maxDanger'],
    maxCostTier: options['maxCost'],
  };
  return Object.fromEntries(
    Object.entries(request).filter(([, value]) => value !== undefined),
  ) as unknown as SelectionRequest;
}

/** Prints tools as JSON for a model API or for MCP; returns 1 when a selection cannot be held to its limits. */
function exportTools(
  terminal: Terminal,
  { registry }: LoadedRegistry,
  options: CommandOptions,
): number {
  const { select, max, budget, ...form } = options as CommandOptions &
    ExportForm & { readonly select?: string; readonly max?: number; readonly budget?: number };
  const { to } = form;
  if (form.api !== undefined && to !== 'openai')
    throw wrongUsage('--to openai with --api', `--to ${to}`);
  requireTogether(options, { select: ['max', 'budget'] });

  const filter = filterOf(options);
  const selection =
    select === undefined
      ? undefined
      : selectTools(registry, {
          text: select,
          filter,
          ...(max === undefined ? {} : { maxTools: max }),
          ...(budget === undefined ? {} : { tokenBudget: budget }),
        });
  const input: ExportInput = selection ?? registry.filter(filter);
  terminal.out(JSON.stringify(converted(input, form), null, 2));
  if (selection?.error === undefined) return 0;
  terminal.err(`error ${selection.error.message}`);
  return 1;
}

function converted(input: ExportInput, { to, api, level }: ExportForm): unknown {
  switch (to) {
    case 'openai':
      return api === 'responses'
        ? toOpenAITools(input, { level, api })
        : toOpenAITools(input, { level });
    case 'anthropic':
      return toAnthropicTools(input, { level });
    case 'gemini':
      return toGeminiTools(input, { level });
    case 'mcp':
      return { tools: toMcpTools(input, { level }) };
  }
}
