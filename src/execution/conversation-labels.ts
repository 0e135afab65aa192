import { isToolError } from '../core/errors.js';
import type { Flow, FlowCause, FlowLabel } from '../core/flow.js';
import { invalidArgument } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { canonicalJson, digestOf } from '../core/plain-data.js';
import { RecentMap } from '../core/recent-map.js';
import { flowSchema, readBy } from '../safety/call-flow.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';

/**
 * The maximum number of conversations whose labels are kept in memory until the store is available
 * again.
 */
const MOST_UNWRITTEN = 10_000;
/**
 * The age from which a label is written again when a call adds it. Writing a label extends its
 * lifetime.
 */
const RENEWED_AFTER_MS = 86_400_000;
const NOTHING: Flow = Object.freeze({});

/**
 * Remembers what each conversation has read: each label, and the first call that added it.
 * Processes share labels through the store.
 *
 * While the store is unavailable, every conversation is treated as having read everything. New
 * labels are written once the store is available again.
 */
export class ConversationLabels {
  readonly #store: StateStore;
  readonly #frame: ExecutorFrame;
  #hasReported = false;
  readonly #unwritten = new RecentMap<string, Flow>(MOST_UNWRITTEN);

  constructor(store: StateStore, frame: ExecutorFrame) {
    this.#store = store;
    this.#frame = frame;
  }

  /**
   * Returns the labels of a conversation.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  of(conversationId: string): Promise<Flow> {
    return this.#read(conversationId);
  }

  /** Returns the labels of a conversation, or all labels if they can't be read. */
  assumed(conversationId: string): Promise<Flow> {
    return this.#read(conversationId).catch((error: unknown) => {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      return everything("the state store can't be reached");
    });
  }

  #read(conversationId: string): Promise<Flow> {
    const unwritten = this.#unwritten.get(conversationId);
    if (unwritten === undefined) return this.#store.get(keyOf(conversationId)).then(readFlow);
    return this.#change(conversationId, (now) => ({ ...unwritten, ...now })).then((flow) => {
      this.#unwritten.delete(conversationId);
      return flow;
    });
  }

  /**
   * Adds labels provided by the program.
   * @throws ToolError `INVALID_ARGUMENT` if `flow` isn't a flow.
   */
  async addFrom(conversationId: string, flow: Flow): Promise<void> {
    const read = flowSchema().safeParse(flow);
    if (!read.success) throw invalidArgument('a flow as returned by executor.flow', flow);
    await this.add(conversationId, read.data as Flow);
  }

  /** Adds labels. A label that already exists keeps its original call. */
  async add(conversationId: string, added: Flow): Promise<void> {
    if (Object.keys(added).length === 0) return;
    try {
      await this.#read(conversationId); // Writes the labels that couldn't be written before.
      await this.#change(conversationId, (now) => ({ ...added, ...now }));
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      const before = this.#unwritten.get(conversationId);
      this.#unwritten.set(conversationId, { ...added, ...before });
    }
  }

  /** Adds a call's labels before its tool starts, so that a crash can't lose them. */
  note(
    run: RunningCall,
    { entry, input }: { readonly entry: ToolEntry; readonly input: unknown },
    flow: Flow = NOTHING,
  ): Promise<void> | undefined {
    const { conversationId, policy } = run.options;
    if (conversationId === undefined) {
      if (!this.#hasReported && entry.reads.length > 0) {
        this.#hasReported = true;
        run.tell({ type: 'flow-unknown' });
      }
      return undefined;
    }
    const { flows } = this.#frame.policy;
    const isStrict = flows?.undeclared === 'strict' || policy?.flows?.undeclared === 'strict';
    if (entry.reads.length === 0 && !isStrict) return undefined;
    const at = this.#frame.clock.now();
    const recent = (label: FlowLabel) => {
      const cause = flow[label];
      return cause !== undefined && at - cause.at < RENEWED_AFTER_MS ? { [label]: cause } : {};
    };
    const fresh = { ...recent('private'), ...recent('untrusted') };
    const read = readBy(entry, { ...run.call, input }, fresh, { at, isStrict });
    if (read === undefined) return undefined;
    return this.add(conversationId, read).then(() => {
      for (const [label, { from }] of Object.entries(read) as [FlowLabel, FlowCause][])
        if (flow[label] === undefined) {
          run.labels = [...run.labels, label];
          run.tell({ type: 'flow', label, ...(from !== undefined && { from }) });
        }
    });
  }

  /** Removes labels. @throws ToolError `STATE_UNAVAILABLE`; the labels may then still exist. */
  async clear(conversationId: string, labels: readonly FlowLabel[]): Promise<void> {
    const without = (flow: Flow): Flow =>
      Object.fromEntries(
        Object.entries(flow).filter(([label]) => !labels.includes(label as FlowLabel)),
      );
    await this.of(conversationId);
    await this.#change(conversationId, without);
  }

  async #change(conversationId: string, change: (now: Flow) => Flow): Promise<Flow> {
    const key = keyOf(conversationId);
    for (;;) {
      const text = await this.#store.get(key);
      const next = change(readFlow(text));
      const written = Object.keys(next).length === 0 ? undefined : canonicalJson(next);
      // A label's lifetime is extended whenever it's written again.
      if (await this.#store.compareAndSet(key, text, written, { ttlMs: LIMITS.timerMs }))
        return Object.freeze(next);
    }
  }
}

/** Returns the store key of a conversation. Ids are hashed, because a store might not accept them. */
const keyOf = (conversationId: string) => `flow:${digestOf(conversationId)}`;

/**
 * Returns all labels, for a conversation about which nothing is known. The time of these labels is
 * 0, so that the actual labels are still written later.
 */
function everything(callId: string): Flow {
  const unknown: FlowCause = Object.freeze({ toolName: 'unknown', callId, at: 0, inferred: true });
  return Object.freeze({ private: unknown, untrusted: unknown });
}

/**
 * Reads a stored flow. An unreadable flow was changed by another program, so the conversation is
 * treated as if it had read everything.
 */
function readFlow(text: string | undefined): Flow {
  if (text === undefined) return NOTHING;
  try {
    return flowSchema().parse(JSON.parse(text)) as Flow;
  } catch {
    return everything("the stored labels can't be read");
  }
}
