import { z } from 'zod';
import { once, text, type FieldsOf } from '../core/options.js';
import type { WaitingFilter } from './waiting-calls.js';

/**
 * Returns a schema for a caller's id, or `null` for calls without one. A condition that is there but
 * `undefined`, such as the id of a user who isn't logged in, must not list everybody's calls.
 */
const owner = () => z.string().nullable().exactOptional();

/** The conditions that `executor.waiting` accepts. */
export const WAITING_FILTER = once(() =>
  z.strictObject({
    principal: owner(),
    conversationId: owner(),
    toolName: z.string().optional(),
    callId: z.string().optional(),
    limit: z.number().min(1).optional(),
    after: z.string().optional(),
  } satisfies FieldsOf<WaitingFilter>),
);

/** The options of `executor.deny` and `executor.answer`. */
export const ANSWERING = once(() => z.strictObject({ by: text().optional() }));

/** The options of `executor.approve`. */
export const APPROVING = once(() =>
  z.strictObject({ by: text().optional(), input: z.unknown().optional() }),
);
