import { z } from 'zod';
import { isPlainObject, type Json } from '../../core/plain-data.js';

// Strict where tooldex reads, open where services have parts of their own.

const json = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
const record = z.custom<Readonly<Record<string, Json>>>(isPlainObject, { error: 'an object of plain data' });
const id = z.string().min(1).max(512);
const toolName = z.string().max(512);
const providerOptions = record.optional();

const output = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string() }),
  z.strictObject({ type: z.literal('json'), value: json }),
  z.strictObject({ type: z.literal('content'), value: z.array(json) }),
  z.strictObject({ type: z.literal('error-text'), value: z.string() }),
  z.strictObject({ type: z.literal('error-json'), value: json }),
  z.strictObject({ type: z.literal('execution-denied'), reason: z.string().optional() }),
]);
export const outputSchema = output;

const text = z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions });
const toolCall = z.strictObject({ type: z.literal('tool-call'), toolCallId: id, toolName, input: json, providerOptions, providerExecuted: z.boolean().optional() });
const toolResult = z.strictObject({ type: z.literal('tool-result'), toolCallId: id, toolName, output, providerOptions });
const OWN_TYPES: ReadonlySet<string> = new Set(['text', 'tool-call']);
const other = z.looseObject({ type: z.string().refine((type) => !OWN_TYPES.has(type), 'a part whose fields fit its type') });

const assistant = z.strictObject({ role: z.literal('assistant'), content: z.union([z.string(), z.array(z.union([text, toolCall, other]))]), providerOptions });
export const assistantSchema = assistant;

/** One message of a thread, in the AI SDK's shape. */
export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string(), providerOptions }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(z.union([text, other]))]), providerOptions }),
  assistant,
  z.strictObject({ role: z.literal('tool'), content: z.array(toolResult), providerOptions }),
]);
