import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import type { ToolOutcome } from '../safety/calls.js';
import { aiSDKContent } from '../interop/export/result-content.js';
import { boundText, plainValue, readOutcome, unshownText } from '../safety/read-outcome.js';
import type { ContentPart } from '../tool/content.js';
import {
  cloneMessage,
  DEEPEST_MESSAGE,
  isDeeper,
  outputSchema,
  type ToolOutput,
} from './thread.js';

/** A value from a tool, a user or a program, with its content parts. */
interface Result {
  readonly value: unknown;
  readonly content?: readonly ContentPart[];
  readonly maxResultBytes?: number;
}

/**
 * Converts a result to the form that a model reads: text stays text, everything else becomes JSON.
 * Equal values produce identical bytes.
 *
 * Above 64 KiB, the model reads the beginning, the end and the size, as text. Very deep data also
 * becomes text.
 *
 * @throws TypeError for functions, symbols, big integers, cycles, and objects such as a `Map` that
 * JSON would show as empty.
 */
export function encodeResult({ value, content = [], maxResultBytes }: Result): ToolOutput {
  const { text, data } = plainValue(value);
  if (content.length > 0) {
    const facts = { callId: '', toolName: '', durationMs: 0, attempts: 0, cached: false };
    const bound = maxResultBytes === undefined ? {} : { maxResultBytes };
    return aiSDKContent(readOutcome({ ...facts, status: 'ok', value, content, ...bound }).content);
  }
  const shown = boundText(text, maxResultBytes);
  // A message adds at most five levels around a result.
  const isText = typeof value === 'string' || shown !== text || isDeeper(data, DEEPEST_MESSAGE - 5);
  return isText ? { type: 'text', value: shown } : { type: 'json', value: data };
}

/** Returns an error as a model reads it. */
export function errorOutput(message: string): ToolOutput {
  return { type: 'error-text', value: boundText(message) };
}

export function deniedOutput(reason: string): ToolOutput {
  return { type: 'execution-denied', reason: boundText(reason) };
}

/**
 * Returns the result of a tool as a model reads it.
 *
 * @param encode The program's own encoder, which may throw any error. Models don't see the error's
 * message.
 * @throws ToolError `INVALID_RESULT`, with a message for models. `details` explain that the tool
 * ran, and why the result can't be shown.
 */
export function encodeOutcome(
  outcome: Extract<ToolOutcome, { status: 'ok' | 'halt' }>,
  encode: ((value: unknown, content: readonly ContentPart[]) => ToolOutput) | undefined,
): ToolOutput {
  const { toolName, value, content = [] } = outcome;
  try {
    const encoded = encode === undefined ? encodeResult(outcome) : encode(value, content);
    const output = cloneMessage(encoded, 'the output of encode', 'INVALID_RESULT');
    if (outputSchema.safeParse(output).success) return output;
    throw new TypeError(
      `Expected encode to return an output such as { type: 'text', value }, got ${describeValue(output)}.`,
    );
  } catch (error) {
    const reason = publicMessage(error);
    const message =
      encode === undefined
        ? unshownText(toolName, reason)
        : `${toolName} ran, but its result can't be shown: it couldn't be encoded`;
    throw new ToolError('INVALID_RESULT', message, { details: { ran: true, reason } });
  }
}
