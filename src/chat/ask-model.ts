import { ToolError } from '../core/errors.js';
import { describeValue, without } from '../core/plain-data.js';
import { untilAborted } from '../execution/with-deadline.js';
import { createNameCodec, GEMINI_NAME_RULE } from '../interop/export/name-codec.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatRun } from './chat-run.js';
import type { ModelPart, ModelRequest, ModelStep } from './model-step.js';
import type { Offer } from './tools-of-turn.js';
import {
  assistantSchema,
  callsIn,
  cloneMessage,
  withUniqueIds,
  type AssistantMessage,
  type ChatMessage,
  type ToolCallPart,
} from './thread.js';

/** A model's complete answer. */
type Answer = Extract<ModelPart, { type: 'answer' }>;

/**
 * Returns the function that calls the engine's model.
 *
 * @throws ToolError `MISSING_PACKAGE` if it's an AI SDK model and the SDK isn't installed.
 */
export async function modelStepOf({ model, modelOptions }: CheckedEngine): Promise<ModelStep> {
  if (typeof model === 'function') return model;
  const { languageModelStep } = await import('./language-model-step.js');
  return languageModelStep(model, modelOptions);
}

/**
 * Calls the model once, and streams its text.
 *
 * The model sees tools under names that every service allows. The answer contains the tools'
 * original names again. Missing and repeated call ids are replaced.
 *
 * @throws any error from the model, and ToolError `MODEL_FAILED` if the answer doesn't have the
 * expected shape.
 */
export async function askModel(
  run: ChatRun,
  model: ModelStep,
  offer: Offer,
  turn: number,
): Promise<Answer> {
  const names = modelNames(run.offers.names());
  const parts = model(requestOf(run, offer, names.encode));
  let answer: Answer | undefined;
  for await (const part of untilStopped(parts, run.signal)) {
    if (part.type === 'answer') answer = part;
    else run.tell({ type: part.type, turn, text: part.text });
  }
  if (answer === undefined) throw failed('an answer of the model', 'none before it ended');
  if (typeof answer.finishReason !== 'string')
    throw failed('a finishReason as text', describeValue(answer.finishReason));
  const ids = new Set<string>();
  for (const message of run.state.messages)
    if (message.role === 'assistant')
      for (const { toolCallId } of callsIn(message)) ids.add(toolCallId);
  const copy = cloneMessage(answer.message, 'the answer of the model', 'MODEL_FAILED');
  const message = withUniqueIds(copy, ids);
  if (!assistantSchema.safeParse(message).success)
    throw failed("an assistant's message", `${describeValue(message)} of another shape`);
  return { ...answer, message: renamed(message as AssistantMessage, names.decode) };
}

function requestOf(run: ChatRun, offer: Offer, encode: Rename): ModelRequest {
  const { system, toolChoice } = run.engine;
  return {
    ...without({ system }),
    messages: run.state.messages.map((message) => renamed(message, encode)),
    tools: offer.tools.map(({ toolName, rendered }) => ({ ...rendered, name: encode(toolName) })),
    toolChoice: typeof toolChoice === 'string' ? toolChoice : { toolName: encode(offer.forced!) },
    stream: run.options.stream,
    signal: run.signal,
  };
}

function failed(expected: string, got: string): ToolError {
  return new ToolError('MODEL_FAILED', `Expected ${expected}, got ${got}.`);
}

/**
 * Returns the parts of an answer until the signal aborts. Doesn't wait for a model that ignores the
 * signal.
 */
async function* untilStopped(
  parts: AsyncIterable<ModelPart>,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  const iterator = (parts as Partial<typeof parts> | undefined)?.[Symbol.asyncIterator]?.();
  if (iterator === undefined)
    throw new ToolError(
      'MODEL_FAILED',
      `Expected the model's function to return an async iterable of parts, got ${describeValue(parts)}. Write an async function* that yields { type: 'answer', message, finishReason } at the end.`,
    );
  try {
    for (;;) {
      const result = await untilAborted(Promise.resolve(iterator.next()), signal, 'the model');
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    void iterator.return?.().then(undefined, () => undefined);
  }
}

/**
 * Returns names of tools for the model, and the mapping back to the original names. All tools are
 * considered, whether shown or not, so a tool has the same name in every turn. A name that the
 * model made up, or that no longer exists, is changed to an allowed form.
 */
function modelNames(tools: readonly string[]): Record<'encode' | 'decode', Rename> {
  const codec = createNameCodec(tools, GEMINI_NAME_RULE);
  return {
    encode: (name) => codec.encode(name) ?? asModelName(name),
    decode: (encoded) => codec.decode(encoded) ?? encoded,
  };
}

type Rename = (name: string) => string;

function asModelName(name: string): string {
  return GEMINI_NAME_RULE.test(name)
    ? name
    : `_${name.replace(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, 64);
}

/** Returns the message with its tools renamed. */
function renamed<M extends ChatMessage>(message: M, rename: Rename): M {
  const { role, content } = message;
  if ((role !== 'assistant' && role !== 'tool') || typeof content === 'string') return message;
  const parts = content.map((part) =>
    part.type === 'tool-call' || part.type === 'tool-result'
      ? { ...part, toolName: rename((part as ToolCallPart).toolName) }
      : part,
  );
  return { ...message, content: parts };
}
