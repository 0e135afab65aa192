import type * as Sdk from 'ai';
import type { JSONSchema7, LanguageModel as AiLanguageModel, ModelMessage, ToolSet } from 'ai';
import { base64Of } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { missingPackage, requireInstalled } from '../core/issues.js';
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
 * Returns the function that calls an AI SDK model, through the SDK's `generateText` and
 * `streamText`. The SDK's functions convert older models, retry failed requests and parse the
 * answer. The tools passed to the SDK can't run.
 *
 * @param options The SDK's options for each request, such as `temperature` and `maxRetries`.
 * @throws ToolError `MISSING_PACKAGE` if `ai` isn't installed.
 */
export async function languageModelStep(
  model: LanguageModel,
  options: Readonly<Record<string, unknown>>,
): Promise<ModelStep> {
  const ai = await importAISDK();
  return async function* (request): AsyncGenerator<ModelPart> {
    const raw: RawInputs = [];
    const { toolChoice, tools } = request;
    const choice =
      typeof toolChoice === 'string'
        ? toolChoice
        : { type: 'tool' as const, toolName: toolChoice.toolName };
    const settings = {
      ...options,
      ...withSystem(request),
      model: (typeof model === 'string' ? model : listening(model, raw)) as AiLanguageModel,
      ...(tools.length > 0 && { tools: toolSet(tools, ai), toolChoice: choice }),
      abortSignal: request.signal,
    };
    if (!request.stream) {
      yield answerOf(await ai.generateText(settings), raw);
      return;
    }
    const result = ai.streamText({ ...settings, onError: () => undefined }); // The SDK's default handler writes to the console.
    const { response, toolCalls, finishReason, totalUsage } = result;
    const answer = Promise.all([response, toolCalls, finishReason, totalUsage]);
    answer.catch(() => undefined);
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta' || part.type === 'reasoning-delta')
        yield { type: part.type, text: part.text };
      else if (part.type === 'error')
        throw part.error instanceof Error
          ? part.error
          : new ToolError('MODEL_FAILED', "The model's stream ended with an error. Try again.", {
              cause: part.error,
            });
    }
    const [responded, calls, reason, usage] = await answer;
    yield answerOf(
      { response: responded, toolCalls: calls, finishReason: reason, totalUsage: usage },
      raw,
    );
  };
}

async function importAISDK(): Promise<typeof Sdk> {
  try {
    return requireInstalled(await import('ai'));
  } catch (cause) {
    return missingPackage('ai', 'Run npm install ai, or pass a function as the model.')(cause);
  }
}

/**
 * Returns the tools in the SDK's format. `Object.fromEntries` accepts any name, even `__proto__`.
 */
function toolSet(tools: ModelRequest['tools'], ai: typeof Sdk): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: ai.jsonSchema(inputSchema as JSONSchema7) },
    ]),
  );
}

/**
 * Returns the instructions separately from the messages, because newer versions of the SDK refuse
 * instructions among the messages.
 */
function withSystem({ system, messages }: ModelRequest) {
  const texts = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : []));
  if (system !== undefined) texts.unshift(system);
  const others = messages.filter(({ role }) => role !== 'system').map(sendable);
  return {
    ...(texts.length > 0 && { system: texts.join('\n\n') }),
    messages: others as unknown as ModelMessage[],
  };
}

/**
 * Returns a message that services accept. Replaces arguments that aren't an object, because
 * services reject them. The call's result explains the error.
 */
function sendable(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call') return part;
    const { rawInput: _raw, ...call } = part as ToolCallPart;
    return isPlainObject(call.input) ? call : { ...call, input: {} };
  });
  return { ...message, content };
}

interface SdkAnswer {
  readonly response: { readonly messages: readonly unknown[] };
  readonly toolCalls: readonly { readonly input: unknown }[];
  readonly finishReason: string;
  readonly totalUsage: { readonly [Field in keyof ModelUsage]: number | undefined };
}

function answerOf(
  { response, toolCalls, finishReason, totalUsage }: SdkAnswer,
  raw: RawInputs,
): ModelPart {
  const messages = response.messages as readonly ChatMessage[];
  const message = messages.find(({ role }) => role === 'assistant') as AssistantMessage | undefined;
  const { content = [] } = message ?? {};
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  // If the model wrote invalid JSON, the message has empty arguments, with which a tool without
  // parameters would run. `toolCalls` contains the model's original arguments, in the same order.
  // Calls can't be matched by id, because ids may be missing or duplicate.
  const written = toolCalls.map(({ input }) => input as Json);
  const withInputs = parts.map((part) => {
    if (part.type !== 'tool-call' || written.length === 0) return part;
    const input = written.shift() ?? null;
    const rawInput = raw.shift();
    const isSame = rawInput === undefined || rawInput === JSON.stringify(input);
    return { ...part, input, ...(!isSame && { rawInput }) };
  });
  const { inputTokens, outputTokens, totalTokens } = totalUsage;
  return {
    type: 'answer',
    message: plain({ role: 'assistant', ...message, content: withInputs }) as AssistantMessage,
    finishReason,
    usage: plain({ inputTokens, outputTokens, totalTokens }) as ModelUsage,
  };
}

/** Returns plain data, with the bytes of generated files as base64. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, json: unknown) {
      const original = this[key]; // A Buffer's `toJSON` lists its bytes as numbers.
      return original instanceof Uint8Array ? base64Of(original) : json;
    }),
  );
}

/** The arguments of an answer's calls as the model's service sent them, in order. */
type RawInputs = string[];
type Part = { readonly type: string; readonly input: unknown };
type Ask<Answer> = (...args: unknown[]) => Promise<Answer>;

/**
 * Returns the model with a change to its complete answers: their calls get unique ids, and the
 * calls' arguments are added to `raw`.
 *
 * The SDK's `generateText` finds calls by id, so two calls with the same id, or without one, would
 * get the same arguments.
 */
function listening(model: Exclude<LanguageModel, string>, raw: RawInputs): object {
  const { doGenerate, doStream } = model as unknown as {
    readonly doGenerate: Ask<unknown>;
    readonly doStream: Ask<{ readonly stream: ReadableStream<Part> }>;
  };
  const note = ({ type, input }: Part) => {
    if (type === 'tool-call') raw.push(String(input));
  };
  const methods: Readonly<Record<PropertyKey, unknown>> = {
    doGenerate: async (...args: unknown[]) => {
      raw.length = 0; // The SDK retries failed requests.
      const answer = withUniqueIds(await doGenerate.apply(model, args), new Set());
      (answer as { readonly content?: readonly Part[] }).content?.forEach(note);
      return answer;
    },
    doStream: async (...args: unknown[]) => {
      raw.length = 0;
      const answer = await doStream.apply(model, args);
      const noting = new TransformStream<Part, Part>({
        transform: (part, controller) => {
          note(part);
          controller.enqueue(part);
        },
      });
      return { ...answer, stream: answer.stream.pipeThrough(noting) };
    },
  };
  return new Proxy(model, {
    get: (target, key) => methods[key] ?? (Reflect.get(target, key) as unknown),
  });
}
