import { AccessMode, CostTier, DangerLevel, Priority } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import type { ExportInput } from '../../interop/export/exported-tools.js';
import { toAnthropicTools } from '../../interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../interop/export/to-openai-tools.js';
import { selectTools } from '../../selection/select-tools.js';
import type { Selection } from '../../selection/selection.js';
import { SCHEMA_LEVELS } from '../../tool/render-tool.js';
import { command, print } from '../command/command.js';
import { withTools } from '../load/load-registry.js';
import {
  amount,
  choice,
  FILTER_OPTIONS,
  filterOf,
  flag,
  given,
  list,
  text,
  TOOL_OPTIONS,
  withDefault,
  type Values,
} from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { table, wrapList } from '../terminal/table.js';
import { paint, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { personaCell } from './catalogue.js';

export const search = command({
  options: {
    ...TOOL_OPTIONS,
    limit: withDefault(amount('<n>', 'the maximum number of tools', { least: 1 }), 10),
  },
  examples: ['search "run the tests"', 'search show diff --limit 3'],
  run: (context) =>
    withTools(context, { everyone: true }, ({ registry, owned }) => {
      const { terminal, words, options } = context;
      const request = words.join(' ');
      const ranked = registry.search(request, { limit: options.limit });
      const found = {
        text: request,
        search: ranked.map((match) => ({ ...match, persona: owned?.get(match.toolName)?.persona })),
        keywords: registry.getToolsMatchingTextScored(request, { maxResults: options.limit }),
        mandatory: [...registry.getToolsMatchingMandatoryKeywords(request)],
        categories: [...registry.detectCategoriesFromText(request)],
      };
      print(context, found, function* () {
        if (ranked.length === 0) {
          yield `No tool fits ${JSON.stringify(request)}. To see all ${registry.size} tools, run tooldex list.`;
          return;
        }
        yield table(
          terminal,
          ranked.map(({ toolName, score, explanation }) => ({
            TOOL: [toolName, 'bold'],
            ...personaCell(owned, toolName),
            SCORE: score.toFixed(2),
            WHY: explanation,
          })),
        );
        for (const [title, names] of [
          ['Always offered', found.mandatory],
          ['Categories', found.categories],
        ] as const)
          if (names.length > 0)
            yield `\n${paint(terminal, 'bold', title)}  ${wrapList(terminal, names, title.length + 2)}`;
      });
    }),
});

/** The limits of a selection. */
const LIMIT_OPTIONS = {
  max: amount('<n>', 'the maximum number of tools, not counting those of critical priority'),
  budget: amount('<tokens>', 'the maximum number of prompt tokens for all tools together'),
};

export const select = command({
  options: {
    ...TOOL_OPTIONS,
    ...LIMIT_OPTIONS,
    noCriticalOutsideLimit: flag('count tools of critical priority towards --max'),
    stage: text('<name>', 'only tools for this stage, and guaranteed ones'),
    taskType: text('<name>', 'only tools for this type of task, and guaranteed ones'),
    include: list('<names>', 'tools to offer whatever the request is'),
    exclude: list('<names>', 'tools not to offer'),
    access: list('<modes>', 'only tools with these access modes', Object.values(AccessMode)),
    maxDanger: choice('<level>', 'the maximum danger level', Object.values(DangerLevel)),
    maxCost: choice('<tier>', 'the maximum cost tier', Object.values(CostTier)),
  },
  examples: [
    'select "fix the failing test" --max 6',
    'select "what changed?" --stage reading --budget 600',
  ],
  run: (context) =>
    withTools(context, {}, ({ registry }) => {
      const { options, words, terminal } = context;
      const { max, budget, noCriticalOutsideLimit, access, maxDanger, maxCost } = options;
      const { stage, taskType, include, exclude } = options;
      const request = given({
        ...{ maxTools: max, tokenBudget: budget, stage, taskType, include, exclude, maxDanger },
        accessModes: access as readonly AccessMode[] | undefined,
        maxCostTier: maxCost,
      });
      const selection = selectTools(registry, {
        text: words.join(' '),
        criticalOutsideLimit: !noCriticalOutsideLimit,
        ...request,
      });
      print(context, selectionToJson(selection), () => selectionLines(terminal, selection));
      return reportLimits(terminal, selection);
    }),
});

/** Reports that a selection couldn't be held to its limits, and returns the exit code. */
function reportLimits(terminal: Terminal, { error }: Selection): number {
  if (error !== undefined) terminal.err(`${paint(terminal, 'red', 'error')} ${error.message}`);
  return error === undefined ? EXIT.ok : EXIT.findings;
}

/** Returns the chosen tools, the tokens that they cost, and the tools that were left out. */
export function* selectionLines(
  terminal: Terminal,
  { tools, dropped, tokens, tokenBudget, maxTools, error }: Selection,
): Generator<string> {
  if (tools.length > 0) {
    yield table(
      terminal,
      tools.map((tool) => ({
        TOOL: [tool.toolName, 'bold'],
        LEVEL: tool.level,
        TOKENS: String(tool.tokens),
        SCORE: tool.score.toFixed(1),
        REASON: `${tool.reason.replace('_', ' ')}: ${tool.explanation}`,
      })),
    );
    yield '';
  }
  const critical = tools.filter(({ entry }) => entry.priority === Priority.CRITICAL).length;
  // More tools than the limit without an error: the critical ones were not counted.
  const extra = error === undefined && tools.length > maxTools ? ` and ${critical} critical` : '';
  const budget = tokenBudget === undefined ? '' : ` of ${tokenBudget}`;
  const account = `${tools.length} of at most ${maxTools}${extra} tools, ${tokens}${budget} tokens`;
  yield paint(terminal, 'dim', account);
  if (dropped.length === 0) return;
  yield `\n${paint(terminal, 'bold', 'Considered and left out')}`;
  yield table(
    terminal,
    dropped.map(({ toolName, reason, explanation }) => ({
      TOOL: toolName,
      REASON: reason.replace('_', ' '),
      WHY: explanation,
    })),
  );
}

/** Returns a selection as plain data, without the entries. */
export function selectionToJson({ tools, error, ...rest }: Selection): object {
  return {
    tools: tools.map(({ entry: _entry, ...tool }) => tool),
    ...rest,
    error: isToolError(error) ? { code: error.code, message: error.message } : null,
  };
}

const EXPORT_OPTIONS = {
  to: choice('<target>', 'the API to export for (required)', [
    'openai',
    'anthropic',
    'gemini',
    'mcp',
  ]),
  api: choice('<api>', 'with --to openai: its API (default: chat)', ['chat', 'responses']),
  level: choice('<level>', 'how much of each tool to include', SCHEMA_LEVELS),
  select: text('<request>', 'only the tools that a model would get for this request'),
  max: { ...LIMIT_OPTIONS.max, needs: ['select'] },
  budget: { ...LIMIT_OPTIONS.budget, needs: ['select'] },
};

export const exportTools = command({
  options: { ...TOOL_OPTIONS, ...EXPORT_OPTIONS, ...FILTER_OPTIONS },
  examples: [
    'export --to openai',
    'export --to anthropic --select "run the tests" --max 8',
    'export --to mcp --category git',
  ],
  run: (context) => {
    const { options, terminal } = context;
    const { to, api, select: request, max, budget } = options;
    if (to === undefined)
      throw wrongUsage('Expected --to openai, anthropic, gemini or mcp, got nothing.');
    if (to !== 'openai' && api !== undefined)
      throw wrongUsage('--api only works with --to openai.');
    return withTools(context, {}, ({ registry }) => {
      const filter = filterOf(options);
      const limits = given({ maxTools: max, tokenBudget: budget });
      const selection =
        request === undefined
          ? undefined
          : selectTools(registry, { text: request, filter, ...limits });
      const tools = exported(selection ?? registry.filter(filter), to, options);
      terminal.out(JSON.stringify(tools, null, 2));
      return selection && reportLimits(terminal, selection);
    });
  },
});

function exported(
  input: ExportInput,
  to: 'openai' | 'anthropic' | 'gemini' | 'mcp',
  { api, level }: Values<typeof EXPORT_OPTIONS>,
): unknown {
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
