import { AccessMode, askUser, defineTool, halt, type ToolDefinition } from '../../src/index.js';
import { tooldex, type CommandCase } from './command-line.js';

/** A chat in a test. */
export interface ChatCase extends CommandCase {
  readonly prompt?: string;
  readonly flags?: readonly string[];
}

/** Runs `tooldex chat` in a folder. */
export const chatIn = (cwd: string, { prompt, flags = [], ...options }: ChatCase = {}) =>
  tooldex(['chat', ...flags, ...(prompt === undefined ? [] : [prompt])], { cwd, ...options });

/** Counts the calls that had an effect. */
export class Effects {
  readonly made: string[] = [];

  readonly tools: readonly ToolDefinition[] = [
    defineTool({
      name: 'look',
      description: 'Looks',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => this.note('look'),
    }),
    defineTool({
      name: 'pay',
      description: 'Pays',
      inputSchema: { type: 'object', properties: { cents: { type: 'number' } } },
      accessMode: AccessMode.WRITE,
      execute: ({ cents }) => this.note(`pay ${cents}`),
    }),
    defineTool({
      name: 'ask',
      description: 'Asks',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => askUser('Which colour?', ['red', 'blue']),
    }),
    defineTool({
      name: 'sign',
      description: 'Signs',
      inputSchema: { type: 'object' },
      manual: true,
    }),
    defineTool({
      name: 'stop',
      description: 'Stops',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => halt('enough', 7),
    }),
  ];

  private note(effect: string): string {
    this.made.push(effect);
    return effect;
  }
}

/**
 * The source of a model file. Each prompt is a JSON list of the answers that the model gives in order.
 * An answer is a text or a list of calls.
 */
export const MODEL_FILE = `
export default async function* model({ messages }) {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const step = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
  const made = messages.flatMap(({ role, content }) => (role === 'assistant' && Array.isArray(content) ? content : [])).filter(({ type }) => type === 'tool-call').length;
  const answer = JSON.parse(messages[at].content)[step] ?? 'done';
  if (answer === 'fail') throw new Error('the service is down');
  const content = typeof answer === 'string' ? [{ type: 'text', text: answer }] : answer.map(([toolName, input], index) => ({ type: 'tool-call', toolCallId: 'c' + (made + index + 1), toolName, input: input ?? {} }));
  yield { type: 'answer', message: { role: 'assistant', content }, finishReason: 'stop' };
}
`;
