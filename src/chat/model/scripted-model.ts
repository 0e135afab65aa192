import { ToolError } from '../../core/errors.js';
import type { Json } from '../../core/plain-data.js';
import type { ModelPart, ModelRequest, ModelStep } from './model-step.js';

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
