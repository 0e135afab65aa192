import type { Json } from '../../core/plain-data.js';

/** What services may want to hear again with a message or a part of it. */
type ProviderOptions = Readonly<Record<string, Json>>;

/** What a tool answered, as the model reads it. The shapes are those of the AI SDK. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'content'; readonly value: readonly Json[] }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string };

export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments; text where the model wrote no JSON. */
  readonly input: Json;
  /** Set where the model's service runs the tool itself, and gives the result in the same message. */
  readonly providerExecuted?: boolean;
  readonly providerOptions?: ProviderOptions;
}

export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
  readonly providerOptions?: ProviderOptions;
}

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** Any other part: reasoning, files, images. It is carried as it is. */
export interface OtherPart {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | readonly (TextPart | ToolCallPart | OtherPart)[];
  readonly providerOptions?: ProviderOptions;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly content: readonly ToolResultPart[];
  readonly providerOptions?: ProviderOptions;
}

/** One message of a thread: plain data in the shape of the AI SDK's `ModelMessage`. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string; readonly providerOptions?: ProviderOptions }
  | { readonly role: 'user'; readonly content: string | readonly (TextPart | OtherPart)[]; readonly providerOptions?: ProviderOptions }
  | AssistantMessage
  | ToolMessage;

/** The calls in an assistant's message, in its order. */
export function callsIn(message: AssistantMessage): readonly ToolCallPart[] {
  return typeof message.content === 'string' ? [] : message.content.filter((part): part is ToolCallPart => part.type === 'tool-call');
}

/** The text of an assistant's message. */
export function textOf({ content }: AssistantMessage): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? (part as TextPart).text : '')).join('');
}
