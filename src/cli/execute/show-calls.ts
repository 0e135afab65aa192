import { inspect } from 'node:util';
import type { Issue } from '../../core/errors.js';
import type { Json } from '../../core/plain-data.js';
import type { ToolEvent, Verdict } from '../../core/tool-event.js';
import type { ExecutionPlan, PlannedCall } from '../../execution/plan-execution.js';
import type { DryRun } from '../../execution/tool-executor.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { formatIssues } from '../../core/issues.js';
import { isDeniedByUser } from '../terminal/exit-codes.js';
import { amountOf, LONGEST_LINE, wrapWords } from '../terminal/table.js';
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

/** Some calls, their order, and what the policy would say to each. */
export interface ShownPlan {
  readonly calls: readonly ToolCall[];
  readonly plan: ExecutionPlan;
  readonly dryRuns: readonly DryRun[];
}

const VERDICT_STYLES: Readonly<Record<Verdict | 'refused', Style>> = {
  allow: 'green',
  confirm: 'yellow',
  deny: 'red',
  refused: 'red',
};
const MARGIN = 6;
const LABEL = 9;

/** Prints a plan, one block a batch, and a line that sums it up. */
export function showPlan(terminal: Terminal, { calls, plan, dryRuns }: ShownPlan): void {
  for (const [index, batch] of plan.batches.entries()) {
    const together = `${amountOf(batch.length, 'call')}${batch.length === 1 ? '' : ' side by side'}`;
    terminal.out(
      `${index === 0 ? '' : '\n'}${paint(terminal, 'bold', `Batch ${index + 1}`)}  ${paint(terminal, 'dim', together)}`,
    );
    for (const position of batch)
      for (const line of plannedLines(
        terminal,
        plan.calls[position]!,
        calls[position]!,
        dryRuns[position]!,
      ))
        terminal.out(line);
  }
  const counts = (['allow', 'confirm', 'deny', 'refused'] as const).map(
    (verdict) =>
      [verdict, dryRuns.filter((dryRun) => verdictOf(dryRun) === verdict).length] as const,
  );
  const verdicts = counts
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`);
  terminal.out(
    paint(
      terminal,
      'dim',
      `\n${[`${amountOf(calls.length, 'call')} in ${amountOf(plan.batches.length, 'batch', 'batches')}`, ...verdicts].join(', ')}`,
    ),
  );
}

function plannedLines(
  terminal: Terminal,
  { position, toolName, after }: PlannedCall,
  call: ToolCall,
  dryRun: DryRun,
): string[] {
  const width = Math.min(terminal.columns, LONGEST_LINE);
  const head = `${String(position).padStart(4)}  `;
  const name = plainLine(toolName);
  const room = width - head.length - name.length - 2;
  const input = plainLine(JSON.stringify(call.input));
  const short = input.length > room ? `${input.slice(0, Math.max(0, room - 1))}…` : input;
  const labelled = (label: string, style: Style, text: string) =>
    wrapWords(plainLine(text), width - MARGIN - LABEL).map(
      (line, index) =>
        ' '.repeat(MARGIN) +
        (index === 0 ? paint(terminal, style, label.padEnd(LABEL)) : ' '.repeat(LABEL)) +
        paint(terminal, 'dim', line),
    );
  const verdict = verdictOf(dryRun);
  return [
    `${paint(terminal, 'dim', head)}${paint(terminal, 'bold', name)}  ${paint(terminal, 'dim', short)}`,
    ...labelled(verdict, VERDICT_STYLES[verdict], dryRun.refused ?? dryRun.decision.reason),
    ...(after === undefined ? [] : labelled('waits', 'cyan', after.reason)),
  ];
}

/** A call whose input is refused does not run, whatever the policy says. */
function verdictOf({ decision, refused }: DryRun): Verdict | 'refused' {
  return refused !== undefined && decision.verdict !== 'deny' ? 'refused' : decision.verdict;
}

/** Returns a plan as plain JSON. */
export function planToJson({ calls, plan, dryRuns }: ShownPlan): object {
  return {
    batches: plan.batches,
    calls: plan.calls.map((planned, position) => {
      const { decision, refused } = dryRuns[position]!;
      return {
        ...planned,
        input: calls[position]!.input,
        decision,
        ...(refused !== undefined && { refused }),
      };
    }),
  };
}

export const STATUS_STYLES: Readonly<Record<ToolOutcome['status'], Style>> = {
  ok: 'green',
  halt: 'green',
  error: 'red',
  denied: 'red',
  ask_user: 'yellow',
  manual: 'yellow',
  approval_required: 'yellow',
};

/** Returns the status of an outcome in its colour. */
export function statusText(terminal: Terminal, { status }: ToolOutcome): string {
  return paint(terminal, STATUS_STYLES[status], status.replace('_', ' '));
}

/** Returns the facts of a call in one line: duration, attempts, provider, cache. */
export function factsText({ durationMs, attempts, cached, provider }: ToolOutcome): string {
  const facts = [
    durationText(durationMs),
    attempts === 0 ? 'not started' : amountOf(attempts, 'attempt'),
  ];
  if (provider !== undefined) facts.push(`provider ${plainLine(provider)}`);
  if (cached) facts.push('cached');
  return facts.join(', ');
}

export function durationText(ms: number): string {
  if (ms < 1) return '< 1 ms';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Returns what an outcome brought, if anything, as text. Texts are given as they are where no terminal shows them. */
export function valueText(terminal: Terminal, outcome: ToolOutcome): string | undefined {
  if (outcome.status === 'manual') return plainJson(outcome.pending, 2);
  if (!('value' in outcome)) return undefined;
  const value = shownValue(outcome);
  const content = contentTexts(outcome).map((text) =>
    terminal.columns === Infinity ? text : plainText(text),
  );
  if (value === null && content.length > 0) return content.join('\n');
  const shown =
    typeof value !== 'string'
      ? plainJson(value, 2)
      : terminal.columns === Infinity
        ? value
        : plainText(value);
  return [shown, ...content].join('\n');
}

/** Returns what a user should know of an outcome that is no plain answer. An element may take several lines. */
export function explanationLines(terminal: Terminal, outcome: ToolOutcome): readonly string[] {
  const line = (style: Style, label: string, text: string) =>
    `${paint(terminal, style, label)} ${plainText(text).split('\n').join('\n  ')}`;
  switch (outcome.status) {
    case 'ok':
      return [];
    case 'halt':
      return [line('yellow', 'halt', outcome.reason)];
    case 'error':
      return [
        line('red', 'error', [outcome.message, ...issueLines(outcome)].join('\n')),
        ...(outcome.haltReason === undefined ? [] : [line('yellow', 'halt', outcome.haltReason)]),
      ];
    case 'denied':
      return [
        isDeniedByUser(outcome)
          ? line('yellow', 'not run', 'the call was not approved')
          : line('red', 'denied', `${outcome.reason} (${outcome.rule})`),
      ];
    case 'manual':
      return [
        line(
          'yellow',
          'manual',
          `a user or another program answers calls of ${outcome.toolName}; the call is printed`,
        ),
      ];
    case 'ask_user':
      return [line('yellow', 'question', outcome.question), ...choiceLines(terminal, outcome)];
    case 'approval_required':
      return [
        ...callLines(terminal, outcome.pending),
        line(
          'yellow',
          'pending',
          `approval is needed; --yes ${outcome.pending.danger} gives it, or answer at a terminal`,
        ),
      ];
  }
}

/** Returns what is wrong with an answer that its tool's output schema refuses: for users, and not for models. */
function issueLines({
  code,
  details,
}: Extract<ToolOutcome, { status: 'error' }>): readonly string[] {
  return code === 'INVALID_RESULT' && Array.isArray(details?.['issues'])
    ? (details['issues'] as readonly Issue[]).map((issue) => formatIssues([issue]))
    : [];
}

/** Returns an outcome as plain JSON data, whatever its tool returned. Of bytes in its content it has size and SHA-256, unless all of it is wanted. */
export function outcomeToJson(outcome: ToolOutcome, { full = false } = {}): object {
  if (!('value' in outcome)) return outcome;
  const content =
    'content' in outcome && !full ? { content: outcome.content?.map(contentToJson) } : {};
  return { ...outcome, value: shownValue(outcome), ...content };
}

/** Returns the value that models read; users are shown also what JSON does not hold (cycles, big integers, functions), as text of it. */
function shownValue(outcome: Extract<ToolOutcome, { value?: unknown }>): Json {
  if (outcome.status === 'error') return inspect(outcome.value);
  const { data } = readOutcome(outcome);
  return data === undefined ? inspect(outcome.value) : data;
}

/** The most characters of one line of progress: a tool may report whole pages. */
const MOST_SHOWN = 160;

/** Returns a line of progress that a tool reports. */
export function progressLine(terminal: Terminal, event: ToolEvent): string | undefined {
  if (event.type !== 'call-progress') return undefined;
  const { progress, toolName } = event;
  const text = plainLine(typeof progress === 'string' ? progress : JSON.stringify(progress));
  return paint(
    terminal,
    'dim',
    `${toolName}: ${text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text}`,
  );
}

/** Returns a line for what tells how far several calls are. */
export function callLine(terminal: Terminal, event: ToolEvent): string | undefined {
  switch (event.type) {
    case 'call-started':
      return paint(terminal, 'dim', `${plainLine(event.callId)} ${event.toolName} started`);
    case 'call-settled':
      return paint(
        terminal,
        'dim',
        `${plainLine(event.callId)} ${plainLine(event.toolName)} ${event.status.replace('_', ' ')} after ${durationText(event.durationMs)}`,
      );
    default:
      return progressLine(terminal, event);
  }
}
