import type { Clock } from '../core/clock.js';
import type { StoredPending } from '../safety/calls.js';
import type { WaitingCalls } from '../safety/waiting-calls.js';

const POLL_MS = 1_000;

/**
 * Polls the store every second, and calls `listener` once for each pending call that has an unused
 * answer.
 *
 * @returns A function that stops polling.
 */
export function watchAnswers(
  waiting: WaitingCalls,
  clock: Clock,
  listener: (answered: StoredPending) => void,
): () => void {
  const reported = new Set<string>();
  let cancel: (() => void) | undefined = () => undefined;
  const look = async (): Promise<void> => {
    // If the store can't be reached, tries again at the next poll.
    const answered = await waiting.answered(reported).catch(() => []);
    if (cancel === undefined) return;
    cancel = clock.after(POLL_MS, () => void look(), { background: true });
    answered.forEach((each) => listener(each));
  };
  void look();
  return () => {
    cancel?.();
    cancel = undefined;
  };
}
