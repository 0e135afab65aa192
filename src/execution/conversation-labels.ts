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

/** Conversations whose labels wait here for the store to come back. */
const MOST_UNWRITTEN = 10_000;
/** Labels that a call brings again live a day longer at least. */
const RENEWED_AFTER_MS = 86_400_000;
const NOTHING: Flow = Object.freeze({});

/**
 * Remembers for each conversation what was read in it: by the first call that brought each label, in the store that processes
 * share.
 *
 * While the store cannot be reached, a conversation counts as having read everything; what is read in the meantime is written
 * when the store is back.
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

  /** Returns what was read in a conversation. @throws ToolError `STATE_UNAVAILABLE`, `INVALID_ARGUMENT`. */
  async of(conversationId: string): Promise<Flow> {
    if (typeof conversationId !== 'string' || conversationId === '')
      throw invalidArgument('the id of a conversation', conversationId);
    return this.#read(conversationId);
  }

  /** Returns what was read in a conversation, and everything where that cannot be told. */
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

  /** Adds labels that a program gives. @throws ToolError `INVALID_ARGUMENT` for what is no flow. */
  async addFrom(conversationId: string, flow: Flow): Promise<void> {
    const read = flowSchema().safeParse(flow);
    if (!read.success) throw invalidArgument('a flow as executor.flow returns it', flow);
    await this.add(conversationId, read.data as Flow);
  }

  /** Adds labels; the calls that brought a label first stay. */
  async add(conversationId: string, added: Flow): Promise<void> {
    if (Object.keys(added).length === 0) return;
    try {
      await this.#read(conversationId); // What could not be written before comes first.
      await this.#change(conversationId, (now) => ({ ...added, ...now }));
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      const before = this.#unwritten.get(conversationId);
      this.#unwritten.set(conversationId, { ...added, ...before });
    }
  }

  /** Adds what a call is going to read, before the content is there; a crash must not lose what a model may have seen. */
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

  /** Takes labels off. @throws ToolError `STATE_UNAVAILABLE`, after which they may still be there. */
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
      // Every label lives on for as long as a call brings it again.
      if (await this.#store.compareAndSet(key, text, written, { ttlMs: LIMITS.timerMs }))
        return Object.freeze(next);
    }
  }
}

/** Returns the key of a conversation: readable for usual ids, a digest for those that no store would take. */
const keyOf = (conversationId: string) =>
  `flow:${/^[\w.:@-]{1,300}$/.test(conversationId) ? conversationId : `sha256:${digestOf(conversationId)}`}`;

/** The labels that count where nothing is known; they are too old to keep others from being written. */
function everything(callId: string): Flow {
  const unknown: FlowCause = Object.freeze({ toolName: 'unknown', callId, at: 0, inferred: true });
  return Object.freeze({ private: unknown, untrusted: unknown });
}

/** Reads what is stored. What cannot be read was changed by others: everything was read. */
function readFlow(text: string | undefined): Flow {
  if (text === undefined) return NOTHING;
  try {
    return flowSchema().parse(JSON.parse(text)) as Flow;
  } catch {
    return everything('what was stored cannot be read');
  }
}
