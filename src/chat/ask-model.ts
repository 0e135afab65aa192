import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { untilAborted } from '../execution/with-deadline.js';
import { createNameCodec, GEMINI_NAME_RULE } from '../interop/export/name-codec.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatRun } from './chat-run.js';
import type { ModelPart, ModelStep } from './model-step.js';
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
  const { system, toolChoice } = run.engine;
  const { messages } = run.state;
  const { signal } = run;
  const names = modelNames(run.offers.names());
  let answer: Answer | undefined;
  const parts = model({
    ...(system !== undefined && { system }),
    messages: messages.map((message) => renamed(message, names.encode)),
    tools: offer.tools.map(({ toolName, rendered }) => ({
      ...rendered,
      name: names.encode(toolName),
    })),
    toolChoice:
      typeof toolChoice === 'string' ? toolChoice : { toolName: names.encode(offer.forced!) },
    stream: run.options.stream,
    signal,
  });
  for await (const part of untilStopped(parts, signal)) {
    if (part.type === 'answer') answer = part;
    else run.tell({ type: part.type, turn, text: part.text });
  }
  if (answer === undefined) throw failed('an answer of the model', 'none before it ended');
  if (typeof answer.finishReason !== 'string')
    throw failed('a finishReason as text', describeValue(answer.finishReason));
  const taken = messages.flatMap((each) => (each.role === 'assistant' ? callsIn(each) : []));
  const message = withUniqueIds(
    cloneMessage(answer.message, 'the answer of the model', 'MODEL_FAILED'),
    new Set(taken.map(({ toolCallId }) => toolCallId)),
  );
  if (!assistantSchema.safeParse(message).success)
    throw failed("an assistant's message", `${describeValue(message)} of another shape`);
  return { ...answer, message: renamed(message as AssistantMessage, names.decode) };
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
function modelNames(tools: readonly string[]) {
  const isAllowed = (name: string) => GEMINI_NAME_RULE.test(name);
  const codec = tools.every(isAllowed) ? undefined : createNameCodec(tools, GEMINI_NAME_RULE);
  return {
    encode: (name: string) =>
      codec?.encode(name) ??
      (isAllowed(name) ? name : `_${name.replace(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, 64)),
    decode: (encoded: string) => codec?.decode(encoded) ?? encoded,
  };
}

/** Returns the message with its tools renamed. */
function renamed<M extends ChatMessage>(message: M, rename: (name: string) => string): M {
  const { role, content } = message;
  if ((role !== 'assistant' && role !== 'tool') || typeof content === 'string') return message;
  const parts = content.map((part) =>
    part.type === 'tool-call' || part.type === 'tool-result'
      ? { ...part, toolName: rename((part as ToolCallPart).toolName) }
      : part,
  );
  return { ...message, content: parts };
}
