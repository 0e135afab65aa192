import type { ToolErrorCode } from '../core/errors.js';
import { describeValue, isPlainObject, type Json, without } from '../core/plain-data.js';
import { instanceOf } from '../core/options.js';
import { withoutSecrets } from '../core/public-message.js';
import { freezePlain } from '../tool/bound-input.js';
import { describePart, isForModel, textOfFile, type ContentPart } from '../tool/content.js';
import { choiceWords, type Question } from '../tool/question.js';
import type { Pending, ToolOutcome } from './calls.js';

/** An outcome converted to text for models, as a frozen object. */
interface OutcomeReading {
  /**
   * The kind of outcome. For `waiting`, wait in the way that your framework provides. If your
   * framework can't wait, return `text` as an error result.
   */
  readonly kind: 'result' | 'error' | 'waiting';
  /**
   * The text for models. Text longer than `maxResultBytes` is reduced to its start, its end, and
   * its size. Content that isn't text is described.
   */
  readonly text: string;
  /** The complete value of a result as JSON. Missing for other kinds of outcomes. */
  readonly data?: Json;
  /**
   * The content parts for models, in order. The size limit applies to all text parts together.
   * Other parts are kept.
   */
  readonly content: readonly ContentPart[];
  /**
   * True if the same call may succeed later: something was busy or unreachable, and the tool wasn't
   * interrupted while it was working.
   */
  readonly retryable: boolean;
  /**
   * The error code, if the outcome has the status `error`. `INVALID_RESULT` for a value that isn't
   * JSON-serializable.
   */
  readonly code?: ToolErrorCode;
  /** The call that the run is waiting for. */
  readonly pending?: Pending;
  /** The reason why the run should end here, if the tool requested it. */
  readonly haltReason?: string;
}

/**
 * Converts an outcome to text for models. MCP, other frameworks, chat, and the command line all use
 * the returned kind, text, and data.
 *
 * | status | kind | text |
 * |---|---|---|
 * | `ok`, `halt` | `result` | the value (a string unchanged, anything else as JSON), then the content; text in the content replaces the value |
 * | `ok`, `halt` with a value that isn't JSON-serializable | `error` | an explanation that the tool ran, and what is wrong with its result |
 * | `error` | `error` | the message, and the details that the tool passed to `fail` |
 * | `denied` | `error` | the reason, and advice not to repeat the call, but not the rule's name |
 * | `ask_user` | `waiting` | the question and its options |
 * | `manual` | `waiting` | an explanation that a user or another program answers |
 * | `approval_required` | `waiting` | why the call needs approval |
 *
 * Never throws, whatever the value is.
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

/** Returns the text for a call that the policy or the user denied. */
export function deniedText(toolName: string, reason: string): string {
  return `${toolName} didn't run: ${sentence(reason)} Don't repeat the call; do something else, or ask the user.`;
}

/** The maximum length of a failure's details shown to models, in characters. */
const LONGEST_DETAILS = 4_096;

/**
 * Returns the text for an error. Only details passed to `fail` are shown; other details are for
 * programs.
 */
function errorText({
  message,
  origin,
  details,
}: Extract<ToolOutcome, { status: 'error' }>): string {
  return origin === 'reported' ? failureText(message, details) : message;
}

/**
 * Returns the text for a failure that a tool reports with `fail`: its message, and up to 4,096
 * characters of its details.
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

/** Returns the text for a call that still needs approval. */
function approvalText(toolName: string, reason: string): string {
  return `${toolName} hasn't run yet: this call needs approval. ${sentence(reason)} Wait for the approval, or continue without this call.`;
}

function manualText(toolName: string): string {
  return `Calls to ${toolName} are answered by a user or another program, and there's no answer yet. Wait for it, or continue without it.`;
}

function questionText(toolName: string, question: Question): string {
  return `${toolName} asks the user: ${question.question}${choiceWords(question)} Wait for the answer, which becomes the result of this call, or ask the user yourself.`;
}

/** Returns the text for a question that has timed out. */
export function unansweredText(toolName: string): string {
  return `${toolName} asked the user, who didn't answer in time. Continue without the answer, or ask the user what to do.`;
}

/**
 * Converts a value to text for models: strings are unchanged, and everything else becomes JSON. The
 * same value always produces the same text.
 *
 * @throws TypeError with the first thing that JSON would lose: functions, symbols, bigints,
 * non-finite numbers, cycles, or objects that would look empty, such as a `Map`.
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
      : `${kindOf(value)}, which looks empty in JSON`;
  }
  if (typeof value === 'bigint') return 'a big integer'; // Models don't know the name bigint.
  return typeof value === 'function' ||
    typeof value === 'symbol' ||
    (typeof value === 'number' && !Number.isFinite(value))
    ? describeValue(value)
    : undefined;
}

/** Names the kind of an object that isn't plain, such as `a Map` or `an AsyncGenerator`. */
function kindOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (tag === 'Object') return instanceOf(value) ?? 'an object of a class';
  return `${/^[AEIOU]/.test(tag) ? 'an' : 'a'} ${tag}`;
}

/**
 * Describes data that can't be read. Doesn't use the error's message, because a getter or `toJSON`
 * can put anything into it.
 */
function unreadable(error: unknown): string {
  if (error instanceof RangeError) return 'data that is nested too deeply';
  return error instanceof TypeError && /circular|cyclic/i.test(error.message)
    ? 'data that contains itself'
    : "data that throws when it's read";
}

function resultReading(
  {
    toolName,
    value,
    maxResultBytes = SHOWN_BYTES,
    content: parts = [],
  }: Extract<ToolOutcome, { value: unknown; status: 'ok' | 'halt' }>,
  more: { readonly haltReason?: string },
): OutcomeReading {
  try {
    const { text, data } = plainValue(value);
    const shown = parts.filter((part) => isForModel(part) && describePart(part).trim() !== ''); // Model APIs reject blank text parts.
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

/** The default maximum size of the text shown to models: 64 KiB. */
const SHOWN_BYTES = 65_536;

/** The minimum number of bytes for a truncated text. If less space is left, the text is omitted. */
const LEAST_SHOWN = 128;

/**
 * Returns the parts whose text fits within a limit, and the number of omitted parts. Text that is
 * too long is reduced to its start and end. Images and similar parts have their own limits.
 */
function boundParts(parts: readonly ContentPart[], maxBytes: number): readonly ContentPart[] {
  const shown: ContentPart[] = [];
  let left = maxBytes;
  for (const part of parts) {
    const words = describePart(part);
    const isMedia =
      part.type !== 'text' && part.type !== 'resource_link' && textOfFile(part) === undefined;
    const size = isMedia
      ? 0
      : utf8.encode('description' in part ? words + part.description : words).length;
    if (size <= left) shown.push(part);
    else if (left >= LEAST_SHOWN || left === maxBytes) {
      const { audience } = part;
      shown.push(
        Object.freeze({ type: 'text', text: boundText(words, left), ...without({ audience }) }),
      );
    }
    left = Math.max(0, left - size);
  }
  const omitted = parts.length - shown.length;
  if (omitted > 0) {
    const text = `[… ${omitted} of ${parts.length} parts are not shown: request less at a time …]`;
    shown.push(Object.freeze({ type: 'text', text }));
  }
  return Object.freeze(shown);
}

const utf8 = new TextEncoder();

/**
 * Returns a text unchanged if it fits. If the text doesn't fit, returns its start (three quarters
 * of the bytes), its size, and its end.
 */
export function boundText(text: string, maxBytes = SHOWN_BYTES): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = utf8.encode(text);
  if (bytes.length <= maxBytes) return text;
  const ends = new TextDecoder('utf-8', { ignoreBOM: true });
  const atEnd = Math.floor(maxBytes / 4);
  // Removes U+FFFD, which results from cutting a character in two.
  const head = ends.decode(bytes.subarray(0, maxBytes - atEnd)).replace(/\ufffd{1,3}$/, '');
  const tail = ends.decode(bytes.subarray(bytes.length - atEnd)).replace(/^\ufffd{1,3}/, '');
  const omitted = bytes.length - utf8.encode(head).length - utf8.encode(tail).length;
  return `${head}\n[… ${omitted} of ${bytes.length} bytes are not shown: request less at a time …]\n${tail}`;
}

/**
 * Returns the text for a result that can't be serialized. The text says that the tool ran, because
 * the model might conclude that nothing happened.
 */
export function unshownText(toolName: string, got: string): string {
  return `${toolName} ran, but its result can't be shown: expected plain data, got ${got}`;
}

/** The codes of temporary failures: something was busy or unreachable. */
const PASSING: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'TIMEOUT',
  'PROVIDERS_EXHAUSTED',
  'PROVIDER_UNAVAILABLE',
  'STATE_UNAVAILABLE',
]);

/**
 * Returns true if it makes sense to repeat the call. Returns false for a tool that was interrupted,
 * because it may already have had an effect.
 */
function isRetryable(code: ToolErrorCode, attempts: number): boolean {
  return PASSING.has(code) && (code !== 'TIMEOUT' || attempts === 0);
}

/**
 * Formats a policy's reason as a sentence. Policies write reasons for users, so a reason may
 * contain anything.
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
