import { evaluateSelection, type SelectionEvaluation } from '../../testing/evaluate-selection.js';
import { command, print } from '../command/command.js';
import { amount, flag, given, repeated, textOption, TOOL_OPTIONS } from '../command/options.js';
import { withTools } from '../load/load-registry.js';
import { parseJson, readJsonFile } from '../load/read-json.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table, type Row } from '../terminal/table.js';
import { paint, report, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The metrics that `--fail-under` accepts. */
const FIGURES = ['recall', 'ndcg'] as const;
/** The maximum number of rows in each table. `--json` includes all rows. */
const MOST_ROWS = 20;

export const commands = {
  eval: command({
    options: {
      ...TOOL_OPTIONS,
      maxTools: amount('<n>', 'the maximum number of tools, not counting critical ones'),
      tokenBudget: amount('<tokens>', 'the maximum number of prompt tokens for all tools together'),
      stage: textOption('<name>', 'only tools for this stage, and guaranteed tools'),
      suggest: flag('suggest keywords and examples that could fix misses'),
      failUnder: repeated('<figure=least>', 'exit with 1 if recall or ndcg (0 to 1) is lower'),
    },
    examples: [
      "eval requests.jsonl --tools 'src/tools/*.ts' --max-tools 8 --token-budget 1500",
      'eval requests.jsonl --tools ./tools --suggest',
      'eval requests.jsonl --tools ./tools --fail-under recall=0.9',
    ],
    notes:
      '\nEach line in the file is a request: {"text": "Where is my order?", "tools": ["order_status"]}',
    run: (context) => {
      const { terminal, cwd, options, words } = context;
      const limits = (options.failUnder ?? []).map(limitOf);
      return withTools(context, { bundled: 'never' }, async ({ registry }) => {
        const requests = await readJsonFile(words[0]!, terminal, cwd, parseLines);
        const { maxTools, tokenBudget, stage, suggest } = options;
        const result = evaluateSelection(registry, requests as never, {
          suggest,
          ...given({ maxTools, tokenBudget, stage }),
        });
        print(context, result, () => evaluationLines(terminal, result));
        const low = limits.filter(([figure, least]) => result[figure] < least);
        for (const [figure, least] of low) {
          const text = `${figure} is ${share(result[figure])}, expected at least ${share(least)}`;
          report(terminal, 'red', 'too low', text);
        }
        return low.length === 0 ? EXIT.ok : EXIT.findings;
      });
    },
  }),
};

/** Parses a limit such as `recall=0.9`. @throws ToolError `INVALID_ARGUMENT`. */
function limitOf(limit: string): readonly [(typeof FIGURES)[number], number] {
  const [name, least] = limit.split('=');
  const figure = FIGURES.find((each) => each === name);
  if (figure === undefined || !(Number(least) >= 0 && Number(least) <= 1) || least?.trim() === '')
    throw wrongUsage(
      `Expected --fail-under to be recall=0.9 or ndcg=0.9, with a number from 0 to 1, got ${JSON.stringify(limit)}.`,
    );
  return [figure, Number(least)];
}

/**
 * Parses one JSON value from each line that isn't empty. @throws ToolError `INVALID_ARGUMENT` with
 * the line number.
 */
function parseLines(content: string, where: string): unknown {
  return content
    .split('\n')
    .flatMap((line, index) =>
      line.trim() === '' ? [] : [parseJson(line, `Line ${index + 1} of ${where}`)],
    );
}

const share = (value: number) => value.toFixed(3);

/** Returns a report: the metrics, then tables of possible improvements. */
function* evaluationLines(terminal: Terminal, result: SelectionEvaluation): Generator<string> {
  const { requests, recall, ndcg, tokens, misses, confused, neverSelected, suggestions } = result;
  yield `${amountOf(requests, 'request')}: recall ${share(recall)}, nDCG ${share(ndcg)}`;
  yield `${tokens.selected} tokens per request; all tools ${tokens.allTools}, first results in full ${tokens.firstInFull}`;
  const parts: Readonly<Record<string, readonly Row[]>> = {
    Missed: misses.map(missedRow),
    Confused: confused.map(confusedRow),
    Suggestions: suggestions.map(suggestionRow),
    'Never selected': neverSelected.map((toolName) => ({ TOOL: toolName })),
  };
  for (const [title, rows] of Object.entries(parts)) {
    if (rows.length === 0) continue;
    yield `\n${paint('bold', title)}`;
    yield table(terminal, rows.slice(0, MOST_ROWS));
    const more = rows.length - MOST_ROWS;
    if (more > 0) yield paint('dim', `${more} more; use --json to see all`);
  }
}

function missedRow(miss: SelectionEvaluation['misses'][number]): Row {
  return {
    TOOL: miss.toolName,
    PLACE: miss.place,
    REQUEST: miss.text,
    WHY: miss.reason,
    OFFERED: miss.instead.map(({ toolName }) => toolName).join(', '),
  };
}

function confusedRow(confusion: SelectionEvaluation['confused'][number]): Row {
  return {
    WANTED: confusion.wanted,
    OFFERED: confusion.offered,
    REQUESTS: confusion.requests,
    'WORDS THAT DISTINGUISH THEM': confusion.words.join(', '),
  };
}

function suggestionRow(fix: SelectionEvaluation['suggestions'][number]): Row {
  return {
    TOOL: fix.toolName,
    ADD: `${fix.field} ${JSON.stringify(fix.value)}`,
    RECALL: `+${share(fix.gain)}`,
    FIXES: fix.fixes.length,
    BREAKS: fix.breaks.length,
  };
}
