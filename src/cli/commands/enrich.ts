import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { languageModelStep } from '../../chat/language-model-step.js';
import type { LanguageModel, ModelStep } from '../../chat/model-step.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { compareText, describeValue } from '../../core/plain-data.js';
import { HINTS_FILE, readHints } from '../../registry/read-hints.js';
import type { CheckedHints } from '../../search/tool-hints.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { importModel } from '../chat/import-model.js';
import { MODELS } from '../chat/demo-model.js';
import { command, print, type Context } from '../command/command.js';
import { flag, textOption, TOOL_OPTIONS, type OptionValues } from '../command/options.js';
import {
  batchesOf,
  tokensOf,
  toolsToEnrich,
  writeHints,
  type Unwritten,
} from '../enrich/hint-writer.js';
import { hintsFileFor } from '../load/settings.js';
import { withTools } from '../load/load-registry.js';
import { replaceFile } from '../load/replace-file.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import { report } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const OPTIONS = {
  ...TOOL_OPTIONS,
  hints: textOption('<file>', `the file to write (default: ${HINTS_FILE})`),
  model: textOption(
    '<model>',
    'a file that exports an AI SDK model or a function, or provider/name',
  ),
  dryRun: flag('print which tools need hints, and the estimated number of tokens'),
  check: flag('exit with 1 if hints are missing or stale. Made for CI', { excludes: ['dryRun'] }),
};

type EnrichContext = Context<OptionValues<typeof OPTIONS>>;

export const commands = {
  enrich: command({
    options: OPTIONS,
    examples: [
      "enrich --tools 'src/tools/*.ts' --model ./model.mjs",
      'enrich --mcp .mcp.json --dry-run',
      "enrich --tools 'src/tools/*.ts' --check",
    ],
    notes: `${MODELS}
  The model is asked for up to 12 tools of one category at a time. It answers with JSON:
  {"order_status": {"keywords": ["parcel"], "requests": ["where is my stuff"]}}`,
    run: (context) =>
      withTools(
        { ...context, options: { ...context.options, hints: undefined } },
        { bundled: 'never' },
        (loaded) => enrich(context, [...loaded.registry]),
      ),
  }),
};

async function enrich(context: EnrichContext, tools: readonly ToolEntry[]): Promise<number> {
  const { cwd, options } = context;
  const file = await hintsFileFor(options.hints, cwd);
  const hints = existsSync(file) ? await readHints(file) : {};
  const waiting = toolsToEnrich(tools, hints);
  if (!options.check && !options.dryRun && waiting.length > 0)
    return writeAll(context, waiting, hints, file);
  const plan = planOf(tools, waiting, hints);
  print(context, plan, () => planLines(plan, waiting.length === 0, options.dryRun));
  return options.check && waiting.length > 0 ? EXIT.findings : EXIT.ok;
}

type Plan = ReturnType<typeof planOf>;

/** Says which hints are missing, stale or unused, and what writing the missing ones costs. */
function planOf(tools: readonly ToolEntry[], waiting: readonly ToolEntry[], hints: CheckedHints) {
  const missing: string[] = [];
  const stale: string[] = [];
  for (const { name } of waiting) (Object.hasOwn(hints, name) ? stale : missing).push(name);
  const existing = new Set(tools.map(({ name }) => name));
  const unused = Object.keys(hints).filter((name) => !existing.has(name));
  const batches = batchesOf(waiting);
  let estimatedTokens = 0;
  for (const batch of batches) estimatedTokens += tokensOf(batch);
  return { missing, stale, unused, requests: batches.length, estimatedTokens };
}

function* planLines(plan: Plan, isDone: boolean, isDryRun: boolean): Generator<string> {
  if (isDone) yield 'Every tool has hints.';
  yield* named(plan.missing, 'tool', 'without hints');
  yield* named(plan.stale, 'tool', 'changed since the hints were written');
  yield* named(plan.unused, 'hint', 'for unknown tools');
  if (isDryRun) yield `${amountOf(plan.requests, 'request')}, about ${plan.estimatedTokens} tokens`;
}

function* named(names: readonly string[], noun: string, situation: string): Generator<string> {
  if (names.length > 0) yield `${amountOf(names.length, noun)} ${situation}: ${names.join(', ')}`;
}

/** Writes the file after each answer, so that a run that was interrupted goes on where it stopped. */
async function writeAll(
  context: EnrichContext,
  waiting: readonly ToolEntry[],
  before: CheckedHints,
  file: string,
): Promise<number> {
  const { terminal, options } = context;
  const step = await modelOf(context);
  await mkdir(dirname(file), { recursive: true });
  const unwritten: Unwritten[] = [];
  let hints = before;
  let done = 0;
  for (const batch of batchesOf(waiting)) {
    const written = await writeHints(step, batch).catch(failure);
    unwritten.push(...written.unwritten);
    hints = { ...hints, ...written.hints };
    await replaceFile(file, textOf(hints));
    done += batch.length;
    report(terminal, 'dim', 'asked for', `${done} of ${amountOf(waiting.length, 'tool')}`);
  }
  const failed = new Set<string>();
  for (const { toolName, reason } of unwritten) {
    report(terminal, 'red', toolName, reason);
    failed.add(toolName);
  }
  const names = waiting.map(({ name }) => name).filter((name) => !failed.has(name));
  print(context, { written: names, unwritten }, () => [
    `Wrote the hints of ${names.length} of ${amountOf(waiting.length, 'tool')} to ${options.hints ?? HINTS_FILE}. Read them before you commit the file.`,
  ]);
  return unwritten.length === 0 ? EXIT.ok : EXIT.findings;
}

/** Reports an error of the model as such. Hints that were written before it are kept. */
function failure(cause: unknown): never {
  if (isToolError(cause)) throw cause;
  const reason = cause instanceof Error ? cause.message : describeValue(cause);
  throw new ToolError('MODEL_FAILED', `The model failed: ${reason}`, { cause });
}

async function modelOf(context: EnrichContext): Promise<ModelStep> {
  const { model } = context.options;
  if (model === undefined)
    throw wrongUsage(
      'Expected --model, the model that writes the hints. To see the cost, pass --dry-run.',
    );
  const imported = await importModel(model, context);
  if (imported === undefined || imported === null)
    throw wrongUsage(
      `Expected ${model} to export a model of the AI SDK, or a function, got ${String(imported)}. Write export default.`,
    );
  return typeof imported === 'function'
    ? (imported as ModelStep)
    : languageModelStep(imported as LanguageModel, {});
}

/** Returns the file's text, sorted by name, so that changes are easy to review. */
function textOf(hints: CheckedHints): string {
  const sorted = Object.entries(hints).sort(([a], [b]) => compareText(a, b));
  return `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
}
