import { ToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { createNameCodec, GEMINI_NAME_RULE } from '../interop/export/name-codec.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatRun } from './chat-run.js';
import type { ModelPart, ModelStep, ModelUsage } from './model-step.js';
import type { Offer } from './offer-tools.js';
import { assistantSchema, callsIn, cloneMessage, type AssistantMessage, type ChatMessage, type ToolCallPart } from './thread.js';

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

/** The names of tools as every model service allows them, and the way back. */
export interface ModelNames {
  readonly encode: (name: string) => string;
  readonly decode: (encoded: string) => string;
}

/**
 * Names for one question to a model.
 *
 * @param tools all tools that there are, shown or not: so a tool keeps its name when others are shown beside it.
 * @param messages may name tools that are gone, or that never were. These change no name of a tool that there is.
 */
export function modelNames(tools: Iterable<string>, messages: readonly ChatMessage[]): ModelNames {
  const known = [...tools];
  const codec = createNameCodec(known, GEMINI_NAME_RULE);
  const given = new Set(known.map((name) => codec.encode(name)!));
  const earlier = messages.flatMap((message) => (message.role === 'assistant' ? callsIn(message).map(({ toolName }) => toolName) : []));
  const others = createNameCodec(earlier.filter((name) => codec.encode(name) === undefined && !given.has(name)), { ...GEMINI_NAME_RULE, reserved: [...given] });
  return {
    encode: (name) => codec.encode(name) ?? others.encode(name) ?? name,
    decode: (encoded) => codec.decode(encoded) ?? others.decode(encoded) ?? encoded,
  };
}

/** The message with the tools of its calls and results under other names. */
export function renamed<M extends ChatMessage>(message: M, rename: (name: string) => string): M {
  if ((message.role !== 'assistant' && message.role !== 'tool') || typeof message.content === 'string') return message;
  const content = message.content.map((part) => (part.type === 'tool-call' || part.type === 'tool-result' ? Object.freeze({ ...part, toolName: rename((part as ToolCallPart).toolName) }) : part));
  return Object.freeze({ ...message, content: Object.freeze(content) }) as M;
}

/**
 * The message with calls whose ids are unique in the thread: others are replaced, because results could not be told apart.
 */
export function withUniqueIds(message: AssistantMessage, messages: readonly ChatMessage[]): AssistantMessage {
  const calls = callsIn(message);
  const taken = new Set(messages.flatMap((each) => (each.role === 'assistant' ? callsIn(each).map(({ toolCallId }) => toolCallId) : [])));
  if (calls.every(({ toolCallId }) => isId(toolCallId) && !taken.has(toolCallId)) && new Set(calls.map(({ toolCallId }) => toolCallId)).size === calls.length) return message;
  const unique = (id: unknown): string => {
    const base = isId(id) ? id : 'call';
    let own = base;
    for (let copy = 2; taken.has(own); copy += 1) own = `${base}-${copy}`;
    taken.add(own);
    return own;
  };
  /** What a service ran itself has its result in the same message, which must follow. */
  const renamed = new Map<unknown, string>();
  const content = (message.content as readonly ToolCallPart[]).map((part) => {
    if (part.type === 'tool-call') {
      const toolCallId = unique(part.toolCallId);
      if (part.providerExecuted === true) renamed.set(part.toolCallId, toolCallId);
      return Object.freeze({ ...part, toolCallId });
    }
    const { toolCallId } = part;
    return (part as { type: string }).type === 'tool-result' && renamed.has(toolCallId) ? Object.freeze({ ...(part), toolCallId: renamed.get(toolCallId)! }) : part;
  });
  return Object.freeze({ ...message, content: Object.freeze(content) });
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256;
}

/**
 * What asks the model of an engine.
 *
 * @throws ToolError `MISSING_PACKAGE` when it is a model of the AI SDK, and the SDK is not installed.
 */
export async function modelStepOf({ model, modelOptions }: Pick<CheckedEngine, 'model' | 'modelOptions'>): Promise<ModelStep> {
  if (typeof model === 'function') return model;
  const { languageModelStep } = await import('./language-model-step.js');
  return languageModelStep(model, modelOptions);
}
