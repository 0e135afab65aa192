import { ToolError } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ModelPart, ModelStep, ModelUsage } from '../model/model-step.js';
import type { AssistantMessage, ChatMessage } from '../thread/chat-message.js';
import { cloneMessage } from '../thread/data-depth.js';
import { assistantSchema } from '../thread/message-schema.js';
import type { ChatRun } from './chat-run.js';
import { modelNames, renamed } from './model-names.js';
import type { Offer } from './offer-tools.js';
import { withUniqueIds } from './unique-ids.js';

export interface Answer {
  readonly message: AssistantMessage;
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}

/**
 * Asks the model once, and tells its text as it comes.
 *
 * Models see tools under names that every service allows; the answer has their own again. Ids of calls that are missing or
 * not unique are replaced, because results could not be told apart.
 *
 * @throws what the model throws; ToolError `MODEL_FAILED` for an answer that is none.
 */
export async function askModel(run: ChatRun, model: ModelStep, offer: Offer, messages: readonly ChatMessage[], turn: number): Promise<Answer> {
  const { engine, signal, stream } = run;
  const names = modelNames(run.offers.names(), messages);
  const { system, toolChoice } = engine;
  let answer: Extract<ModelPart, { type: 'answer' }> | undefined;
  const parts = model({
    ...(system !== undefined && { system }),
    messages: messages.map((message) => renamed(message, names.encode)),
    tools: offer.tools.map(({ toolName, rendered }) => ({ ...rendered, name: names.encode(toolName) })),
    toolChoice: typeof toolChoice === 'string' ? toolChoice : { toolName: names.encode(offer.forced!) },
    stream,
    signal,
  });
  for await (const part of untilStopped(parts, signal)) {
    if (part.type === 'answer') answer = part;
    else run.tell({ type: part.type, turn, text: part.text });
  }
  if (answer === undefined) throw new ToolError('MODEL_FAILED', 'Expected an answer of the model, found that it ended without one');
  const { finishReason, usage } = answer;
  if (typeof finishReason !== 'string') throw new ToolError('MODEL_FAILED', `Expected the reason why the model ended as text, found ${describeValue(finishReason)}`);
  const message = withUniqueIds(renamed(checked(answer.message), names.decode), messages);
  return { message, finishReason, ...(usage && { usage }) };
}

function checked(message: unknown): AssistantMessage {
  let copy: unknown;
  try {
    copy = cloneMessage(message);
  } catch (error) {
    throw new ToolError('MODEL_FAILED', `Expected an answer of plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
  if (!assistantSchema.safeParse(withIds(copy)).success) throw new ToolError('MODEL_FAILED', `Expected an assistant's message, found ${describeValue(copy)} of another shape`);
  return copy as AssistantMessage;
}

/** A missing id is mended later, and no reason to refuse the answer. */
function withIds(message: unknown): unknown {
  if (!isPlainObject(message) || !Array.isArray(message['content'])) return message;
  return { ...message, content: message['content'].map((part: unknown) => (isPlainObject(part) && part['type'] === 'tool-call' ? { ...part, toolCallId: 'id' } : part)) };
}

/** A model that does not listen to the signal is left alone. */
async function* untilStopped(parts: AsyncIterable<ModelPart>, signal: AbortSignal): AsyncGenerator<ModelPart> {
  if (typeof (parts as Partial<AsyncIterable<ModelPart>> | undefined)?.[Symbol.asyncIterator] !== 'function') throw new ToolError('MODEL_FAILED', "Expected a model's function to give parts one by one (async function*, with yield { type: 'answer', message, finishReason } at the end), found something else");
  const iterator = parts[Symbol.asyncIterator]();
  let stopListening = () => {};
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => reject(new ToolError('ABORTED', 'Expected the answer of the model, found that the caller has given the chat up'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    stopListening = () => signal.removeEventListener('abort', stop);
  });
  stopped.catch(() => undefined);
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => undefined);
      const result = await Promise.race([next, stopped]);
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    stopListening();
    void iterator.return?.().then(undefined, () => undefined);
  }
}
