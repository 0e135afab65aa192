import { z } from 'zod';
import { aFunction, signal, withMethods } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';

/** Bytes of a key: as many as the digest that it makes. */
const SHORTEST_KEY = 32;
const ID = /^[A-Za-z0-9._:-]{1,128}$/;
const SHORTEST_TTL_MS = 1;

const isFunction = (value: unknown): boolean => typeof value === 'function';

/** Ids of sessions: what every store, file system and address takes. */
export const sessionId = z.string().regex(ID, '1 to 128 letters, digits, dots, colons, underscores and hyphens');

type Migration = (snapshot: Readonly<Record<string, unknown>>) => unknown;
const key = z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY, `a key of at least ${SHORTEST_KEY} bytes`).optional();
const reading = {
  key,
  migrations: z.custom<Readonly<Record<number, Migration>>>((value) => isPlainObject(value) && Object.values(value).every(isFunction), 'an object of functions by version').optional(),
};

export const newSessionOptions = z.strictObject({ id: sessionId.optional(), context: z.unknown().optional(), messages: z.unknown().optional() });
export const signingOptions = z.strictObject({ key });
export const readSnapshotOptions = z.strictObject(reading);
export const sessionStoreOptions = z.strictObject({
  ...reading,
  store: withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'expire', 'now', 'append', 'read'),
  ttlMs: z.number().int().min(SHORTEST_TTL_MS).optional(),
});
export const runSessionOptions = z.strictObject({
  signal: signal.optional(),
  stream: z.boolean().default(false),
  acceptChangedTools: z.boolean().default(false),
  onCheckpoint: aFunction<(session: never) => void | Promise<void>>().optional(),
});
export const answerOptions = z.strictObject({ now: z.number().optional() });
export const approvalOptions = z.strictObject({ input: z.unknown().optional(), pendingId: z.string().optional() });
