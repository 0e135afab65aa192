import { z } from 'zod';
import { ToolError, isToolError } from '../core/errors.js';
import { FLOW_LABELS, type Flow, type FlowCause, type FlowLabel } from '../core/flow.js';
import { LIMITS } from '../core/limits.js';
import { once } from '../core/options.js';
import { canonicalJson, digestOf } from '../core/plain-data.js';
import { flowAfter } from '../safety/call-flow.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';

/** Conversations whose labels this process remembers beside the store. */
const MOST_REMEMBERED = 10_000;
/** Conversations whose labels wait for the store; calls that read in more are refused until it is back. */
const MOST_UNWRITTEN = 100_000;
/** Attempts at a write that other processes keep changing. */
const MOST_ATTEMPTS = 20;
/** Labels are kept for a day longer whenever their lifetime is this far gone. */
const RENEWED_AFTER_MS = 86_400_000;

/** The labels of a conversation. Each clearing starts a new count, so that what was read before it is told from what was read after. */
interface Remembered {
  readonly cleared: number;
  readonly flow: Flow;
  /** The text in the store in which this stands. */
  readonly text?: string | undefined;
}

const NOTHING: Remembered = Object.freeze({ cleared: 0, flow: Object.freeze({}) });
const cause = () =>
  z.strictObject({
    toolName: z.string().max(128),
    callId: z.string().max(1_024),
    at: z.number(),
    from: z.string().max(253).optional(),
    inferred: z.literal(true).optional(),
  });
/** The labels of a conversation as plain data, from a store or a stored session. */
export const flowSchema = once(() =>
  z.strictObject({ private: cause().optional(), untrusted: cause().optional() }),
);
const rememberedSchema = once(() =>
  z.strictObject({ cleared: z.int().min(0), flow: flowSchema() }),
);

/**
 * Remembers for each conversation what was read in it: by the first call that brought each label, in the store that processes
 * share.
 *
 * A label is there before the content is: it is written before the tool starts. While the store cannot be reached labels are
 * kept in this process and written later, whatever was cleared meanwhile, and a conversation whose labels cannot be read counts as having read everything.
 */
export class ConversationFlow {
  readonly #frame: ExecutorFrame;
  readonly #store: StateStore;
  readonly #local = new Map<string, Remembered>();
  /** Labels that the store has not heard of: no clearing was of them. */
  readonly #unwritten = new Map<string, Flow>();

  constructor(frame: ExecutorFrame, store: StateStore) {
    this.#frame = frame;
    this.#store = store;
  }

  /** Returns what was read in a conversation. @throws ToolError `STATE_UNAVAILABLE`. */
  async of(conversationId: string): Promise<Flow> {
    return (await this.#change(conversationId, (now) => now)).flow;
  }

  /** Returns what was read in a conversation, and everything where that cannot be told. */
  async assumed(conversationId: string): Promise<Flow> {
    try {
      return await this.of(conversationId);
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      const unknown: FlowCause = Object.freeze({
        toolName: 'unknown',
        callId: 'the state store cannot be reached',
        at: this.#frame.clock.now(),
        inferred: true,
      });
      const key = keyOf(conversationId);
      return Object.freeze({
        private: unknown,
        untrusted: unknown,
        ...this.#unwritten.get(key),
        ...this.#local.get(key)?.flow,
      });
    }
  }

  /** Remembers what a call is going to read. */
  async record(running: RunningCall, entry: ToolEntry, input: unknown): Promise<void> {
    const { conversationId } = running.options;
    if (conversationId === undefined) return;
    const read = Object.entries(
      flowAfter({}, { ...running.call, input }, entry, this.#frame.clock.now()),
    ) as [FlowLabel, FlowCause][];
    if (read.length === 0) return;
    const before = new Set<FlowLabel>();
    await this.#add(conversationId, Object.fromEntries(read), before);
    for (const [label, { from }] of read)
      if (!before.has(label))
        running.tell({ type: 'flow', label, ...(from !== undefined && { from }) });
  }

  /** Adds labels; those of a stored conversation only if no user has taken labels off since: what is stored may be older. */
  async add(conversationId: string, flow: Flow, isOld: boolean): Promise<void> {
    if (Object.keys(flow).length > 0) await this.#add(conversationId, flow, new Set(), isOld);
  }

  /** Takes labels off. @throws ToolError `STATE_UNAVAILABLE`, after which they may still be there. */
  async clear(conversationId: string, labels: readonly FlowLabel[]): Promise<void> {
    await this.#change(conversationId, ({ cleared, flow }) => ({
      cleared: cleared + 1,
      flow: Object.fromEntries(
        Object.entries(flow).filter(([label]) => !labels.includes(label as FlowLabel)),
      ),
    }));
  }

  async #add(
    conversationId: string,
    added: Flow,
    before: Set<FlowLabel>,
    isOld = false,
  ): Promise<void> {
    const together = (now: Remembered): Remembered => {
      const { cleared, flow } = now;
      before.clear();
      for (const label of FLOW_LABELS) if (flow[label] !== undefined) before.add(label);
      const addsNothing =
        (isOld && cleared > 0) ||
        FLOW_LABELS.every((label) => added[label] === undefined || before.has(label));
      return addsNothing ? now : { cleared, flow: { ...added, ...flow } };
    };
    try {
      await this.#change(conversationId, together);
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      const key = keyOf(conversationId);
      const unwritten = this.#unwritten.get(key);
      const next = together(joined(undefined, this.#local.get(key), unwritten));
      if (isOld) this.#keep(key, next);
      else if (unwritten === undefined && this.#unwritten.size >= MOST_UNWRITTEN) throw error;
      else this.#unwritten.set(key, Object.freeze({ ...added, ...unwritten }));
    }
  }

  /** Changes what is remembered, in the store and here: both are joined first, as each may have heard of something that the other has not. */
  async #change(
    conversationId: string,
    change: (now: Remembered) => Remembered,
  ): Promise<Remembered> {
    const key = keyOf(conversationId);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const text = await this.#store.get(key);
      const [local, unwritten] = [this.#local.get(key), this.#unwritten.get(key)];
      // Nearly always nobody else wrote, and there is nothing to be read or joined.
      const isKnown =
        unwritten === undefined &&
        (local === undefined
          ? text === undefined
          : local.text !== undefined && local.text === text);
      const before = isKnown ? (local ?? NOTHING) : joined(readRemembered(text), local, unwritten);
      const next = change(before);
      const written = isKnown && next === before ? text : textOf(next);
      const isNew = written !== (text ?? written) || (text === undefined && !isEmpty(next));
      if (
        isNew &&
        !(await this.#store.compareAndSet(key, text, written, { ttlMs: LIMITS.timerMs }))
      )
        continue;
      if (
        !isNew &&
        Object.values(next.flow).some(
          ({ at }) => Math.abs(this.#frame.clock.now() - at) > RENEWED_AFTER_MS,
        )
      )
        await this.#store.expire(key, LIMITS.timerMs);
      // Others may have come meanwhile.
      if (this.#unwritten.get(key) === unwritten) this.#unwritten.delete(key);
      return this.#keep(key, next, written);
    }
    throw new ToolError(
      'STATE_UNAVAILABLE',
      'Expected the state store to keep what a conversation has read, got other changes at each attempt. Try again.',
    );
  }

  /** @param text the text in the store that says the same. */
  #keep(key: string, next: Remembered, text?: string): Remembered {
    const local = this.#local.get(key);
    const kept = local === undefined || local === next ? next : later(next, local);
    const isStored =
      kept.cleared === next.cleared &&
      Object.keys(kept.flow).length === Object.keys(next.flow).length;
    this.#local.delete(key);
    if (!isEmpty(kept))
      this.#local.set(
        key,
        kept === local && kept.text === text
          ? kept
          : Object.freeze({
              cleared: kept.cleared,
              flow: Object.freeze({ ...kept.flow }),
              text: isStored ? text : undefined,
            }),
      );
    if (this.#local.size > MOST_REMEMBERED) this.#local.delete(this.#local.keys().next().value!);
    return this.#local.get(key) ?? NOTHING;
  }
}

function isEmpty({ cleared, flow }: Remembered): boolean {
  return cleared === 0 && Object.keys(flow).length === 0;
}

/** Returns the text in the store. Equal memories have equal texts, or two processes would go on correcting each other. */
function textOf({ cleared, flow }: Remembered): string {
  return canonicalJson({ cleared, flow });
}

function keyOf(conversationId: string): string {
  return `flow:${digestOf(conversationId)}`;
}

/**
 * Joins what is stored with what this process remembers: what it could not write counts in any case. A store that has heard of fewer
 * clearings has lost some of what it knew, and what others wrote there since is joined too.
 */
function joined(
  stored: Remembered | undefined,
  local: Remembered = NOTHING,
  unwritten: Flow = {},
): Remembered {
  const { cleared, flow } =
    stored === undefined
      ? local
      : stored.cleared < local.cleared
        ? { cleared: local.cleared, flow: { ...stored.flow, ...local.flow } }
        : later(stored, local);
  return { cleared, flow: { ...unwritten, ...flow } };
}

/** Returns the memory that has heard of more clearings; both together where they have heard of as many. */
function later(one: Remembered, other: Remembered): Remembered {
  if (one.cleared !== other.cleared) return one.cleared > other.cleared ? one : other;
  return { cleared: one.cleared, flow: { ...other.flow, ...one.flow } };
}

/** Reads what is stored. What cannot be read was changed by others: everything was read. */
function readRemembered(text: string | undefined): Remembered | undefined {
  if (text === undefined) return undefined;
  try {
    return rememberedSchema().parse(JSON.parse(text)) as Remembered;
  } catch {
    const unknown: FlowCause = {
      toolName: 'unknown',
      callId: 'what was stored cannot be read',
      at: 0,
      inferred: true,
    };
    return { cleared: 0, flow: { private: unknown, untrusted: unknown } };
  }
}
