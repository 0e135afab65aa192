import { z } from 'zod';
import { aFunction, text } from '../../core/options.js';
import type { CallContext } from '../../safety/calls.js';
import type { ContentPart } from '../../tool/content.js';

/**
 * The caller who reads a resource or prompt, and a signal that aborts when the response is no
 * longer needed.
 */
export type McpOfferContext = CallContext & {
  /** The `context` in the value that the `context` option returns. */
  readonly context?: unknown;
  readonly signal: AbortSignal;
};

/**
 * Returns up to 100 completions for the text typed so far. `values` contains the other variables or
 * arguments.
 */
type Complete = (
  begun: string,
  values: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

/**
 * Text or bytes that a program serves under one URI, or under every URI that matches a template.
 */
export interface McpResource {
  /** A URI such as `docs://guide`, or a template (RFC 6570) such as `users://{id}/profile`. */
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /**
   * The media type of the content. @default text/plain for text, application/octet-stream for bytes
   */
  readonly mimeType?: string;
  /** Returns the content: text or bytes. `variables` are the template's variables. */
  readonly read: (
    uri: string,
    variables: Readonly<Record<string, string | readonly string[]>>,
    context: McpOfferContext,
  ) => string | Uint8Array | Promise<string | Uint8Array>;
  /** Suggests values for the template's variables, by name. @default none */
  readonly complete?: Readonly<Record<string, Complete>>;
}

/** One message of a prompt. */
interface McpPromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | ContentPart;
}

/** A prompt: a text or conversation that users select by name. */
export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** The arguments, by name. @default none */
  readonly arguments?: Readonly<
    Record<
      string,
      {
        readonly description?: string;
        /** True if the argument must be given. @default false */
        readonly required?: boolean;
        /** Suggests values. @default none */
        readonly complete?: Complete;
      }
    >
  >;
  /** Returns the messages. A string becomes one user message. */
  readonly get: (
    values: Readonly<Record<string, string>>,
    context: McpOfferContext,
  ) => string | readonly McpPromptMessage[] | Promise<string | readonly McpPromptMessage[]>;
}

const words = { title: z.string().optional(), description: z.string().optional() };

export const resourceField: z.ZodType<McpResource, McpResource> = z.strictObject({
  uri: text(),
  name: text(),
  ...words,
  mimeType: text().optional(),
  read: aFunction<McpResource['read']>(),
  complete: z.record(z.string(), aFunction<Complete>()).optional(),
}) as never;

export const promptField: z.ZodType<McpPrompt, McpPrompt> = z.strictObject({
  name: text(),
  ...words,
  arguments: z
    .record(
      z.string(),
      z.strictObject({
        description: z.string().optional(),
        required: z.boolean().optional(),
        complete: aFunction<Complete>().optional(),
      }),
    )
    .optional(),
  get: aFunction<McpPrompt['get']>(),
}) as never;
