import { createNameCodec, GEMINI_NAME_RULE } from '../../interop/export/name-codec.js';
import { callsIn, type ChatMessage, type ToolCallPart } from '../thread/chat-message.js';

/** The names of tools as every model service allows them, and the way back. */
export interface ModelNames {
  readonly encode: (name: string) => string;
  readonly decode: (encoded: string) => string;
}

/**
 * Names for one question to a model.
 *
 * @param tools all tools that there are, shown or not: so a tool keeps its name when others are shown beside it.
 * @param messages may name tools that are gone, or that never were. These change no name of a tool that there is.
 */
export function modelNames(tools: Iterable<string>, messages: readonly ChatMessage[]): ModelNames {
  const known = [...tools];
  const codec = createNameCodec(known, GEMINI_NAME_RULE);
  const given = new Set(known.map((name) => codec.encode(name)!));
  const earlier = messages.flatMap((message) => (message.role === 'assistant' ? callsIn(message).map(({ toolName }) => toolName) : []));
  const others = createNameCodec(earlier.filter((name) => codec.encode(name) === undefined && !given.has(name)), { ...GEMINI_NAME_RULE, reserved: [...given] });
  return {
    encode: (name) => codec.encode(name) ?? others.encode(name) ?? name,
    decode: (encoded) => codec.decode(encoded) ?? others.decode(encoded) ?? encoded,
  };
}

/** The message with the tools of its calls and results under other names. */
export function renamed<M extends ChatMessage>(message: M, rename: (name: string) => string): M {
  if ((message.role !== 'assistant' && message.role !== 'tool') || typeof message.content === 'string') return message;
  const content = message.content.map((part) => (part.type === 'tool-call' || part.type === 'tool-result' ? Object.freeze({ ...part, toolName: rename((part as ToolCallPart).toolName) }) : part));
  return Object.freeze({ ...message, content: Object.freeze(content) }) as M;
}
