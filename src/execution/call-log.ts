import type { ToolErrorCode } from '../core/errors.js';
import type { FlowLabel } from '../core/flow.js';
import { without } from '../core/plain-data.js';
import { withoutSecrets } from '../core/public-message.js';
import type { Decision, Pending, ToolOutcome } from '../safety/calls.js';
import { noteInTimeline } from '../safety/timeline.js';
import type { StateStore } from '../state/state-store.js';
import type { RunningCall } from './running-call.js';

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
  /** The error's message or the reason for a denial, truncated and without secrets. */
  readonly message?: string;
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
  /** The labels that this call added to its conversation, if any. */
  readonly labels?: readonly FlowLabel[];
  /** The id of the pending call, and the question, if the call waits for a person. */
  readonly pendingId?: string;
  readonly question?: string;
  /** The arguments as JSON, truncated and without secrets. Present only with `recordArguments`. */
  readonly input?: string;
}

const KEY = 'calls';
/** The list of refused calls, which must not push out the calls that ran. */
const REFUSED = 'refused-calls';
/** The maximum number of calls kept in each list. */
const MOST_CALLS = 1_000;
/** The maximum length of the recorded arguments, in characters. */
const LONGEST_INPUT = 2_000;
const LONGEST_MESSAGE = 300;

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

  /** Writes a record of a call, and returns the record. */
  record(outcome: ToolOutcome, run: RunningCall, at: number): RecordedCall {
    const { toolName, status, durationMs, attempts, cached, provider } = outcome;
    const { decision, labels } = run;
    const record: RecordedCall = {
      ...{ ...run.owner, toolName, at, status, durationMs, attempts, cached },
      ...without({ provider, labels: labels.length > 0 ? labels : undefined }),
      ...(outcome.status === 'error' && {
        code: outcome.code,
        message: shortened(outcome.message, LONGEST_MESSAGE),
      }),
      ...(outcome.status === 'denied' && { message: shortened(outcome.reason, LONGEST_MESSAGE) }),
      ...('pending' in outcome && waitingOf(outcome.pending)),
      ...(decision && { verdict: decision.verdict, rule: decision.rule }),
      ...(this.#keepsArguments && {
        input: shortened(JSON.stringify(run.call.input ?? {}), LONGEST_INPUT),
      }),
    };
    const text = JSON.stringify(record);
    const writing = Promise.all([
      this.#store.append(isRefused(record) ? REFUSED : KEY, text, { max: MOST_CALLS }),
      noteInTimeline(this.#store, record.conversationId, text),
    ])
      .catch(() => undefined)
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return record;
  }

  /** Waits until pending records have been written. */
  async flush(): Promise<void> {
    await Promise.all(this.#writing);
  }
}

/**
 * Returns the last thousand calls and the last thousand refused calls of all executors that share a
 * store, newest first.
 * @throws ToolError `STATE_UNAVAILABLE`.
 */
export async function readCallLog(store: StateStore): Promise<readonly RecordedCall[]> {
  const lists = await Promise.all(
    [REFUSED, KEY].map((key) => store.read(key, { limit: MOST_CALLS })),
  );
  const calls = lists.flat().map((item) => JSON.parse(item) as RecordedCall);
  return calls.reverse().sort((a, b) => b.at - a.at);
}

/** Returns true if a call was refused before its tool started. */
function isRefused({ status, attempts }: Pick<RecordedCall, 'status' | 'attempts'>) {
  return status === 'denied' || (status === 'error' && attempts === 0);
}

/** Returns true if the tool failed. The tool's health counts the same calls. */
export function hasToolFailed({ status, attempts, code }: RecordedCall): boolean {
  return status === 'error' && attempts > 0 && code !== 'ABORTED';
}

function waitingOf({ id, ...pending }: Pending) {
  const question = 'question' in pending ? pending.question : undefined;
  return {
    pendingId: id,
    ...(question !== undefined && { question: shortened(question, LONGEST_MESSAGE) }),
  };
}

function shortened(text: string, most: number): string {
  return withoutSecrets(text.slice(0, 4 * most)).slice(0, most);
}
