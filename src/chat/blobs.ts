import { z } from 'zod';
import { base64Of, bytesOf } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { BlobStore } from '../state/blob-store.js';
import { freezePlain } from '../tool/bound-input.js';
import { sizeText } from '../tool/content.js';
import { withCalls, type ChatState } from './chat-state.js';
import { isDeeper, type ChatMessage, type ToolOutput } from './thread.js';

/** Base64 of at most this many characters stays in its message: 8 KiB. */
const KEPT_INLINE = 8_192;
/** A part that nests deeper stays in its message, because its reference nests it once more. */
const DEEPEST_PART = 8;
const MEDIA = ['file', 'image', 'file-data', 'image-data', 'media', 'audio'];

/** The reference that replaces bytes in a message: the part without its bytes, and the field that held them. */
const referenceSchema = z
  .object({
    blob: z.string().regex(/^[0-9a-f]{64}$/),
    size: z.int(),
    mediaType: z.string().optional(),
    field: z.enum(['data', 'image']),
    part: z.looseObject({ type: z.enum(MEDIA), filename: z.string().optional() }),
  })
  .refine(({ field, part }) => part[field] === '');
type Reference = z.output<typeof referenceSchema>;

type Change = (part: unknown) => Promise<unknown>;
type Stop = AbortSignal | undefined;

/** Returns the state with large content moved into the store. */
export async function storeContent<S extends ChatState>(
  state: S,
  blobs: BlobStore,
  signal: Stop,
): Promise<S> {
  const store = storing(blobs, signal);
  const messages = await each(state.messages, (message) => inMessage(message, store));
  const outputs = new Map<string, ToolOutput>();
  for (const { callId, progress } of state.openTurn?.calls ?? [])
    if (progress.state === 'settled') outputs.set(callId, await inOutput(progress.output, store));
  return withCalls(freezePlain({ ...state, messages }), (call) =>
    call.progress.state === 'settled'
      ? { ...call, progress: { ...call.progress, output: outputs.get(call.callId)! } }
      : call,
  );
}

/** Returns a result as the model reads it, with large content moved into the store. */
export function storeOutput(
  output: ToolOutput,
  blobs: BlobStore,
  signal: Stop,
): Promise<ToolOutput> {
  return inOutput(output, storing(blobs, signal));
}

/**
 * Returns messages with the content that they refer to. If content is gone, the model is told.
 *
 * @throws ToolError `STATE_UNAVAILABLE` if the store fails. The chat can continue later.
 */
export function fillMessages(
  messages: readonly ChatMessage[],
  blobs: BlobStore,
  signal: Stop,
): Promise<readonly ChatMessage[]> {
  return each(messages, (message) => inMessage(message, (part) => filled(part, blobs, signal)));
}

/** Changes one item after the other: all at once would be in memory twice. Items that stay the same keep their list. */
async function each<T>(list: readonly T[], change: (item: T) => Promise<T>): Promise<readonly T[]> {
  const changed: T[] = [];
  for (const item of list) changed.push(await change(item));
  return changed.every((item, at) => item === list[at]) ? list : changed;
}

async function inMessage(message: ChatMessage, change: Change): Promise<ChatMessage> {
  if (message.role === 'tool') {
    const content = await each(message.content, async (part) => {
      const output = await inOutput(part.output, change);
      return output === part.output ? part : { ...part, output };
    });
    return content === message.content ? message : { ...message, content };
  }
  if (message.role !== 'user' || typeof message.content === 'string') return message;
  const content = await each<unknown>(message.content, change);
  return content === message.content ? message : ({ ...message, content } as ChatMessage);
}

async function inOutput(output: ToolOutput, change: Change): Promise<ToolOutput> {
  if (output.type !== 'content') return output;
  const value = await each<unknown>(output.value, change);
  return value === output.value ? output : { ...output, value: value as readonly Json[] };
}

/**
 * Returns a function that moves a part's bytes into the store. Any service can read the remaining
 * reference as text.
 */
function storing(blobs: BlobStore, signal: Stop): Change {
  return async (part) => {
    if (
      !isPlainObject(part) ||
      !MEDIA.includes(String(part['type'])) ||
      isDeeper(part, DEEPEST_PART)
    )
      return part;
    const field = typeof part['data'] === 'string' ? 'data' : 'image';
    const { [field]: data, mediaType } = part;
    if (typeof data !== 'string' || data.length <= KEPT_INLINE) return part;
    try {
      const bytes = bytesOf(data);
      const blob = await untilAborted(blobs.put(bytes), signal, 'the blob store');
      const rest = { ...part, [field]: '' } as unknown as Reference['part'];
      const reference: Reference = { blob, size: bytes.length, field, part: rest };
      if (typeof mediaType === 'string') reference.mediaType = mediaType;
      const text = words(reference, 'stored apart');
      return { type: 'text', text, providerOptions: { tooldex: reference } };
    } catch {
      return part; // It's an address rather than base64, the store failed, or the caller gave up.
    }
  };
}

async function filled(part: unknown, blobs: BlobStore, signal: Stop): Promise<unknown> {
  const options = isPlainObject(part) && part['type'] === 'text' && part['providerOptions'];
  // Users may write such options into their messages, so everything in them is checked.
  const parsed = referenceSchema.safeParse(isPlainObject(options) ? options['tooldex'] : undefined);
  if (!parsed.success) return part;
  const { blob, size, field, part: rest } = parsed.data;
  try {
    const bytes = await untilAborted(blobs.get(blob), signal, 'the blob store');
    return bytes?.length === size
      ? { ...rest, [field]: base64Of(bytes) }
      : { type: 'text', text: words(parsed.data, 'no longer stored') };
  } catch (cause) {
    throw new ToolError(
      'STATE_UNAVAILABLE',
      `The blob store could not be read: ${publicMessage(cause)}. Continue when it is back.`,
      { cause },
    );
  }
}

function words({ mediaType, size, part: { filename } }: Reference, fate: string): string {
  const kind = /^(?:image|audio)(?=\/)/.exec(mediaType ?? 'image/')?.[0] ?? 'file';
  const facts = [filename, mediaType].filter((fact) => fact !== undefined).join(', ');
  return `[${`${kind} ${facts}`.trim()}, ${sizeText(size)}: ${fate}]`;
}
