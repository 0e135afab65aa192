import { evaluateSelection, type SelectionEvaluation } from '../../testing/evaluate-selection.js';
import { command, print } from '../command/command.js';
import { amount, flag, given, repeated, text, TOOL_OPTIONS } from '../command/options.js';
import { withTools } from '../load/load-registry.js';
import { parseJson, readJsonFile } from '../load/read-json.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table, wrapList } from '../terminal/table.js';
import { paint, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The figures that `--fail-under` can name. */
const FIGURES = ['recall', 'ndcg'] as const;
/** The maximum number of rows in each table. `--json` has all of them. */
const MOST_ROWS = 20;

export const evaluate = command({
  options: {
    ...TOOL_OPTIONS,
    maxTools: amount('<n>', 'the maximum number of tools, not counting critical ones'),
    tokenBudget: amount('<tokens>', 'the maximum number of prompt tokens for all tools together'),
    stage: text('<name>', 'only tools for this stage, and guaranteed ones'),
    suggest: flag('try keywords and examples that could fix misses'),
    failUnder: repeated('<figure=least>', 'exit with 1 if recall or ndcg, from 0 to 1, is lower'),
  },
  examples: [
    "eval requests.jsonl --tools 'src/tools/*.ts' --max-tools 8 --token-budget 1500",
    'eval requests.jsonl --suggest',
    'eval requests.jsonl --fail-under recall=0.9',
  ],
  notes:
    '\nEach line of the file is a request: {"text": "Where is my order?", "tools": ["order_status"]}',
  run: (context) => {
    const { terminal, cwd, options, words } = context;
    const limits = (options.failUnder ?? []).map(limitOf);
    return withTools(context, {}, async ({ registry }) => {
      const requests = await readJsonFile(words[0]!, terminal, cwd, parseLines);
      const { maxTools, tokenBudget, stage, suggest } = options;
      const result = evaluateSelection(registry, requests as never, {
        suggest,
        ...given({ maxTools, tokenBudget, stage }),
      });
      print(context, result, () => evaluationLines(terminal, result, suggest));
      const low = limits.filter(([figure, least]) => result[figure] < least);
      for (const [figure, least] of low)
        terminal.err(
          `${paint(terminal, 'red', 'too low')} ${figure} is ${share(result[figure])}, expected at least ${share(least)}`,
        );
      return low.length === 0 ? EXIT.ok : EXIT.findings;
    });
  },
});

/** Reads `recall=0.9`. @throws ToolError `INVALID_ARGUMENT`. */
function limitOf(given: string): readonly [(typeof FIGURES)[number], number] {
  const [name, least] = given.split('=');
  const figure = FIGURES.find((each) => each === name);
  if (figure === undefined || !(Number(least) >= 0 && Number(least) <= 1) || least?.trim() === '')
    throw wrongUsage(
      `Expected --fail-under recall=0.9 or ndcg=0.9, with a number from 0 to 1, got ${JSON.stringify(given)}.`,
    );
  return [figure, Number(least)];
}

/** Reads one JSON value from each line that isn't empty. @throws ToolError `INVALID_ARGUMENT` with the number of the line. */
function parseLines(content: string, where: string): unknown {
  return content
    .split('\n')
    .flatMap((line, index) =>
      line.trim() === '' ? [] : [parseJson(line, `Line ${index + 1} of ${where}`)],
    );
}

function share(value: number): string {
  return value.toFixed(3);
}

/** Returns the first three names. */
function namesOf(tools: readonly { readonly toolName: string }[]): string {
  return tools
    .map(({ toolName }) => toolName)
    .slice(0, 3)
    .join(', ');
}

/** Returns a report: the figures, then tables of what to improve. */
function* evaluationLines(
  terminal: Terminal,
  result: SelectionEvaluation,
  isSuggesting: boolean,
): Generator<string> {
  const { requests, recall, ndcg, tokens, misses, confused, neverSelected, suggestions } = result;
  const bold = (words: string) => paint(terminal, 'bold', words);
  yield `${amountOf(requests, 'request')}: recall ${bold(share(recall))}, nDCG ${bold(share(ndcg))}`;
  yield `${tokens.selected} tokens a request; all tools ${tokens.allTools}, first results in full ${tokens.firstInFull}`;
  const part = function* (
    title: string,
    count: number,
    rows: readonly Readonly<Record<string, string>>[],
  ) {
    if (count === 0) return;
    yield `\n${bold(title)}`;
    yield table(terminal, rows);
    if (count > rows.length)
      yield paint(terminal, 'dim', `${count - rows.length} more; --json has all`);
  };
  yield* part(
    'Missed',
    misses.length,
    misses.slice(0, MOST_ROWS).map(({ text: asked, toolName, place, instead, reason }) => ({
      TOOL: toolName,
      PLACE: place === undefined ? '–' : String(place),
      REQUEST: asked,
      WHY: reason,
      INSTEAD: `offered: ${namesOf(instead)}`,
    })),
  );
  yield* part(
    'Confused',
    confused.length,
    confused.slice(0, MOST_ROWS).map((each) => ({
      WANTED: each.wanted,
      OFFERED: each.offered,
      REQUESTS: String(each.requests),
      'WORDS THAT TELL THEM APART': each.words.join(', '),
    })),
  );
  yield* part(
    'Suggestions',
    suggestions.length,
    suggestions.slice(0, MOST_ROWS).map(({ toolName, field, value, gain, fixes, breaks }) => ({
      TOOL: toolName,
      ADD: `${field} ${JSON.stringify(value)}`,
      RECALL: `+${share(gain)}`,
      FIXES: String(fixes.length),
      BREAKS: String(breaks.length),
    })),
  );
  if (isSuggesting && suggestions.length === 0 && misses.length > 0)
    yield '\nNo keyword or example that was tried fixes a miss.';
  if (neverSelected.length > 0)
    yield `\n${bold('Never selected')}  ${wrapList(terminal, neverSelected.slice(0, MOST_ROWS), 16)}${neverSelected.length > MOST_ROWS ? ` and ${neverSelected.length - MOST_ROWS} more` : ''}`;
}
