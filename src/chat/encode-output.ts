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

/** The depth of a result: less what a message puts around it. */
const DEEPEST_RESULT = DEEPEST_MESSAGE - 5;
/**
 * Makes what a model reads of a value: text stays text, everything else is JSON. The same value gives the same bytes.
 *
 * Of more than 64 KiB the model reads the beginning, the end and the size, as text; data nested very deep is given as text too.
 *
 * @throws TypeError for functions, symbols, big integers, cycles, and objects such as a `Map` that JSON would show as empty.
 */
export function encodeValue(value: unknown): ToolOutput {
  return encodeWithin(value, undefined);
}

function encodeWithin(value: unknown, maxBytes: number | undefined): ToolOutput {
  const { text, data } = plainValue(value);
  const shown = boundText(text, maxBytes);
  if (typeof value === 'string' || shown !== text || isDeeper(data, DEEPEST_RESULT))
    return Object.freeze({ type: 'text', value: shown });
  return Object.freeze({ type: 'json', value: data });
}

/** Returns an error as the model reads it. */
export function errorOutput(message: string): ToolOutput {
  return Object.freeze({ type: 'error-text', value: boundText(message) });
}

export function deniedOutput(reason: string): ToolOutput {
  return Object.freeze({ type: 'execution-denied', reason: boundText(reason) });
}

/** The text that a model reads instead of a value that cannot be encoded, and the reason for programs. */
interface Unshown {
  readonly unshown: string;
  readonly reason: string;
}

/** A function that makes what a model reads of a value, and of the parts that are more than it. */
type Encode = (value: unknown, content: readonly ContentPart[]) => ToolOutput;

/** Returns what the model reads of a tool's result. An encoder of the caller may throw anything: models do not read its message. */
export function encodeOutcome(
  outcome: Extract<ToolOutcome, { status: 'ok' | 'halt' }>,
  encode: Encode,
): ToolOutput | Unshown {
  const { toolName, value, maxResultBytes, content = [] } = outcome;
  try {
    const encoded =
      encode !== encodeValue
        ? encode(value, content)
        : content.length === 0
          ? encodeWithin(value, maxResultBytes)
          : encodeContent(outcome);
    const output = cloneMessage(encoded, 'the output of encode', 'INVALID_RESULT');
    if (!outputSchema.safeParse(output).success)
      throw new TypeError(
        `Expected an output such as { type: 'text', value } of encode, got ${describeValue(output)}.`,
      );
    return output;
  } catch (error) {
    const reason = publicMessage(error);
    return {
      unshown:
        encode === encodeValue
          ? unshownText(toolName, reason)
          : `${toolName} ran, but its result cannot be shown: it could not be encoded`,
      reason,
    };
  }
}

function encodeContent(outcome: ToolOutcome): ToolOutput {
  plainValue('value' in outcome ? outcome.value : null); // Throws for what JSON cannot hold.
  return aiSDKContent(readOutcome(outcome).content);
}

/** Returns what the model reads of an answer that was given instead of the tool's, with the parts that are more than its value. */
export function encodeAnswer({
  value,
  content = [],
}: {
  readonly value: unknown;
  readonly content?: readonly ContentPart[];
}): ToolOutput {
  return content.length === 0
    ? encodeValue(value)
    : encodeContent({
        status: 'ok',
        value,
        content,
        callId: '',
        toolName: '',
        durationMs: 0,
        attempts: 0,
        cached: false,
      });
}
