import type * as Sdk from 'ai';
import type { JSONSchema7, LanguageModel as AiLanguageModel, ModelMessage, ToolSet } from 'ai';
import { base64Of } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { expectedGot, missingPackage } from '../core/issues.js';
import { isPlainObject, type Json } from '../core/plain-data.js';
import type {
  LanguageModel,
  ModelPart,
  ModelRequest,
  ModelStep,
  ModelUsage,
} from './model-step.js';
import {
  withUniqueIds,
  type AssistantMessage,
  type ChatMessage,
  type ToolCallPart,
} from './thread.js';

/**
 * Returns the step of a model of the AI SDK, through the SDK's own `generateText` and `streamText`: it converts older models, repeats
 * failed requests and reads the answer. The tools it is given run nothing.
 *
 * @param options the SDK's options for each request, such as `temperature` and `maxRetries`.
 * @throws ToolError `MISSING_PACKAGE` when `ai` is not installed.
 */
export async function languageModelStep(
  model: LanguageModel,
  options: Readonly<Record<string, unknown>>,
): Promise<ModelStep> {
  const ai = await import('ai').catch(
    missingPackage('ai', 'Run npm install ai, or give a function as the model.'),
  );
  const settings = (request: ModelRequest, raw: RawInputs) => {
    const { system, messages } = withSystem(request);
    const { toolChoice, tools } = request;
    const chosen =
      tools.length === 0
        ? {}
        : {
            tools: toolSet(tools, ai),
            toolChoice:
              typeof toolChoice === 'string'
                ? toolChoice
                : { type: 'tool' as const, toolName: toolChoice.toolName },
          };
    return {
      ...options,
      model: (typeof model === 'string' ? model : heard(model, raw)) as AiLanguageModel,
      ...(system !== undefined && { system }),
      messages,
      ...chosen,
      abortSignal: request.signal,
    };
  };
  return async function* (request): AsyncGenerator<ModelPart> {
    const raw: RawInputs = [];
    if (request.stream) {
      const result = ai.streamText({ ...settings(request, raw), onError: () => undefined }); // It would write to the console.
      const promised = Promise.all([
        result.response,
        result.toolCalls,
        result.finishReason,
        result.totalUsage,
      ]);
      promised.catch(() => undefined);
      for await (const part of result.fullStream) {
        if (part.type === 'text-delta' || part.type === 'reasoning-delta')
          yield { type: part.type, text: part.text };
        else if (part.type === 'error')
          throw part.error instanceof Error
            ? part.error
            : new ToolError(
                'MODEL_FAILED',
                expectedGot('an answer of the model', 'an error in the stream'),
                { cause: part.error },
              );
        else if (part.type === 'abort')
          throw new ToolError(
            'ABORTED',
            expectedGot('an answer of the model', 'the abort of the chat by its caller'),
          );
      }
      const [response, toolCalls, finishReason, usage] = await promised;
      yield answerOf({ response, toolCalls, finishReason, usage }, raw);
      return;
    }
    const {
      response,
      toolCalls,
      finishReason,
      totalUsage: usage,
    } = await ai.generateText(settings(request, raw));
    yield answerOf({ response, toolCalls, finishReason, usage }, raw);
  };
}

/** Returns the tools as a null-safe record: names may be any, also `__proto__`. */
function toolSet(tools: ModelRequest['tools'], ai: typeof Sdk): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: ai.jsonSchema(inputSchema as JSONSchema7) },
    ]),
  );
}

/** Returns instructions apart from the messages: newer versions of the SDK take them only so. */
function withSystem({ system, messages }: ModelRequest): {
  readonly system: string | undefined;
  readonly messages: ModelMessage[];
} {
  const texts = [
    ...(system === undefined ? [] : [system]),
    ...messages.flatMap((message) => (message.role === 'system' ? [message.content] : [])),
  ];
  const others = messages.filter(({ role }) => role !== 'system').map(sendable);
  return {
    system: texts.length === 0 ? undefined : texts.join('\n\n'),
    messages: others as unknown as ModelMessage[],
  };
}

/** Returns a message that services accept: they refuse arguments that are no object; the result of such a call says what was wrong with them. */
function sendable(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  return {
    ...message,
    content: message.content.map((part) => {
      if (part.type !== 'tool-call') return part;
      const { rawInput: _raw, ...call } = part as ToolCallPart;
      return isPlainObject(call.input) ? call : { ...call, input: {} };
    }),
  };
}

interface SdkAnswer {
  readonly response: { readonly messages: readonly unknown[] };
  readonly toolCalls: readonly { readonly input: unknown }[];
  readonly finishReason: string;
  readonly usage: { readonly [Field in keyof ModelUsage]: number | undefined };
}

function answerOf(
  {
    response,
    toolCalls,
    finishReason,
    usage: { inputTokens, outputTokens, totalTokens },
  }: SdkAnswer,
  raw: RawInputs,
): ModelPart {
  const message = (response.messages as readonly ChatMessage[]).find(
    (each): each is AssistantMessage => each.role === 'assistant',
  ) ?? { role: 'assistant', content: [] };
  // The SDK writes empty arguments where the model wrote no JSON: a tool without parameters would run. What the model wrote is refused.
  // Both are in the order of the answer; ids may be missing, or double.
  const written = toolCalls.map(({ input }) => input as Json);
  const content =
    typeof message.content === 'string'
      ? [{ type: 'text' as const, text: message.content }]
      : message.content.map((part) =>
          part.type === 'tool-call' && written.length > 0
            ? withRawInput(
                { ...(part as ToolCallPart), input: written.shift() ?? null },
                raw.shift(),
              )
            : part,
        );
  const usage = {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  };
  return { type: 'answer', message: plain({ ...message, content }), finishReason, usage };
}

function withRawInput(part: ToolCallPart, rawInput: string | undefined): ToolCallPart {
  return rawInput === undefined || rawInput === JSON.stringify(part.input)
    ? part
    : { ...part, rawInput };
}

/** Returns the message as plain data: bytes of generated files as base64. */
function plain(message: unknown): AssistantMessage {
  const bytes = function (
    this: Readonly<Record<string, unknown>>,
    key: string,
    value: unknown,
  ): unknown {
    const original = this[key]; // Before its toJSON, which lists the bytes of a Buffer as numbers.
    return original instanceof Uint8Array ? base64Of(original) : value;
  };
  return JSON.parse(JSON.stringify(message, bytes)) as AssistantMessage;
}

/** The arguments of an answer's calls as the model's service sent them, in the order of the calls. */
type RawInputs = string[];
type Part = { readonly type: string; readonly input: unknown };

/**
 * Returns the model, whose calls have different ids in a whole answer and leave their arguments in `raw`.
 *
 * The SDK's `generateText` finds calls by their id: of two calls with the same one, or none, both would have the arguments
 * of the first. Its `streamText` does not.
 */
function heard(model: Exclude<LanguageModel, string>, raw: RawInputs): object {
  const [generate, stream] = [model.doGenerate, model.doStream] as unknown as [
    (...args: unknown[]) => Promise<{ readonly content: readonly Part[] }>,
    (...args: unknown[]) => Promise<{ readonly stream: ReadableStream<Part> }>,
  ];
  const hear = ({ type, input }: Part) => {
    if (type === 'tool-call') raw.push(String(input));
  };
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return (model as { readonly supportedUrls?: unknown }).supportedUrls;
    },
    doGenerate: async (...args: unknown[]) => {
      raw.length = 0; // The SDK repeats failed requests.
      const answer = withUniqueIds(await generate.apply(model, args), new Set()) as {
        readonly content?: readonly Part[];
      };
      answer.content?.forEach(hear);
      return answer;
    },
    doStream: async (...args: unknown[]) => {
      raw.length = 0;
      const answer = await stream.apply(model, args);
      const transform = (part: Part, controller: TransformStreamDefaultController<Part>) => {
        hear(part);
        controller.enqueue(part);
      };
      return { ...answer, stream: answer.stream.pipeThrough(new TransformStream({ transform })) };
    },
  };
}
