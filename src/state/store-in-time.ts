import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { Listeners } from '../core/listeners.js';
import { AnswerWatch, LONGEST_WAIT_MS, NoAnswer } from './answer-watch.js';
import type { StateStore } from './state-store.js';

/** The time to wait for a silent store: it promises to answer within 250 ms. */
const ANSWER_MS = 300;
/** The interval at which a silent store is asked whether it answers again. */
const PROBE_MS = 1_000;

/**
 * Returns a store that is held to its promise: an operation is refused with `STATE_UNAVAILABLE` if the store has
 * answered nothing at all for 300 ms in which this process listened, or not that operation for 10 s.
 *
 * While the store is silent all operations are refused at once, so that a call waits for a lost store only once. That
 * ends when the store answers again: an operation that was given up, or a question asked meanwhile.
 */
export function storeInTime(store: StateStore, clock: Clock): StateStore {
  const answers = new AnswerWatch(ANSWER_MS, clock);
  const availability = new Listeners<boolean>();
  /** The value of `elapsed()` from which on the lost store is asked again; `undefined` while it answers. */
  let probeAt: number | undefined;

  const recover = () => {
    if (probeAt === undefined) return;
    probeAt = undefined;
    availability.tell(true);
  };
  const lose = () => {
    if (probeAt === undefined) availability.tell(false);
    probeAt = clock.elapsed() + PROBE_MS;
  };
  const probe = () => {
    if (probeAt === undefined || clock.elapsed() < probeAt) return;
    probeAt = clock.elapsed() + PROBE_MS;
    void Promise.resolve()
      .then(() => store.get('availability'))
      .then(recover, recover);
  };
  const inTime = async <T>(operate: () => Promise<T>, ms = ANSWER_MS): Promise<T> => {
    if (probeAt !== undefined) {
      probe();
      throw unavailable('one that has not answered before', false);
    }
    const operation = operate();
    // A rejection of the store is an answer too, and passed on as it is.
    operation.then(recover, recover);
    try {
      return await answers.wait(operation, ms);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (error.silent) lose();
      throw unavailable('no answer in time');
    }
  };

  return {
    get: (key) => inTime(() => store.get(key)),
    compareAndSet: (key, expected, next, options) =>
      inTime(() => store.compareAndSet(key, expected, next, options)),
    increment: (key, by, options) => inTime(() => store.increment(key, by, options)),
    expire: (key, ttlMs) => inTime(() => store.expire(key, ttlMs)),
    now: () => inTime(() => store.now()),
    // It may take several steps.
    list: (prefix, limit) => inTime(() => store.list(prefix, limit), LONGEST_WAIT_MS),
    append: (key, item, options) => inTime(() => store.append(key, item, options)),
    read: (key, options) => inTime(() => store.read(key, options)),
    publish: (channel, message) => inTime(() => store.publish(channel, message)),
    subscribe: (channel, listener) => inTime(() => store.subscribe(channel, listener)),
    onAvailability: (listener) => {
      const ends = [availability.add(listener), store.onAvailability(listener)];
      return () => ends.forEach((end) => end());
    },
    close: () => store.close(),
  };
}

function unavailable(got: string, sent?: false): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    expectedGot('the state store to answer', got, 'Try again when it answers.'),
    sent === undefined ? {} : { details: { sent } },
  );
}
