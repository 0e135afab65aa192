import { ToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { digestOf, type Json } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';

/**
 * Uses a framework's approval up: frameworks keep a yes as long as their messages or run, and would run its call again.
 *
 * @param approval what makes it this approval and no other.
 * @throws ToolError `INVALID_APPROVAL` for a yes that has run its call already, `STATE_UNAVAILABLE`.
 */
export async function redeemApproval(store: StateStore, framework: string, approval: Json): Promise<void> {
  if ((await store.compareAndSet(`${framework}-approval:${digestOf(approval)}`, undefined, 'used', { ttlMs: LIMITS.timerMs })) === true) return;
  throw new ToolError('INVALID_APPROVAL', 'Expected an approval that was not used, found one that has run its call already; ask again');
}
