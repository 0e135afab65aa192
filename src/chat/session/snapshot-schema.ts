import { z } from 'zod';
import { DangerLevel } from '../../core/enums.js';
import type { Json } from '../../core/plain-data.js';
import { QUESTION_FIELDS } from '../../tool/question.js';
import { SCHEMA_LEVELS } from '../../tool/render/render-tool.js';
import { assistantSchema, messageSchema, outputSchema } from '../thread/message-schema.js';
import { sessionId } from './session-options.js';

const id = z.string().min(1).max(512);
const toolName = z.string().max(512);
const json = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
const time = z.number().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits');

const asked = { id, callId: id, toolName, input: json, principal: z.string().optional(), conversationId: z.string().optional(), createdAt: time };
const approval = z.strictObject({ kind: z.literal('approval'), ...asked, definitionDigest: digest, danger: z.enum(DangerLevel), reason: z.string(), rule: z.string(), expiresAt: time, storeIdentity: z.string(), signature: z.string() });
const pending = z.discriminatedUnion('kind', [
  approval,
  z.strictObject({ kind: z.literal('manual'), ...asked, definitionDigest: z.union([digest, z.literal('')]), outputSchema: json.optional() }),
  z.strictObject({ kind: z.literal('question'), ...asked, definitionDigest: digest, ...QUESTION_FIELDS, expiresAt: time.optional() }),
]);

const progress = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('not_started'), input: json.optional(), rerunOf: time.optional() }),
  z.strictObject({ state: z.literal('started'), startedAt: time, input: json.optional() }),
  z.strictObject({ state: z.literal('waiting'), pending }),
  z.strictObject({ state: z.literal('approved'), pending: approval, input: json.optional() }),
  z.strictObject({ state: z.literal('settled'), output: outputSchema, input: json.optional() }),
]);

const halt = z.strictObject({ reason: z.literal('halt'), haltedReason: z.string(), callId: id, value: json });
const toolError = z.strictObject({ reason: z.literal('tool_error'), callId: id, error: z.string() });
const end = z.discriminatedUnion('reason', [
  z.strictObject({ reason: z.literal('completed'), finishReason: z.string() }),
  halt,
  toolError,
  z.strictObject({ reason: z.literal('max_turns'), maxTurns: z.number().int().min(1) }),
  z.strictObject({ reason: z.literal('halt_when'), turn: z.number().int().min(0) }),
  z.strictObject({ reason: z.literal('cancelled') }),
  z.strictObject({ reason: z.literal('error'), error: z.strictObject({ code: z.string(), message: z.string() }) }),
]);

const openTurn = z.strictObject({
  index: z.number().int().min(0),
  message: assistantSchema,
  calls: z.array(z.strictObject({ callId: id, toolName, input: json, progress })).min(1),
  tools: z.array(z.strictObject({ toolName, digest })),
  end: z.discriminatedUnion('reason', [halt, toolError]).optional(),
});

/** A session as JSON, field by field; what must fit together is checked apart. */
export const snapshotSchema = z.strictObject({
  format: z.literal('tooldex.session'),
  version: z.literal(1),
  id: sessionId,
  origin: z.string().min(1).max(128),
  rev: z.number().int().min(0),
  storeIdentity: z.string().max(512).optional(),
  context: json.optional(),
  messages: z.array(messageSchema),
  openTurn: openTurn.optional(),
  end: end.optional(),
  offered: z.array(z.strictObject({ toolName, level: z.enum(SCHEMA_LEVELS) })),
  resolutions: z.array(z.strictObject({ callId: id, digest })),
});
