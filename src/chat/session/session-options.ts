import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';
import { formatIssues, toIssues } from '../../core/issues.js';

/** Bytes of a key: as many as the digest that it makes. */
const SHORTEST_KEY = 32;
const ID = /^[A-Za-z0-9._:-]{1,128}$/;
const SHORTEST_TTL_MS = 1;

const isFunction = (value: unknown): boolean => typeof value === 'function';
const fn = <T>() => z.custom<T>(isFunction, 'a function');

/** Ids of sessions: what every store, file system and address takes. */
export const sessionId = z.string().regex(ID, '1 to 128 letters, digits, dots, colons, underscores and hyphens');

type Migration = (snapshot: Readonly<Record<string, unknown>>) => unknown;
const key = z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY, `a key of at least ${SHORTEST_KEY} bytes`).optional();
const reading = {
  key,
  migrations: z.custom<Readonly<Record<number, Migration>>>((value) => isPlainObject(value) && Object.values(value).every(isFunction), 'an object of functions by version').optional(),
};
const hasOperations = (value: unknown): boolean => typeof value === 'object' && value !== null && ['get', 'compareAndSet', 'expire'].every((name) => isFunction((value as Readonly<Record<string, unknown>>)[name]));

export const newSessionOptions = z.strictObject({ id: sessionId.optional(), context: z.unknown().optional(), messages: z.unknown().optional() });
export const signingOptions = z.strictObject({ key });
export const readSnapshotOptions = z.strictObject(reading);
export const sessionStoreOptions = z.strictObject({
  ...reading,
  store: z.custom<StateStore>(hasOperations, 'a state store'),
  ttlMs: z.number().int().min(SHORTEST_TTL_MS).optional(),
});
export const runSessionOptions = z.strictObject({
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'an AbortSignal').optional(),
  stream: z.boolean().default(false),
  acceptChangedTools: z.boolean().default(false),
  onCheckpoint: fn<(session: never) => void | Promise<void>>().optional(),
});
export const approvalOptions = z.strictObject({ input: z.unknown().optional(), pendingId: z.string().optional() });

/** Options as they are meant. @throws ToolError `INVALID_ARGUMENT` with every wrong and unknown one. */
export function checkOptions<T extends z.ZodType>(schema: T, options: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, options);
  throw new ToolError('INVALID_ARGUMENT', `The options of ${what} are refused:\n  ${formatIssues(issues)}`, { details: { issues } });
}
