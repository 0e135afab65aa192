import type { ToolErrorCode } from '../core/errors.js';
import { withoutSecrets } from '../core/public-message.js';
import type { Decision, ToolOutcome } from '../safety/calls.js';
import type { StateStore } from '../state/state-store.js';

/** The record of one call, stored for operators. */
export interface RecordedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** The time at which the call ended, in milliseconds since 1970. */
  readonly at: number;
  readonly status: ToolOutcome['status'];
  readonly code?: ToolErrorCode;
  readonly durationMs: number;
  readonly attempts: number;
  readonly cached: boolean;
  readonly provider?: string;
  /**
   * The policy's decision and the rule behind it. Missing if the call ended before the policy
   * evaluated it.
   */
  readonly verdict?: Decision['verdict'];
  readonly rule?: string;
  /** The arguments as JSON, truncated and without secrets. Present only with `recordArguments`. */
  readonly input?: string;
}

const KEY = 'calls';
/** The maximum number of calls kept in a store. */
const MOST_CALLS = 1_000;
/** The maximum length of the recorded arguments, in characters. */
const LONGEST_INPUT = 2_000;

/**
 * Records the most recent calls of all executors that share a store. If the store doesn't respond,
 * records are lost, but calls aren't delayed.
 */
export class CallLog {
  readonly #store: StateStore;
  readonly #keepsArguments: boolean;
  readonly #writing = new Set<Promise<unknown>>();

  constructor(store: StateStore, keepsArguments: boolean) {
    this.#store = store;
    this.#keepsArguments = keepsArguments;
  }

  record(
    outcome: ToolOutcome,
    call: Pick<RecordedCall, 'at' | 'principal' | 'conversationId'>,
    decision: Decision | undefined,
    input: unknown,
  ): void {
    const { callId, toolName, status, durationMs, attempts, cached, provider } = outcome;
    const record: RecordedCall = {
      ...{ callId, toolName, ...call, status, durationMs, attempts, cached },
      ...(provider !== undefined && { provider }),
      ...(outcome.status === 'error' && { code: outcome.code }),
      ...(decision && { verdict: decision.verdict, rule: decision.rule }),
      ...(this.#keepsArguments && { input: shownInput(input) }),
    };
    const writing = this.#store
      .append(KEY, JSON.stringify(record), { max: MOST_CALLS })
      .catch(() => undefined)
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Waits until pending records have been written. */
  async flush(): Promise<void> {
    await Promise.all(this.#writing);
  }
}

/**
 * Returns the last thousand calls of all executors that share a store, newest first.
 * @throws ToolError `STATE_UNAVAILABLE`.
 */
export async function readCallLog(store: StateStore): Promise<readonly RecordedCall[]> {
  const items = await store.read(KEY, { limit: MOST_CALLS });
  return items.map((item) => JSON.parse(item) as RecordedCall).toReversed();
}

function shownInput(input: unknown): string {
  const text = JSON.stringify(input ?? {});
  return withoutSecrets(text.slice(0, 4 * LONGEST_INPUT)).slice(0, LONGEST_INPUT);
}
