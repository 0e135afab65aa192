import { isToolError } from '../core/errors.js';
import { FLOW_LABELS, type Flow, type FlowCause, type FlowLabel } from '../core/flow.js';
import { invalidArgument } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { canonicalJson, digestOf } from '../core/plain-data.js';
import { RecentMap } from '../core/recent-map.js';
import { flowSchema, readBy } from '../safety/call-flow.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';

/** Maximum number of conversations whose labels wait here until the store is back. */
const MOST_UNWRITTEN = 10_000;
/** Bringing a label again extends its life by at least a day. */
const RENEWED_AFTER_MS = 86_400_000;
const NOTHING: Flow = Object.freeze({});

/**
 * Remembers what each conversation has read: for each label, the first call that brought it.
 * Processes share this through the store.
 *
 * While the store can't be reached, a conversation counts as having read everything. New labels are
 * written when the store is back.
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
   * @throws ToolError `STATE_UNAVAILABLE`, `INVALID_ARGUMENT`.
   */
  async of(conversationId: string): Promise<Flow> {
    if (typeof conversationId !== 'string' || conversationId === '')
      throw invalidArgument('the id of a conversation', conversationId);
    return this.#read(conversationId);
  }

  /** Returns the labels of a conversation, or all labels if they can't be read. */
  assumed(conversationId: string): Promise<Flow> {
    return this.#read(conversationId).catch((error: unknown) => {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      return everything('the state store cannot be reached');
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
   * Adds labels given by the program.
   * @throws ToolError `INVALID_ARGUMENT` if `flow` isn't a flow.
   */
  async addFrom(conversationId: string, flow: Flow): Promise<void> {
    const read = flowSchema().safeParse(flow);
    if (!read.success) throw invalidArgument('a flow as executor.flow returns it', flow);
    await this.add(conversationId, read.data as Flow);
  }

  /** Adds labels. A label keeps the call that brought it first. */
  async add(conversationId: string, added: Flow): Promise<void> {
    if (Object.keys(added).length === 0) return;
    try {
      await this.#read(conversationId); // First write the labels that couldn't be written before.
      await this.#change(conversationId, (now) => ({ ...added, ...now }));
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      const before = this.#unwritten.get(conversationId);
      this.#unwritten.set(conversationId, { ...added, ...before });
    }
  }

  /** Adds the labels of a call before its tool starts, so that a crash can't lose them. */
  note(
    run: RunningCall,
    { entry, input }: { readonly entry: ToolEntry; readonly input: unknown },
    flow: Flow = NOTHING,
  ): Promise<void> | undefined {
    const { conversationId, policy } = run.options;
    if (conversationId === undefined) {
      if (!this.#hasReported && entry.reads.length > 0 && !entry.inferred.includes('reads')) {
        this.#hasReported = true;
        run.tell({ type: 'flow-unknown' });
      }
      return undefined;
    }
    const { flows } = this.#frame.policy;
    const isStrict = flows?.undeclared === 'strict' || policy?.flows?.undeclared === 'strict';
    if (entry.reads.length === 0 && !isStrict) return undefined;
    const at = this.#frame.clock.now();
    const known = (label: FlowLabel) => {
      const cause = flow[label];
      return cause !== undefined && at - cause.at < RENEWED_AFTER_MS ? { [label]: cause } : {};
    };
    const fresh = { ...known('private'), ...known('untrusted') };
    const read = readBy(entry, { ...run.call, input }, fresh, { at, isStrict });
    if (read === undefined) return undefined;
    return this.add(conversationId, read).then(() => {
      for (const [label, { from }] of Object.entries(read) as [FlowLabel, FlowCause][])
        if (flow[label] === undefined)
          run.tell({ type: 'flow', label, ...(from !== undefined && { from }) });
    });
  }

  /** Removes labels. @throws ToolError `STATE_UNAVAILABLE`; the labels may then still be there. */
  async clear(conversationId: string, labels: readonly FlowLabel[]): Promise<void> {
    if (!Array.isArray(labels) || !labels.every((label: FlowLabel) => FLOW_LABELS.includes(label)))
      throw invalidArgument(`a list of ${FLOW_LABELS.join(' and ')}`, labels);
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
      // A label lives on as long as calls keep bringing it.
      if (await this.#store.compareAndSet(key, text, written, { ttlMs: LIMITS.timerMs }))
        return Object.freeze(next);
    }
  }
}

/**
 * Returns the store key of a conversation: readable for ordinary ids, a digest for ids that a store
 * might not accept.
 */
const keyOf = (conversationId: string) =>
  `flow:${/^[\w.:@-]{1,300}$/.test(conversationId) ? conversationId : `sha256:${digestOf(conversationId)}`}`;

/**
 * All labels, used if nothing is known. They're dated so far back that real labels still get
 * written.
 */
function everything(callId: string): Flow {
  const unknown: FlowCause = Object.freeze({ toolName: 'unknown', callId, at: 0, inferred: true });
  return Object.freeze({ private: unknown, untrusted: unknown });
}

/**
 * Reads a stored flow. If it's unreadable, somebody else changed it, so assume that everything was
 * read.
 */
function readFlow(text: string | undefined): Flow {
  if (text === undefined) return NOTHING;
  try {
    return flowSchema().parse(JSON.parse(text)) as Flow;
  } catch {
    return everything('the stored labels cannot be read');
  }
}
