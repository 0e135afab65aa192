import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { untilAborted } from '../execution/with-deadline.js';
import { createNameCodec, GEMINI_NAME_RULE } from '../interop/export/name-codec.js';
import { fillMessages } from './blobs.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatRun } from './chat-run.js';
import type { ModelPart, ModelStep, ModelUsage } from './model-step.js';
import type { Offer } from './offer-tools.js';
import {
  assistantSchema,
  callsIn,
  cloneMessage,
  withUniqueIds,
  type AssistantMessage,
  type ChatMessage,
  type ToolCallPart,
} from './thread.js';

export interface Answer {
  readonly message: AssistantMessage;
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}

/**
 * Returns the function that asks the model of an engine.
 *
 * @throws ToolError `MISSING_PACKAGE` when it is a model of the AI SDK, and the SDK is not installed.
 */
export async function modelStepOf({ model, modelOptions }: CheckedEngine): Promise<ModelStep> {
  if (typeof model === 'function') return model;
  const { languageModelStep } = await import('./language-model-step.js');
  return languageModelStep(model, modelOptions);
}

/**
 * Asks the model once, and tells its text as it comes.
 *
 * Models see tools under names that every service allows; the answer has their own again. Ids of calls that are missing or
 * not unique are replaced, because results could not be told apart.
 *
 * @throws what the model throws; ToolError `MODEL_FAILED` for an answer of another shape.
 */
export async function askModel(
  run: ChatRun,
  model: ModelStep,
  offer: Offer,
  turn: number,
): Promise<Answer> {
  const {
    engine: { system, toolChoice, blobs },
    state: { messages },
    signal,
  } = run;
  const names = modelNames(run.offers.names(), messages);
  let answer: Extract<ModelPart, { type: 'answer' }> | undefined;
  const parts = model({
    ...(system !== undefined && { system }),
    messages: (await fillMessages(messages, blobs, signal)).map((message) =>
      renamed(message, names.encode),
    ),
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
  if (answer === undefined)
    throw new ToolError(
      'MODEL_FAILED',
      expectedGot('an answer of the model', 'none before it ended'),
    );
  const { finishReason, usage } = answer;
  if (typeof finishReason !== 'string')
    throw new ToolError(
      'MODEL_FAILED',
      expectedGot('the reason why the model ended as text', describeValue(finishReason)),
    );
  const taken = new Set(
    messages.flatMap((each) =>
      each.role === 'assistant' ? callsIn(each).map(({ toolCallId }) => toolCallId) : [],
    ),
  );
  const message = withUniqueIds(
    cloneMessage(answer.message, 'the answer of the model', 'MODEL_FAILED'),
    taken,
  );
  if (!assistantSchema.safeParse(message).success)
    throw new ToolError(
      'MODEL_FAILED',
      expectedGot("an assistant's message", `${describeValue(message)} of another shape`),
    );
  return {
    message: renamed(message as AssistantMessage, names.decode),
    finishReason,
    ...(usage && { usage }),
  };
}

/** Returns the parts of an answer until the signal fires: a model that does not listen to it is left alone. */
async function* untilStopped(
  parts: AsyncIterable<ModelPart>,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  if (
    typeof (parts as Partial<AsyncIterable<ModelPart>> | undefined)?.[Symbol.asyncIterator] !==
    'function'
  ) {
    throw new ToolError(
      'MODEL_FAILED',
      expectedGot(
        "a model's function that gives parts one by one",
        describeValue(parts),
        "Write an async function* that yields { type: 'answer', message, finishReason } at the end.",
      ),
    );
  }
  const iterator = parts[Symbol.asyncIterator]();
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
 * Returns the names of tools for one request to a model, and the way back.
 *
 * @param tools all tools that there are, shown or not: so a tool keeps its name when others are shown beside it.
 * @param messages may name tools that are gone, or that never were. These change no name of a tool that there is.
 */
function modelNames(tools: readonly string[], messages: readonly ChatMessage[]) {
  const codec = createNameCodec(tools, GEMINI_NAME_RULE);
  const given = new Set(tools.map((name) => codec.encode(name)!));
  const earlier = messages.flatMap((message) =>
    message.role === 'assistant' ? callsIn(message).map(({ toolName }) => toolName) : [],
  );
  const others = createNameCodec(
    earlier.filter((name) => codec.encode(name) === undefined && !given.has(name)),
    GEMINI_NAME_RULE,
    given,
  );
  return {
    encode: (name: string) => codec.encode(name) ?? others.encode(name) ?? name,
    decode: (encoded: string) => codec.decode(encoded) ?? others.decode(encoded) ?? encoded,
  };
}

/** Returns the message with the tools of its calls and results under other names. */
function renamed<M extends ChatMessage>(message: M, rename: (name: string) => string): M {
  if (
    (message.role !== 'assistant' && message.role !== 'tool') ||
    typeof message.content === 'string'
  )
    return message;
  const content = message.content.map((part) =>
    part.type === 'tool-call' || part.type === 'tool-result'
      ? Object.freeze({ ...part, toolName: rename((part as ToolCallPart).toolName) })
      : part,
  );
  return Object.freeze({ ...message, content: Object.freeze(content) }) as M;
}
