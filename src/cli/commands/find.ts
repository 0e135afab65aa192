import { isToolError } from '../../core/errors.js';
import { toAnthropicTools } from '../../interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../interop/export/to-openai-tools.js';
import { selectTools } from '../../selection/select-tools.js';
import type { Selection } from '../../selection/selection.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { withTools } from '../load/load-registry.js';
import {
  amount,
  choice,
  FILTER_OPTIONS,
  filterOf,
  given,
  textOption,
  TOOL_OPTIONS,
  withDefault,
} from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table } from '../terminal/table.js';
import { paint, plainJson, report, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { personaCell } from './catalogue.js';

/** Returns the selected tools, the tokens they cost, and the tools that weren't selected. */
export function* selectionLines(
  terminal: Terminal,
  { tools, dropped, tokens, tokenBudget }: Selection,
): Generator<string> {
  yield table(
    terminal,
    tools.map((tool) => ({
      TOOL: tool.toolName,
      LEVEL: tool.level,
      TOKENS: tool.tokens,
      SCORE: tool.score.toFixed(1),
      REASON: `${tool.reason.replace('_', ' ')}: ${tool.explanation}`,
    })),
  );
  const budget = tokenBudget === undefined ? '' : ` of ${tokenBudget}`;
  yield paint('dim', `\n${amountOf(tools.length, 'tool')}, ${tokens}${budget} tokens`);
  if (dropped.length === 0) return;
  yield `\n${paint('bold', 'Considered but not selected')}`;
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

/** The APIs that tools can be exported for. */
const EXPORTS = {
  openai: (tools: readonly ToolEntry[]) => toOpenAITools(tools),
  anthropic: toAnthropicTools,
  gemini: toGeminiTools,
  mcp: (tools: readonly ToolEntry[]) => ({ tools: toMcpTools(tools) }),
};
const TARGETS = Object.keys(EXPORTS) as (keyof typeof EXPORTS)[];

export const commands = {
  search: command({
    options: {
      ...TOOL_OPTIONS,
      limit: withDefault(amount('<n>', 'the maximum number of tools', { least: 1 }), 10),
    },
    examples: ['search "run the tests"', 'search show diff --limit 3'],
    run: (context) =>
      withTools(context, { everyone: true }, (loaded) => {
        const { registry, owned } = loaded;
        const { terminal, words, options } = context;
        const request = words.join(' ');
        const ranked = registry.search(request, { limit: options.limit });
        const found = {
          text: request,
          search: ranked.map((match) => ({
            ...match,
            persona: owned.get(match.toolName)?.persona,
          })),
          keywords: registry.getToolsMatchingTextScored(request, { maxResults: options.limit }),
          mandatory: [...registry.getToolsMatchingMandatoryKeywords(request)],
          categories: [...registry.detectCategoriesFromText(request)],
        };
        print(context, found, function* () {
          if (ranked.length === 0) {
            yield `No tool matches ${JSON.stringify(request)}. To see ${registry.size === 1 ? 'the only tool' : `all ${registry.size} tools`}, run tooldex list.`;
            return;
          }
          yield table(
            terminal,
            ranked.map(({ toolName, score, explanation }) => ({
              TOOL: toolName,
              ...personaCell(loaded, toolName),
              SCORE: score.toFixed(2),
              WHY: explanation,
            })),
          );
        });
      }),
  }),

  select: command({
    options: {
      ...TOOL_OPTIONS,
      ...FILTER_OPTIONS,
      max: amount('<n>', 'the maximum number of tools, not counting those with critical priority'),
      budget: amount('<tokens>', 'the maximum number of prompt tokens for all tools together'),
      stage: textOption('<name>', 'only tools for this stage, and guaranteed tools'),
    },
    examples: [
      'select "fix the failing test" --max 6',
      'select "what changed?" --stage reading --budget 600',
    ],
    run: (context) =>
      withTools(context, {}, ({ registry }) => {
        const { options, words, terminal } = context;
        const { max, budget, stage } = options;
        const selection = selectTools(registry, {
          text: words.join(' '),
          filter: filterOf({ ...options, stage: undefined }),
          ...given({ maxTools: max, tokenBudget: budget, stage }),
        });
        print(context, selectionToJson(selection), () => selectionLines(terminal, selection));
        const { error } = selection;
        if (error === undefined) return EXIT.ok;
        report(terminal, 'red', 'error', error.message);
        return EXIT.findings;
      }),
  }),

  export: command({
    options: {
      ...TOOL_OPTIONS,
      to: choice('<target>', 'the API to export for (required)', TARGETS),
      ...FILTER_OPTIONS,
    },
    examples: ['export --to openai', 'export --to mcp --category git'],
    run: (context) => {
      const { options, terminal } = context;
      const { to } = options;
      if (to === undefined)
        throw wrongUsage(`--to is required. Pass one of ${TARGETS.join(', ')}.`);
      return withTools(context, {}, ({ registry }) =>
        terminal.out(plainJson(EXPORTS[to](registry.filter(filterOf(options))), 2)),
      );
    },
  }),
};
