import { isToolError, ToolError } from '../../core/errors.js';
import { digestOf } from '../../core/plain-data.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import { withDecisionsAskedAgain, type SessionData } from './session-data.js';

/** Which signed snapshot a session comes from: it is continued once among those who share the executor's store. */
export interface Generation {
  readonly rev: number;
  /** Random; tells this reading of the snapshot from others. */
  readonly mark: string;
}

/** What a store knows of a session: from which of its signed snapshots on it was continued, by whom. */
const recordKey = (origin: string) => `session-runs:${digestOf(origin)}`;

/**
 * Enters a run in the store that the executor shares with others.
 *
 * A session that was run there before has a record in it. Where the record is gone, or the store is another one, nobody knows which
 * calls were run since the decisions about them, and they are asked again.
 *
 * @returns the data with which the run goes on.
 * @throws ToolError `STALE_SESSION` for a signed snapshot that was continued before, or one of before it; `STATE_UNAVAILABLE` when that, or
 * decisions, depend on the store.
 */
export async function enterRun(store: StateStore | undefined, data: SessionData, generation: Generation | undefined, now: number): Promise<SessionData> {
  const { id, origin, chat: { openTurn }, storeIdentity: before } = data;
  if (store === undefined) return data;
  for (;;) {
    try {
      const { identity } = await store.now();
      const record = await store.get(recordKey(origin));
      const [continued = -1, mark] = record === undefined ? [] : (JSON.parse(record) as [number, string?]);
      if (generation !== undefined && (continued > generation.rev || (continued === generation.rev && mark !== generation.mark))) {
        throw new ToolError('STALE_SESSION', `Expected a snapshot of the session ${id} that was not continued before, got one that was. Continue the newest snapshot; one that is read without the key is not refused.`, { details: { id, rev: generation.rev } });
      }
      const next = generation === undefined ? (record ?? '[-1]') : JSON.stringify([generation.rev, generation.mark]);
      if (next !== record && !(await store.compareAndSet(recordKey(origin), record, next, { identity }))) continue;
      const approvedIn = openTurn?.calls.flatMap(({ progress }) => (progress.state === 'approved' ? [progress.pending.storeIdentity] : []))[0];
      const known = before ?? approvedIn;
      const isKnown = known === undefined || (known === identity && (before === undefined || record !== undefined));
      return Object.freeze({ ...(isKnown ? data : withDecisionsAskedAgain(data, now)), storeIdentity: identity });
    } catch (error) {
      if (isRestarted(error)) continue;
      // Nothing was decided or begun that the store would have to know of.
      if (isToolError(error, 'STATE_UNAVAILABLE') && generation === undefined && openTurn === undefined) return data;
      throw error;
    }
  }
}
