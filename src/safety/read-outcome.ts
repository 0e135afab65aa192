import type { ToolErrorCode } from '../core/errors.js';
import { describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { withoutSecrets } from '../core/public-message.js';
import { freezePlain } from '../tool/bound-input.js';
import { describePart, isForModel, textOfFile, type ContentPart } from '../tool/content.js';
import { choiceWords, type Question } from '../tool/question.js';
import type { Pending, ToolOutcome } from './calls.js';

/** An outcome in the words that every target uses. Frozen. */
interface OutcomeReading {
  /**
   * The kind of result. For `waiting`, use the target's own way to wait. If it has none, return `text` as an error
   * result.
   */
  readonly kind: 'result' | 'error' | 'waiting';
  /**
   * The words for models, the same for every target. A text over `maxResultBytes` is shortened to
   * its beginning, end and size. Content other than text is described.
   */
  readonly text: string;
  /** The whole value of a result as JSON. Missing otherwise. */
  readonly data?: Json;
  /**
   * The parts that models read, in order. Text parts are shortened together, as `text` is; other
   * parts are kept.
   */
  readonly content: readonly ContentPart[];
  /**
   * True if the same call may succeed later: something was busy or unreachable, and the tool wasn't
   * cut off while it worked.
   */
  readonly retryable: boolean;
  /**
   * The error code of an outcome with status `error`. `INVALID_RESULT` for a value that JSON can't
   * hold.
   */
  readonly code?: ToolErrorCode;
  /** The call that the run waits for. */
  readonly pending?: Pending;
  /** The reason why the run should end here, if the tool asked for that. */
  readonly haltReason?: string;
}

/**
 * Reads an outcome for models. MCP, other frameworks, chat and the command line all show its kind, text and data.
 *
 * | status | kind | text |
 * |---|---|---|
 * | `ok`, `halt` | `result` | the value (a string unchanged, anything else as JSON), then the content; text in the content replaces the value |
 * | `ok`, `halt` with a value JSON can't hold | `error` | says that the tool ran, and what its result contains |
 * | `error` | `error` | the message, and the details that the tool gave `fail` |
 * | `denied` | `error` | the reason, and advice not to repeat the call; never the name of the rule |
 * | `ask_user` | `waiting` | the question and its options |
 * | `manual` | `waiting` | says that a user or another program answers |
 * | `approval_required` | `waiting` | why the call needs approval |
 *
 * It never throws, whatever the value is.
 */
export function readOutcome(outcome: ToolOutcome): OutcomeReading {
  switch (outcome.status) {
    case 'ok':
      return resultReading(outcome, {});
    case 'halt':
      return resultReading(outcome, { haltReason: outcome.reason });
    case 'error':
      return reading('error', boundText(errorText(outcome), outcome.maxResultBytes), {
        code: outcome.code,
        retryable: isRetryable(outcome.code, outcome.attempts),
        ...(outcome.haltReason !== undefined && { haltReason: outcome.haltReason }),
      });
    case 'denied':
      return reading('error', deniedText(outcome.toolName, outcome.reason));
    case 'ask_user':
      return reading('waiting', questionText(outcome.toolName, outcome), {
        pending: outcome.pending,
      });
    case 'manual':
      return reading('waiting', manualText(outcome.toolName), { pending: outcome.pending });
    case 'approval_required':
      return reading('waiting', approvalText(outcome.toolName, outcome.pending.reason), {
        pending: outcome.pending,
      });
  }
}

/** Words a refusal by the policy or the user. */
export function deniedText(toolName: string, reason: string): string {
  return `${toolName} was not run: ${sentence(reason)} Do not repeat the call; do something else, or ask the user.`;
}

/** Maximum length of a failure's details that models read, in characters. */
const LONGEST_DETAILS = 4_096;

/** Words an error. Only details given to `fail` are shown; other details are for programs. */
function errorText({
  message,
  origin,
  details,
}: Extract<ToolOutcome, { status: 'error' }>): string {
  return origin === 'reported' ? failureText(message, details) : message;
}

/**
 * Words a failure that a tool reports with `fail`: its message, and up to 4,096 characters of its
 * details.
 */
export function failureText(
  message: string,
  details: Readonly<Record<string, unknown>> | undefined,
): string {
  if (details === undefined || Object.keys(details).length === 0) return message;
  try {
    const { text } = plainValue(details);
    return `${message}\nDetails: ${text.length > LONGEST_DETAILS ? `${text.slice(0, LONGEST_DETAILS)}…` : text}`;
  } catch {
    return message; // The result comes from another copy of the helpers and isn't plain data.
  }
}

/** Words a call that still needs approval. */
function approvalText(toolName: string, reason: string): string {
  return `${toolName} was not run yet: this call needs approval. ${sentence(reason)} Wait for the approval, or go on without this call.`;
}

function manualText(toolName: string): string {
  return `${toolName} is answered by a user or another program, and there's no answer yet. Wait for it, or go on without it.`;
}

function questionText(toolName: string, question: Question): string {
  return `${toolName} asks the user: ${question.question}${choiceWords(question)} Wait for the answer, which becomes the result of this call, or ask the user yourself.`;
}

/** Words a question that has timed out. */
export function unansweredText(toolName: string): string {
  return `${toolName} asked the user, who did not answer in time. Go on without the answer, or ask the user what to do.`;
}

/**
 * Writes a value as models read it: a string unchanged, anything else as JSON. The same value
 * always gives the same text.
 *
 * @throws TypeError that names what JSON would lose: functions, symbols, big integers, non-finite
 * numbers, cycles, and objects such as a `Map` that would look empty.
 */
export function plainValue(value: unknown): { readonly text: string; readonly data: Json } {
  if (typeof value === 'string') return { text: value, data: value };
  let loss: string | undefined;
  let text: string;
  try {
    text = JSON.stringify(value === undefined ? null : value, (_key, member: unknown) => {
      const lost = lossIn(member);
      if (lost === undefined) return member;
      loss = lost;
      throw new TypeError(loss);
    });
  } catch (error) {
    throw new TypeError(loss ?? unreadable(error), { cause: error });
  }
  return { text, data: freezePlain(JSON.parse(text) as Json) };
}

function lossIn(value: unknown): string | undefined {
  if (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !isPlainObject(value)
  ) {
    return Object.keys(value).length > 0 ||
      value instanceof String ||
      value instanceof Number ||
      value instanceof Boolean
      ? undefined
      : 'an object of a class that JSON shows as empty';
  }
  if (typeof value === 'bigint') return 'a big integer'; // Models don't see what it is.
  return typeof value === 'function' ||
    typeof value === 'symbol' ||
    (typeof value === 'number' && !Number.isFinite(value))
    ? describeValue(value)
    : undefined;
}

/**
 * Describes unreadable data. Leaves out the error's own words: a getter or `toJSON` may have put
 * anything into them.
 */
function unreadable(error: unknown): string {
  if (error instanceof RangeError) return 'data that is nested too deeply';
  return error instanceof TypeError && /circular|cyclic/i.test(error.message)
    ? 'data that contains itself'
    : 'data that throws when it is read';
}

function resultReading(
  {
    toolName,
    value,
    maxResultBytes = SHOWN_BYTES,
    content: given = [],
  }: Extract<ToolOutcome, { value: unknown; status: 'ok' | 'halt' }>,
  more: { readonly haltReason?: string },
): OutcomeReading {
  try {
    const { text, data } = plainValue(value);
    const shown = given.filter((part) => isForModel(part) && describePart(part).trim() !== ''); // Model APIs refuse blank text parts.
    const isWorded =
      shown.some(({ type }) => type === 'text') ||
      (shown.length > 0 && (data === null || text.trim() === ''));
    const content = boundParts(
      isWorded ? shown : [{ type: 'text', text }, ...shown],
      maxResultBytes,
    );
    return reading('result', content.map(describePart).join('\n'), { data, content, ...more });
  } catch (error) {
    return reading('error', unshownText(toolName, (error as TypeError).message), {
      code: 'INVALID_RESULT',
      ...more,
    });
  }
}

/** Maximum size of the text that models read of a result: 64 KiB. */
const SHOWN_BYTES = 65_536;

/** Minimum bytes of a text part that are shown. A smaller rest is dropped. */
const LEAST_SHOWN = 128;

/**
 * Returns the parts that fit into a limit, and the number of omitted parts. A text that is too long
 * is shortened to its two ends.
 *
 * Images and the like come first, so that a long text can't push out the screenshot next to it.
 */
function boundParts(parts: readonly ContentPart[], maxBytes: number): readonly ContentPart[] {
  const shown = new Map<number, ContentPart>();
  let left = maxBytes;
  for (const isText of [false, true]) {
    for (const [at, part] of parts.entries()) {
      if (
        (part.type === 'text' ||
          part.type === 'resource_link' ||
          textOfFile(part) !== undefined) !== isText
      )
        continue;
      const words = describePart(part);
      const size = utf8.encode('description' in part ? words + part.description : words).length;
      if (size <= left) shown.set(at, part);
      else if (isText && (left >= LEAST_SHOWN || left === maxBytes))
        shown.set(
          at,
          Object.freeze({
            type: 'text',
            text: boundText(words, left),
            ...(part.audience && { audience: part.audience }),
          }),
        );
      left = Math.max(0, left - size);
    }
  }
  const list = parts.flatMap((_part, at) => shown.get(at) ?? []);
  const omitted = parts.length - list.length;
  return Object.freeze(
    omitted === 0
      ? list
      : [
          ...list,
          Object.freeze({
            type: 'text' as const,
            text: `[… ${omitted} of ${parts.length} parts are not shown: ask for less at once …]`,
          }),
        ],
  );
}

const utf8 = new TextEncoder();

/**
 * Returns a text unchanged if it fits. Otherwise returns its beginning (three quarters of the
 * bytes), its size and its end.
 */
export function boundText(text: string, maxBytes = SHOWN_BYTES): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = utf8.encode(text);
  if (bytes.length <= maxBytes) return text;
  const ends = new TextDecoder('utf-8', { ignoreBOM: true });
  const atEnd = Math.floor(maxBytes / 4);
  // Remove U+FFFD, which is what a character cut in two becomes.
  const head = ends.decode(bytes.subarray(0, maxBytes - atEnd)).replace(/\ufffd{1,3}$/, '');
  const tail = ends.decode(bytes.subarray(bytes.length - atEnd)).replace(/^\ufffd{1,3}/, '');
  const omitted = bytes.length - utf8.encode(head).length - utf8.encode(tail).length;
  return `${head}\n[… ${omitted} of ${bytes.length} bytes are not shown: ask for less at once …]\n${tail}`;
}

/** Words a result that can't be written down. The model mustn't conclude that nothing happened. */
export function unshownText(toolName: string, got: string): string {
  return `${toolName} ran, but its result can't be shown: expected plain data, got ${got}`;
}

/** Codes of temporary failures: something was busy or unreachable. */
const PASSING: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'TIMEOUT',
  'PROVIDERS_EXHAUSTED',
  'PROVIDER_UNAVAILABLE',
  'STATE_UNAVAILABLE',
]);

/** Returns true if the call may be repeated. A tool that was cut off may have taken effect. */
function isRetryable(code: ToolErrorCode, attempts: number): boolean {
  return PASSING.has(code) && (code !== 'TIMEOUT' || attempts === 0);
}

/**
 * Turns a policy's reason into a sentence. Policies write reasons for users, so they may contain
 * anything.
 */
function sentence(reason: string): string {
  const text = reason.split('\n').map(withoutSecrets).join('\n').trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function reading(
  kind: OutcomeReading['kind'],
  text: string,
  more: Partial<OutcomeReading> = {},
): OutcomeReading {
  return Object.freeze({
    kind,
    text,
    content: Object.freeze([Object.freeze({ type: 'text' as const, text })]),
    retryable: false,
    ...more,
  });
}
