import type { Verdict } from '../../core/tool-event.js';
import type { ExecutionPlan, PlannedCall } from '../../execution/plan-execution.js';
import type { DryRun } from '../../execution/tool-executor.js';
import type { ToolCall } from '../../safety/calls.js';
import { plainLine } from '../plain-text.js';
import { wrapWords } from '../table.js';
import { paint, type Style, type Terminal } from '../terminal.js';

/** What would happen to some calls: their order, and what the policy would say. */
export interface ShownPlan {
  readonly calls: readonly ToolCall[];
  readonly plan: ExecutionPlan;
  readonly dryRuns: readonly DryRun[];
}

const VERDICT_STYLES: Readonly<Record<Verdict | 'refused', Style>> = { allow: 'green', confirm: 'yellow', deny: 'red', refused: 'red' };
const MARGIN = 6;
const LABEL = 9;
/** Longer lines are hard to follow. */
const LONGEST_LINE = 110;

/** Prints a plan, one block a batch, and a line that sums it up. */
export function showPlan(terminal: Terminal, { calls, plan, dryRuns }: ShownPlan): void {
  for (const [index, batch] of plan.batches.entries()) {
    const together = batch.length === 1 ? '1 call' : `${batch.length} calls side by side`;
    terminal.out(`${index === 0 ? '' : '\n'}${paint(terminal, 'bold', `Batch ${index + 1}`)}  ${paint(terminal, 'dim', together)}`);
    for (const position of batch) for (const line of callLines(terminal, plan.calls[position]!, calls[position]!, dryRuns[position]!)) terminal.out(line);
  }
  const counts = (['allow', 'confirm', 'deny', 'refused'] as const).map((verdict) => [verdict, dryRuns.filter((dryRun) => verdictOf(dryRun) === verdict).length] as const);
  const verdicts = counts.filter(([, count]) => count > 0).map(([verdict, count]) => `${count} ${verdict}`);
  terminal.out(paint(terminal, 'dim', `\n${[`${calls.length} ${calls.length === 1 ? 'call' : 'calls'} in ${plan.batches.length} ${plan.batches.length === 1 ? 'batch' : 'batches'}`, ...verdicts].join(', ')}`));
}

function callLines(terminal: Terminal, { position, toolName, after }: PlannedCall, call: ToolCall, dryRun: DryRun): string[] {
  const width = Math.min(terminal.columns, LONGEST_LINE);
  const head = `${String(position).padStart(4)}  `;
  const name = plainLine(toolName);
  const room = width - head.length - name.length - 2;
  const input = plainLine(JSON.stringify(call.input));
  const short = input.length > room ? `${input.slice(0, Math.max(0, room - 1))}…` : input;
  const labelled = (label: string, style: Style, text: string) =>
    wrapWords(plainLine(text), width - MARGIN - LABEL).map((line, index) => ' '.repeat(MARGIN) + (index === 0 ? paint(terminal, style, label.padEnd(LABEL)) : ' '.repeat(LABEL)) + paint(terminal, 'dim', line));
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

/** A plan as plain JSON. */
export function planToJson({ calls, plan, dryRuns }: ShownPlan): object {
  return {
    batches: plan.batches,
    calls: plan.calls.map((planned, position) => {
      const { decision, refused } = dryRuns[position]!;
      return { ...planned, input: calls[position]!.input, decision, ...(refused !== undefined && { refused }) };
    }),
  };
}
