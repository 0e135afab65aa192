import { ToolError } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import type { JsonSchema } from '../tool/tool-schema.js';
import type { AssistantMessage, ChatMessage } from './thread.js';

/**
 * An AI SDK model, or its name. The type describes the shape of a model, so that any major version
 * of the SDK fits.
 */
export type LanguageModel =
  | string
  | {
      readonly specificationVersion: string;
      readonly provider: string;
      readonly modelId: string;
      readonly doGenerate: (...args: never[]) => unknown;
      readonly doStream: (...args: never[]) => unknown;
    };

/** A request for one answer. */
export interface ModelRequest {
  /** The instructions before the messages. Missing if there are no instructions. */
  readonly system?: string;
  /** The thread. Every call in the thread has its result, and tool names match `tools`. */
  readonly messages: readonly ChatMessage[];
  /** The tools, under names that every service allows. */
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: JsonSchema;
  }[];
  /**
   * Determines whether the model must, may, or must not call a tool, or which tool it must call.
   */
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly toolName: string };
  /** True if the text is streamed. */
  readonly stream: boolean;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/** The tokens used for one answer, as counted by the service. */
export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** A part of an answer: a piece of text, or at the end the complete answer. */
export type ModelPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | {
      readonly type: 'answer';
      readonly message: AssistantMessage;
      readonly finishReason: string;
      readonly usage?: ModelUsage;
    };

/**
 * Calls a model once. The last part is the complete answer. Throws if the model fails.
 *
 * You can pass a function of this type wherever a model is expected.
 */
export type ModelStep = (request: ModelRequest) => AsyncIterable<ModelPart>;

export type ScriptedCall = { readonly id?: string; readonly name: string; readonly input?: Json };

type PreparedAnswer =
  | string
  | {
      readonly text?: string;
      readonly calls?: readonly ScriptedCall[];
      readonly finishReason?: string;
    }
  | { readonly error: Error };

/**
 * One scripted answer: text, calls or both, or the error with which the model fails. Call ids are
 * `call-1`, `call-2`… by default.
 */
export type ScriptedAnswer = PreparedAnswer | ((request: ModelRequest) => PreparedAnswer);

/**
 * Returns a model that gives prepared answers, one after the other, for tests, examples and trials
 * without an API key.
 *
 * An answer may be a function of the request, and one function may answer every request. If there
 * are more requests than answers, the model fails. `requests` records every request.
 *
 * ```ts
 * import { chat, scriptedModel } from 'tooldex/chat';
 *
 * const result = await chat({ model: scriptedModel(['Hello!']), prompt: 'Hi' });
 * result.text; // → 'Hello!'
 * ```
 */
export function scriptedModel(
  answers: readonly ScriptedAnswer[] | ((request: ModelRequest) => PreparedAnswer),
): ModelStep & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  let calls = 0;
  const step = async function* (request: ModelRequest): AsyncGenerator<ModelPart> {
    requests.push(request);
    const scripted = typeof answers === 'function' ? answers : answers[requests.length - 1];
    if (scripted === undefined)
      throw new ToolError(
        'MODEL_FAILED',
        `The script of this model has only ${answers.length} answers, and there was one more request. Add an answer.`,
      );
    const answer = typeof scripted === 'function' ? scripted(request) : scripted;
    if (typeof answer === 'object' && 'error' in answer) throw answer.error;
    const {
      text = '',
      calls: asked = [],
      finishReason = asked.length > 0 ? 'tool-calls' : 'stop',
    } = typeof answer === 'string' ? { text: answer } : answer;
    await Promise.resolve();
    if (request.stream)
      for (const piece of text.match(/\S+\s*|\s+/g) ?? [])
        yield { type: 'text-delta', text: piece };
    const content = [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...asked.map(({ id = `call-${(calls += 1)}`, name, input = {} }) => ({
        type: 'tool-call' as const,
        toolCallId: id,
        toolName: name,
        input,
      })),
    ];
    yield { type: 'answer', message: { role: 'assistant', content }, finishReason };
  };
  return Object.freeze(Object.assign(step, { requests }));
}
