import { base64Of, bytesOf } from '../core/crypto.js';
import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { BlobStore } from '../state/blob-store.js';
import { sizeText } from '../tool/content.js';
import type { CallRecord, ChatState } from './chat-state.js';
import { isDeeper, type ChatMessage, type ToolOutput } from './thread.js';

type Part = Readonly<Record<string, unknown>>;
/** The data of a message that stand for bytes in a store: their part without them, and the field that they were in. */
interface Reference {
  readonly blob: string;
  readonly size: number;
  readonly mediaType?: string;
  readonly field: 'data' | 'image';
  readonly part: Part;
}

/** Characters of base64 that a message keeps itself: 8 KiB. */
const KEPT_INLINE = 8_192;
const DIGEST = /^[0-9a-f]{64}$/;
/** Levels of a part that is replaced: its reference nests it deeper. */
const DEEPEST_PART = 8;

/** Returns the state with large content of its messages and results in the store, and references in its place. */
export async function storeContent(
  state: ChatState,
  blobs: BlobStore | undefined,
  signal?: AbortSignal,
): Promise<ChatState> {
  if (blobs === undefined) return state;
  const messages = await each(state.messages, (message) =>
    inMessage(message, (part) => stored(part, blobs, signal)),
  );
  const calls =
    state.openTurn && (await each(state.openTurn.calls, (call) => inCall(call, blobs, signal)));
  if (messages === state.messages && calls === state.openTurn?.calls) return state;
  return Object.freeze({
    ...state,
    messages,
    ...(calls && { openTurn: Object.freeze({ ...state.openTurn, calls }) }),
  });
}

async function inCall(
  call: CallRecord,
  blobs: BlobStore,
  signal: AbortSignal | undefined,
): Promise<CallRecord> {
  const { progress } = call;
  if (progress.state !== 'settled') return call;
  const output = await storeOutput(progress.output, blobs, signal);
  return output === progress.output
    ? call
    : Object.freeze({ ...call, progress: Object.freeze({ ...progress, output }) });
}

/** Returns what the model reads of a result, with large content in the store. */
export async function storeOutput(
  output: ToolOutput,
  blobs: BlobStore | undefined,
  signal: AbortSignal | undefined,
): Promise<ToolOutput> {
  return blobs === undefined ? output : inOutput(output, (part) => stored(part, blobs, signal));
}

/**
 * Returns messages as the model is sent them: with the content that they refer to, or the words for what is no longer stored.
 *
 * @throws ToolError `STATE_UNAVAILABLE` when the store fails; the chat can be continued later.
 */
export async function fillMessages(
  messages: readonly ChatMessage[],
  blobs: BlobStore | undefined,
  signal: AbortSignal,
): Promise<readonly ChatMessage[]> {
  return each(messages, (message) => inMessage(message, (part) => filled(part, blobs, signal)));
}

type Change = (part: unknown) => Promise<unknown>;

/** Returns the same list when nothing in it changed. */
async function each<T>(
  list: readonly T[],
  change: (item: T) => T | Promise<T>,
): Promise<readonly T[]> {
  const changed: T[] = [];
  for (const item of list) changed.push(await change(item)); // One after the other: all at once would be in memory twice.
  return changed.every((item, at) => item === list[at]) ? list : Object.freeze(changed);
}

async function inMessage(message: ChatMessage, change: Change): Promise<ChatMessage> {
  if (message.role === 'user' && typeof message.content !== 'string') {
    const content = await each<unknown>(message.content, change);
    return content === message.content
      ? message
      : (Object.freeze({ ...message, content }) as ChatMessage);
  }
  if (message.role !== 'tool') return message;
  const content = await each(message.content, async (part) => {
    const output = await inOutput(part.output, change);
    return output === part.output ? part : Object.freeze({ ...part, output });
  });
  return content === message.content ? message : Object.freeze({ ...message, content });
}

async function inOutput(output: ToolOutput, change: Change): Promise<ToolOutput> {
  if (output.type !== 'content') return output;
  const value = await each<unknown>(output.value, change);
  return value === output.value
    ? output
    : Object.freeze({ ...output, value: value as readonly Json[] });
}

/** Returns a text part that refers to the store: any service reads it as text, should it ever be sent as it is. */
async function stored(
  part: unknown,
  blobs: BlobStore,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!isPlainObject(part) || !MEDIA_TYPES.has(part['type']) || isDeeper(part, DEEPEST_PART))
    return part;
  const field = typeof part['data'] === 'string' ? 'data' : 'image';
  const { [field]: data, mediaType } = part;
  if (typeof data !== 'string' || data.length <= KEPT_INLINE) return part;
  try {
    const bytes = bytesOf(data);
    const blob = await untilAborted(blobs.put(bytes), signal, 'the blob store');
    if (!DIGEST.test(blob)) return part; // It could not be asked for again.
    const rest = Object.freeze({ ...part, [field]: '' });
    const reference: Reference = {
      blob,
      ...(typeof mediaType === 'string' && { mediaType }),
      size: bytes.length,
      field,
      part: rest,
    };
    return Object.freeze({
      type: 'text',
      text: words(reference, 'stored apart'),
      providerOptions: Object.freeze({ tooldex: Object.freeze(reference) }),
    });
  } catch {
    return part; // No base64, such as an address; or a store that fails or is given up: the message keeps it.
  }
}

async function filled(
  part: unknown,
  blobs: BlobStore | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const reference = referenceIn(part);
  if (reference === undefined) return part;
  let bytes: Uint8Array | undefined;
  try {
    bytes = blobs && (await untilAborted(blobs.get(reference.blob), signal, 'the blob store'));
  } catch (error) {
    if (isToolError(error, 'STATE_UNAVAILABLE')) throw error;
    throw new ToolError(
      'STATE_UNAVAILABLE',
      expectedGot(
        'the content of a message from the blob store',
        publicMessage(error),
        'Go on when the store can be read.',
      ),
      { cause: error },
    );
  }
  if (bytes?.length !== reference.size)
    return Object.freeze({ type: 'text', text: words(reference, 'no longer stored') });
  return Object.freeze({ ...reference.part, [reference.field]: base64Of(bytes) });
}

function referenceIn(part: unknown): Reference | undefined {
  const options =
    isPlainObject(part) && part['type'] === 'text' ? part['providerOptions'] : undefined;
  const reference = isPlainObject(options) ? options['tooldex'] : undefined;
  if (
    !isPlainObject(reference) ||
    typeof reference['blob'] !== 'string' ||
    !DIGEST.test(reference['blob']) ||
    !isPlainObject(reference['part'])
  )
    return undefined;
  const { size, field, part: rest } = reference;
  // Users may write such options into their messages: they may name a media part and nothing else.
  const isMedia =
    (field === 'data' || field === 'image') && rest[field] === '' && MEDIA_TYPES.has(rest['type']);
  return isMedia && Number.isSafeInteger(size) ? (reference as unknown as Reference) : undefined;
}

/** The types of parts with bytes, in messages and in results. */
const MEDIA_TYPES: ReadonlySet<unknown> = new Set([
  'file',
  'image',
  'file-data',
  'image-data',
  'media',
  'audio',
]);

function words({ mediaType, size, part: { filename } }: Reference, fate: string): string {
  const kind =
    mediaType === undefined
      ? 'image'
      : `${/^(?:image|audio)(?=\/)/.exec(mediaType)?.[0] ?? 'file'} ${typeof filename === 'string' ? `${filename}, ` : ''}${mediaType}`;
  return `[${kind}, ${sizeText(size)}: ${fate}]`;
}
