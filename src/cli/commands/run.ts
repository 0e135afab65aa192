import type { LoadedRegistry } from '../load/loaded-registry.js';
import { answerQuestion } from '../execute/answer-question.js';
import { executionOptionsOf, personaOf } from '../options/execution-options.js';
import { readJsonOption } from '../execute/read-json.js';
import { explanationLines, factsText, outcomeToJson, statusText, valueText } from '../execute/show-outcome.js';
import { progressLine } from '../execute/tell-event.js';
import { withExecutor } from '../execute/with-executor.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { plainJson } from '../plain-text.js';
import { paint, type Dialog } from '../terminal.js';

/**
 * Runs one tool, asking where the policy asks, and prints what it answered.
 *
 * @throws ToolError `TOOL_NOT_FOUND`, or `INVALID_ARGUMENT` for input that is no JSON.
 */
export async function run(terminal: Dialog, { registry }: LoadedRegistry, name: string, options: Readonly<Record<string, unknown>>, cwd: string): Promise<number> {
  const call = { id: 'call-0', name: registry.require(name).name, input: await readJsonOption((options['input'] as string | undefined) ?? '{}', terminal, cwd) };
  return withExecutor(terminal, registry, executionOptionsOf(options), (event) => progressLine(terminal, event), async ({ executor, signal, turns }) => {
    const outcome = await answerQuestion(terminal, turns, await executor.execute(call, { signal, ...personaOf(options) }), signal);
    const value = valueText(terminal, outcome);
    if (options['json'] === true) terminal.out(plainJson(outcomeToJson(outcome), 2));
    else if (value !== undefined) terminal.out(value);
    if (signal.aborted) {
      terminal.err(paint(terminal, 'yellow', 'interrupted'));
      return EXIT.interrupted;
    }
    for (const line of explanationLines(terminal, outcome)) terminal.err(line);
    if (outcome.status === 'error' && outcome.code === 'INVALID_INPUT') terminal.err(paint(terminal, 'dim', `tooldex show ${outcome.toolName} shows what it takes`));
    terminal.err(`${statusText(terminal, outcome)} ${paint(terminal, 'dim', factsText(outcome))}`);
    return exitCodeOf(outcome);
  });
}
