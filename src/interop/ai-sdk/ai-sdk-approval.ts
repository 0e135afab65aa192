import { canonicalJson } from '../../core/plain-data.js';

/** A call as the AI SDK names it. */
export interface AISDKCall {
  readonly toolCallId: string;
  /** Under which name the model sees the tool. */
  readonly toolName: string;
  readonly input: unknown;
}

/**
 * The id of a person's yes to exactly this call, if the messages end with one.
 *
 * As for the AI SDK, only answers in the last message count, one no outweighs all yeses, and the call and the question must
 * be in the messages before. Here the arguments must also be those that the model asked for.
 */
export function approvalIn(messages: unknown, { toolCallId, toolName, input }: AISDKCall): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const last: unknown = messages.at(-1);
  if (!isRecord(last) || last['role'] !== 'tool') return undefined;
  const asked = partsOf(messages, 'assistant');
  const questions = new Set(asked.filter((part) => part['type'] === 'tool-approval-request' && part['toolCallId'] === toolCallId).map((part) => part['approvalId']));
  const answers = partsOf([last], 'tool').filter((part) => part['type'] === 'tool-approval-response' && questions.has(part['approvalId']));
  const call = asked.findLast((part) => part['type'] === 'tool-call' && part['toolCallId'] === toolCallId);
  if (answers.length === 0 || !answers.every((answer) => answer['approved'] === true)) return undefined;
  if (call === undefined || call['toolName'] !== toolName || canonicalJson(call['input']) !== canonicalJson(input)) return undefined;
  const id = answers[0]!['approvalId'];
  return typeof id === 'string' ? id : undefined;
}

function partsOf(messages: readonly unknown[], role: string): readonly Readonly<Record<string, unknown>>[] {
  return messages.flatMap((message) => (isRecord(message) && message['role'] === role && Array.isArray(message['content']) ? (message['content'] as unknown[]).filter(isRecord) : []));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
