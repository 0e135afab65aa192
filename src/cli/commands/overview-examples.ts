import { scriptedModel } from '../../chat/model-step.js';
import { Session } from '../../chat/session/session.js';
import type { ChatMessage, TextPart, ToolCallPart, ToolResultPart } from '../../chat/thread.js';
import { isPlainObject } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { defineTool } from '../../tool/tool-definition.js';
import { callLines } from '../execute/ask-to-confirm.js';
import { durationText, outcomeToJson, STATUS_STYLES } from '../execute/show-outcome.js';
import { planToJson, showPlan, type ShownPlan } from '../execute/show-plan.js';
import { limitTime } from '../execute/with-executor.js';
import { plainLine } from '../plain-text.js';
import { table, wrapWords } from '../table.js';
import { paint, type Style, type Terminal } from '../terminal.js';

/** Reads run together; the write waits for them, and then for approval. */
const CALLS: readonly ToolCall[] = [
  { id: 'call-0', name: 'list_directory', input: {} },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md', maxResults: 20 } },
  { id: 'call-2', name: 'git_status', input: {} },
  { id: 'call-3', name: 'write_file', input: { path: 'draft.md', content: '# Draft\nNothing yet.\n' } },
];
/** The page should be there soon, also in a folder with a million files. */
const TIMEOUT_MS = 3_000;

/** The example calls and what became of them. */
export interface ExampleRun extends ShownPlan {
  readonly outcomes: readonly ToolOutcome[];
}

/** Plans and runs some calls of bundled tools in the current folder. Nobody approves, so nothing is written. */
export async function runExampleCalls(registry: ToolMetadataRegistry): Promise<ExampleRun> {
  const executor = new ToolExecutor({ registry: limitTime(registry, TIMEOUT_MS), maxAttempts: 1 });
  try {
    return { calls: CALLS, plan: await executor.plan(CALLS), dryRuns: await executor.dryRun(CALLS), outcomes: await executor.executeAll(CALLS) };
  } finally {
    await executor.close();
  }
}

/** Prints the plan and the outcomes. */
export function showExamplePlan(terminal: Terminal, run: ExampleRun): void {
  showPlan(terminal, run);
  terminal.out('');
  terminal.out(
    table(terminal, run.outcomes, [
      { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
      { title: 'STATUS', value: ({ status }) => status.replace('_', ' '), style: ({ status }) => STATUS_STYLES[status] },
      { title: 'TIME', value: ({ durationMs }) => durationText(durationMs), align: 'right' },
      { title: 'ANSWER', value: (outcome) => shortAnswer(outcome) },
    ]),
  );
}

/** Prints what the user would be shown, and the command that asks for real. */
export function showPendingCalls(terminal: Terminal, { calls, outcomes }: ExampleRun): void {
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status !== 'approval_required') continue;
    for (const line of callLines(terminal, outcome.pending)) terminal.out(line);
    terminal.out(`Run it? [y/N/e]  ${paint(terminal, 'dim', '(e changes the arguments first)')}`);
    const { name, input } = calls[position]!;
    terminal.out(paint(terminal, 'dim', `\nAsks, then runs it:  npm start -- run ${name} --input '${JSON.stringify(input)}'`));
  }
}

export function exampleRunToJson(run: ExampleRun): object {
  return { ...planToJson(run), outcomes: run.outcomes.map(outcomeToJson) };
}

/** How much an answer holds, rather than its first lines. */
function shortAnswer(outcome: ToolOutcome): string {
  if (outcome.status === 'approval_required') return 'needs approval';
  if (outcome.status === 'error') return outcome.message;
  if (outcome.status !== 'ok' || !isPlainObject(outcome.value)) return '';
  return Object.entries(outcome.value)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => (Array.isArray(value) ? `${value.length} ${name}` : `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`))
    .join(', ');
}

const QUESTION = 'What did order 17 cost? Refund it.';
const REFUND = { id: 'call-2', result: { refunded: true, by: 'cashier' } };

/** One turn in which a tool is answered by a user, kept as JSON between its two halves. */
export interface ExampleTurn {
  readonly held: Pick<Session, 'status' | 'haltedReason' | 'pending'>;
  /** Characters of the snapshot between the halves. */
  readonly snapshotLength: number;
  readonly resumed: Pick<Session, 'status' | 'haltedReason' | 'messages'>;
}

/** Runs the turn with a scripted model: one tool answers by itself, the other waits until its result is given. */
export async function runExampleTurn(): Promise<ExampleTurn> {
  const inputSchema = { type: 'object', properties: { order: { type: 'number' } }, required: ['order'] };
  const tools = [
    defineTool({ name: 'order_price', description: 'The price of an order', inputSchema, accessMode: 'readonly', execute: () => '12.50 €' }),
    defineTool({ name: 'refund', description: 'Pays an order back', inputSchema, manual: true }),
  ];
  const calls = [{ id: 'call-1', name: 'order_price', input: { order: 17 } }, { id: REFUND.id, name: 'refund', input: { order: 17 } }];
  const { session: held } = await Session.create({ id: 'order-17' }).start({ tools, model: scriptedModel([{ calls }]) }, QUESTION);

  const stored = JSON.stringify(held); // Now the process may end; the next one has nothing but this text.

  const answered = Session.fromJSON(JSON.parse(stored)).submitToolResult(REFUND.id, REFUND.result).session;
  const { session: resumed } = await answered.continue({ tools, model: scriptedModel(['Order 17 cost 12.50 €. It has been paid back.']) });
  return { held, snapshotLength: stored.length, resumed };
}

/** Prints the turn as a dialogue. */
export function showExampleTurn(terminal: Terminal, { held, snapshotLength, resumed }: ExampleTurn): void {
  const line = (style: Style, who: string, text: string) => terminal.out(`${paint(terminal, style, who.padEnd(10))}${plainLine(text)}`);
  const note = (text: string) => {
    for (const each of wrapWords(text, Math.min(terminal.columns, 100) - 10)) terminal.out(paint(terminal, 'dim', `${' '.repeat(10)}${each}`));
  };
  for (const [who, text] of resumed.messages.flatMap(spoken)) {
    const isResult = text.startsWith('refund →');
    if (isResult) {
      note(`${held.status}: ${held.pending.map(({ toolName }) => toolName).join(', ')} is answered by a user; the session is ${snapshotLength} characters of JSON`);
      note(`… what follows has nothing but that text: fromJSON, submitToolResult('${REFUND.id}', …), continue`);
    }
    line(who === 'user' ? 'bold' : who === 'assistant' ? 'cyan' : 'green', who, text);
  }
}

export function exampleTurnToJson({ held, snapshotLength, resumed }: ExampleTurn): object {
  const { status, haltedReason, pending } = held;
  return { held: { status, haltedReason, pending }, snapshotLength, resumed: { status: resumed.status, haltedReason: resumed.haltedReason, messages: resumed.messages } };
}

/** What a message says, part by part. */
function spoken({ role, content }: ChatMessage): (readonly [string, string])[] {
  if (typeof content === 'string') return [[role, content]];
  return content.map((part) => {
    if (part.type === 'tool-result') {
      const { toolName, output } = part as ToolResultPart;
      return [role, `${toolName} → ${'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify('value' in output ? output.value : null)}`] as const;
    }
    if (part.type === 'tool-call') {
      const { toolName, input } = part as ToolCallPart;
      return [role, `${toolName} ${JSON.stringify(input)}`] as const;
    }
    return [role, (part as TextPart).text] as const;
  });
}
