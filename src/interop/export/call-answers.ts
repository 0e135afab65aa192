import type { RefusedCall } from './model-calls.js';

/** What became of a call, as an executor's `ToolOutcome` says it. */
export interface CallOutcome {
  readonly callId: string;
  readonly toolName: string;
  readonly status: 'ok' | 'error' | 'ask_user' | 'halt' | 'manual' | 'denied' | 'approval_required';
  readonly value?: unknown;
  readonly message?: string;
  readonly reason?: string;
  readonly question?: string;
}

/** What a model can be told of: outcomes, and the calls that could not be read. */
export type CallResult = CallOutcome | RefusedCall;

/** What the model is told of one call. */
export interface CallAnswer {
  readonly id: string;
  /** The tool's own name, or what the model wrote when there is no such tool. */
  readonly name: string;
  readonly failed: boolean;
  readonly value: unknown;
}

/** Calls that wait for somebody are answered as well: services refuse a conversation with a call that has no answer. */
export function answerTo(result: CallResult): CallAnswer {
  if ('error' in result) return { id: result.id, name: result.name, failed: true, value: result.error.message };
  const { callId: id, toolName: name, status } = result;
  const failed = (value: string): CallAnswer => ({ id, name, failed: true, value });
  switch (status) {
    case 'ok':
    case 'halt':
      return { id, name, failed: false, value: result.value };
    case 'error':
      return failed(result.message ?? 'The tool failed');
    case 'denied':
      return failed(`Not allowed: ${result.reason ?? 'the policy forbids it'}`);
    case 'approval_required':
      return failed('Not run: a person has to agree first, and has not');
    case 'manual':
      return failed('Not answered yet: a person or another program answers this call');
    case 'ask_user':
      return failed(`Not answered yet; the user is asked: ${result.question ?? ''}`);
  }
}

/** A value as text: text as it is, all else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return String(value); // A number beyond JSON, or a circle.
  }
}
