import { inspect } from 'node:util';
import type { Issue } from '../../core/errors.js';
import { formatIssues } from '../../core/issues.js';
import type { ToolEvent, Verdict } from '../../core/tool-event.js';
import type { ExecutionPlan } from '../../execution/plan-execution.js';
import type { DecidedCall } from '../../execution/call-judge.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { CallContext, ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { isDeniedByUser } from '../terminal/exit-codes.js';
import { amountOf, countsOf, table, type Row } from '../terminal/table.js';
import {
  paint,
  plainJson,
  plainLine,
  plainText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { contentTexts, contentToJson } from './show-content.js';
import { callLines, choiceLines } from './shown-call.js';

/** A list of calls, their execution order, and the policy's decision for each. */
interface ShownPlan {
  readonly calls: readonly ToolCall[];
  readonly plan: ExecutionPlan;
  readonly decisions: readonly DecidedCall[];
}

/** Plans calls without running them. */
export async function planWithoutRunning(
  executor: ToolExecutor,
  calls: readonly ToolCall[],
  context: CallContext = {},
): Promise<ShownPlan> {
  return {
    calls,
    plan: await executor.plan(calls),
    decisions: await Promise.all(calls.map((call) => executor.decide(call, context))),
  };
}

const VERDICT_STYLES: Readonly<Record<Verdict | 'refused', Style>> = {
  allow: 'green',
  confirm: 'yellow',
  deny: 'red',
  refused: 'red',
};

/**
 * Returns a plan as a table of its calls, and a summary. Calls in the same batch run in parallel.
 */
export function* planLines(
  terminal: Terminal,
  { calls, plan, decisions }: ShownPlan,
): Generator<string> {
  const rows = plan.batches.flatMap((batch, index) =>
    batch.map((position): Row => {
      const { toolName, after } = plan.calls[position]!;
      const decision = decisions[position]!;
      const verdict = verdictOf(decision);
      const reason = decision.refused ?? decision.reason;
      return {
        BATCH: index + 1,
        CALL: position,
        TOOL: toolName,
        VERDICT: [verdict, VERDICT_STYLES[verdict]],
        WHY: `${reason}${after === undefined ? '' : `; waits ${after.reason}`}`,
      };
    }),
  );
  yield `${table(terminal, rows)}\n`;
  const total = `${amountOf(calls.length, 'call')} in ${amountOf(plan.batches.length, 'batch', 'batches')}`;
  const verdicts = countsOf(decisions.map(verdictOf).sort());
  yield paint('dim', [total, ...verdicts].join(', '));
}

/** Returns a text on one line of at most `width` characters. */
export function cut(text: string, width: number): string {
  const line = plainLine(text);
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line;
}

/** A call with invalid input doesn't run, whatever the policy decides. */
function verdictOf({ verdict, refused }: DecidedCall): Verdict | 'refused' {
  return refused !== undefined && verdict !== 'deny' ? 'refused' : verdict;
}

/** Returns a plan as plain data. */
export function planToJson({ calls, plan, decisions }: ShownPlan): object {
  return {
    batches: plan.batches,
    calls: plan.calls.map((planned, position) => {
      const { callId, toolName, refused, ...decision } = decisions[position]!;
      const { input } = calls[position]!;
      return { ...planned, input, callId, toolName, decision, ...(refused && { refused }) };
    }),
  };
}

const STATUS_STYLES: Readonly<Record<ToolOutcome['status'], Style>> = {
  ok: 'green',
  halt: 'green',
  error: 'red',
  denied: 'red',
  ask_user: 'yellow',
  manual: 'yellow',
  approval_required: 'yellow',
};

/** Returns the mark that is printed when a call ends. */
export function statusMark({ status }: ToolOutcome): string {
  const style = STATUS_STYLES[status];
  return paint(style, style === 'green' ? '✓' : style === 'red' ? '✗' : '?');
}

/** Returns an outcome's status, and facts about the call: duration, attempts, provider, cache. */
export function statusLine({
  status,
  durationMs,
  attempts,
  cached,
  provider,
}: ToolOutcome): string {
  const facts = [
    durationText(durationMs),
    attempts === 0 ? 'not started' : amountOf(attempts, 'attempt'),
    ...(provider === undefined ? [] : [`provider ${plainLine(provider)}`]),
    ...(cached ? ['cached'] : []),
  ];
  const shown = paint(STATUS_STYLES[status], status.replace('_', ' '));
  return `${shown}  ${paint('dim', facts.join(', '))}`;
}

export function durationText(ms: number): string {
  if (ms < 1) return '< 1 ms';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/**
 * Returns a call's result as text, or nothing if there is no result. Text is unchanged if a program
 * reads the output.
 */
export function valueText(terminal: Terminal, outcome: ToolOutcome): string | undefined {
  if (outcome.status === 'manual') return plainJson(outcome.pending, 2);
  if (!('value' in outcome)) return undefined;
  const shown = (text: string) => (terminal.columns === Infinity ? text : plainText(text));
  const value = shownValue(outcome);
  const content = contentTexts(outcome).map(shown);
  if (value === null && content.length > 0) return content.join('\n');
  return [typeof value === 'string' ? shown(value) : plainJson(value, 2), ...content].join('\n');
}

/**
 * Returns everything that a user should know about an outcome besides its value. An item of the
 * list may have several lines.
 */
export function explanationLines(terminal: Terminal, outcome: ToolOutcome): readonly string[] {
  const style = STATUS_STYLES[outcome.status];
  const line = (label: string, text: string) =>
    `${paint(style, label)} ${plainText(text).replaceAll('\n', '\n  ')}`;
  switch (outcome.status) {
    case 'ok':
      return [];
    case 'halt':
      return [line('halt', outcome.reason)];
    case 'error': {
      const { code, message, details, haltReason } = outcome;
      // Shows users why an output schema rejects a result. Models don't see these issues.
      const issues = code === 'INVALID_RESULT' ? (details?.['issues'] as readonly Issue[]) : [];
      const text = [message, ...(issues ?? []).map((issue) => formatIssues([issue]))].join('\n');
      return [line('error', text), ...(haltReason === undefined ? [] : [line('halt', haltReason)])];
    }
    case 'denied':
      return [
        isDeniedByUser(outcome)
          ? line('not run', 'you did not approve the call')
          : line('denied', `${outcome.reason} (${outcome.rule})`),
      ];
    case 'manual':
      return [
        line(
          'manual',
          `the work of ${outcome.toolName} is done by a user or another program; this is the call`,
        ),
      ];
    case 'ask_user':
      return [line('question', outcome.question), ...choiceLines(outcome)];
    case 'approval_required': {
      const { pending } = outcome;
      const advice = `this call needs approval: answer in a terminal, or add --yes ${pending.danger}`;
      return [...callLines(terminal, pending), line('pending', advice)];
    }
  }
}

/** Returns an outcome as plain data. Bytes are replaced by their size and SHA-256. */
export function outcomeToJson(outcome: ToolOutcome): object {
  if (!('value' in outcome)) return outcome;
  const content = 'content' in outcome ? { content: outcome.content?.map(contentToJson) } : {};
  return { ...outcome, value: shownValue(outcome), ...content };
}

/**
 * Returns the value that models see. Values that JSON can't represent (cycles, big integers,
 * functions) are converted to text.
 */
function shownValue(outcome: Extract<ToolOutcome, { value?: unknown }>): unknown {
  if (outcome.status === 'error') return inspect(outcome.value);
  const { data } = readOutcome(outcome);
  return data === undefined ? inspect(outcome.value) : data;
}

/**
 * The maximum length of a progress line. There is a limit because a tool may report whole pages.
 */
const MOST_SHOWN = 160;

/** Returns a line for the progress that a tool reports. */
export function progressLine(event: ToolEvent): string | undefined {
  if (event.type !== 'call-progress') return undefined;
  const { progress, toolName } = event;
  const text = typeof progress === 'string' ? progress : JSON.stringify(progress);
  return paint('dim', `${toolName}: ${cut(text, MOST_SHOWN)}`);
}
