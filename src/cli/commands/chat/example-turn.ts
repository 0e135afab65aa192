import { scriptedModel } from '../../../chat/model/scripted-model.js';
import { Session } from '../../../chat/session/session.js';
import type { ChatMessage, TextPart, ToolCallPart, ToolResultPart } from '../../../chat/thread/chat-message.js';
import { defineTool } from '../../../tool/tool-definition.js';
import { plainLine } from '../../plain-text.js';
import { wrapWords } from '../../table.js';
import { paint, type Style, type Terminal } from '../../terminal.js';

const QUESTION = 'What did order 17 cost? Refund it.';
const REFUND = { id: 'call-2', result: { refunded: true, by: 'cashier' } };

/** One turn in which a tool is answered by a person, kept as JSON between its two halves. */
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
      note(`${held.status}: ${held.pending.map(({ toolName }) => toolName).join(', ')} is answered by somebody else; the session is ${snapshotLength} characters of JSON`);
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
