import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import type { Json } from '../core/plain-data.js';
import type { JsonSchema } from '../tool/tool-schema.js';
import type { AssistantMessage, ChatMessage } from './thread.js';

/** A model of the AI SDK, or the name of one. Described by its shape, so that it may be of any major version of the SDK. */
export type LanguageModel =
  | string
  | {
      readonly specificationVersion: string;
      readonly provider: string;
      readonly modelId: string;
      readonly doGenerate: (...args: never[]) => unknown;
      readonly doStream: (...args: never[]) => unknown;
    };

/** A request to a model for one answer. */
export interface ModelRequest {
  /** The instructions before the messages; missing when there are none. */
  readonly system?: string;
  /** Every call in them has its result. Tools have the names of `tools`. */
  readonly messages: readonly ChatMessage[];
  /** The tools, under names that the model's service allows. */
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: JsonSchema;
  }[];
  /** The model must call a tool, may, must not, or must call a certain one. */
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly toolName: string };
  /** `true` when the text is read as it comes. */
  readonly stream: boolean;
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** The tokens that one answer took, as the service counts them. */
export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** A part of one answer of a model: pieces of text, and at the end the whole. */
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
 * Asks a model once. The last part is the whole answer.
 *
 * A function of this type stands for a model wherever one is expected; it throws what went wrong.
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

/** One answer of a script: text, calls or both; or the error that the model fails with. Ids of calls are `call-1`, `call-2`… by default. */
export type ScriptedAnswer = PreparedAnswer | ((request: ModelRequest) => PreparedAnswer);

/**
 * Returns a model that gives prepared answers, one after the other: for tests, examples, and trials without a key.
 *
 * Each answer may be a function of the request, and one function may answer every request. An answer that is asked for after the
 * last is an error. `requests` are what it was asked.
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
        expectedGot(
          `at most ${answers.length} requests`,
          'one more',
          'Write more answers into the script of the model.',
        ),
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
