import { ToolError } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import type { JsonSchema } from '../tool/schema/standard-schema.js';
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

/** A tool as a model is shown it, under the name that its service allows. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** Whether the model must call a tool, may, must not, or must call a certain one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly toolName: string };

/** What is asked of a model: one answer. */
export interface ModelRequest {
  readonly system?: string;
  /** Every call in them has its result. Tools have the names of `tools`. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ModelTool[];
  readonly toolChoice: ToolChoice;
  /** Whether somebody watches the text as it comes. */
  readonly stream: boolean;
  readonly signal: AbortSignal;
}

export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** What comes of one answer of a model: pieces of text, and at the end the whole. */
export type ModelPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'answer'; readonly message: AssistantMessage; readonly finishReason: string; readonly usage?: ModelUsage };

/**
 * Asks a model once. The last part is the whole answer.
 *
 * A function of this type stands for a model wherever one is expected; it throws what went wrong.
 */
export type ModelStep = (request: ModelRequest) => AsyncIterable<ModelPart>;

/** One answer of a script: text, calls or both; or the error that the model fails with. */
export type ScriptedAnswer =
  | string
  | { readonly text?: string; readonly calls?: readonly ScriptedCall[]; readonly finishReason?: string }
  | { readonly error: Error }
  | ((request: ModelRequest) => Exclude<ScriptedAnswer, (...args: never[]) => unknown>);

export interface ScriptedCall {
  /** @default `call-1`, `call-2`… through the whole script */
  readonly id?: string;
  readonly name: string;
  readonly input?: Json;
}

/** A scripted model, and what it was asked. */
export interface ScriptedModel extends ModelStep {
  readonly requests: readonly ModelRequest[];
}

/**
 * A model that gives prepared answers, one after the other: for tests, examples, and trials without a key.
 *
 * Each answer may be a function of the request. An answer that is asked for after the last is an error.
 *
 * ```ts
 * import { chat, scriptedModel } from 'tooldex/chat';
 *
 * const result = await chat({ model: scriptedModel(['Hello!']), prompt: 'Hi' });
 * result.text; // → 'Hello!'
 * ```
 */
export function scriptedModel(answers: readonly ScriptedAnswer[]): ScriptedModel {
  const requests: ModelRequest[] = [];
  let calls = 0;
  const step = async function* (request: ModelRequest): AsyncGenerator<ModelPart> {
    requests.push(request);
    const scripted = answers[requests.length - 1];
    if (scripted === undefined) throw new ToolError('MODEL_FAILED', `Expected at most ${answers.length} questions, found one more; the script of the model is too short`);
    const answer = typeof scripted === 'function' ? scripted(request) : scripted;
    if (typeof answer === 'object' && 'error' in answer) throw answer.error;
    const { text = '', calls: asked = [], finishReason = asked.length > 0 ? 'tool-calls' : 'stop' } = typeof answer === 'string' ? { text: answer } : answer;
    await Promise.resolve();
    if (request.stream) for (const piece of text.match(/\S+\s*|\s+/g) ?? []) yield { type: 'text-delta', text: piece };
    const content = [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...asked.map(({ id = `call-${(calls += 1)}`, name, input = {} }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: name, input })),
    ];
    yield { type: 'answer', message: { role: 'assistant', content }, finishReason };
  };
  return Object.freeze(Object.assign(step, { requests }));
}
