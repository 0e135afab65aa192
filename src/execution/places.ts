import type { Clock } from '../core/clock.js';
import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { onAbort } from '../core/listeners.js';
import { canonicalJson } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { aborted, withDeadline } from './with-deadline.js';

/** A call that was answered while its work still ran, and whose work has not ended since. */
export type AbandonedCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** The time of its answer, in milliseconds since 1970. */
  readonly since: number;
};

/** The limits of the calls that run at the same time. */
interface PlaceLimits {
  readonly clock: Clock;
  readonly maxConcurrent: number;
  readonly maxConcurrentPerTool?: number | undefined;
  readonly timeoutMs: number;
  /** Milliseconds that work may take to end after its call was answered: it was told to by its signal. */
  readonly graceMs: number;
  /** The number of such calls that give their places back, from which on no call is started. */
  readonly maxAbandoned: number;
}

/** The place of a running call: one among all calls, and one among those of its tool. */
interface Place {
  readonly leaveAll: () => void;
  readonly leaveTool: () => void;
}

interface LeftCall {
  readonly call: AbandonedCall;
  readonly end: () => void;
}

/**
 * Gives calls their places, in all and of each tool, and keeps the calls whose handlers go on after the answer: they cannot be
 * stopped, only counted.
 *
 * At first the places of such calls are given back to other tools. After the grace the call is abandoned: calls of a tool that
 * writes, or that does not run beside itself, are refused until the work ends or the call is released.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #all = new Room();
  readonly #tools = new Map<string, Room>();
  readonly #left = new Set<LeftCall>();
  /** Calls whose grace is over, the longest first. */
  readonly #overdue = new Set<LeftCall>();
  readonly #watchers = new Set<() => void>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Returns a place if there is one now. */
  tryEnter(entry: ToolEntry): Place | undefined {
    const tool = this.#roomOf(entry.name);
    if (!tool.tryTake(this.#limitOf(entry))) return undefined;
    if (this.#all.tryTake(this.#limits.maxConcurrent)) return this.#placeIn(entry.name, tool);
    this.#leave(entry.name, tool);
    return undefined;
  }

  /** Waits for a place. @throws ToolError `TIMEOUT`, `ABORTED`, or `ABANDONED_RUNNING` as `assertIdle` does. */
  async enter(entry: ToolEntry, signal: AbortSignal | undefined): Promise<Place> {
    const { name, timeoutMs = this.#limits.timeoutMs } = entry;
    const enter = async (stop: AbortSignal) => {
      const waiting = new AbortController();
      const watcher = () => this.#refusalOf(entry) && waiting.abort();
      this.#watchers.add(watcher);
      const stopListening = onAbort(stop, () => waiting.abort());
      const place = await this.#wait(entry, waiting.signal);
      stopListening();
      this.#watchers.delete(watcher);
      if (!waiting.signal.aborted && place !== undefined) return place;
      // The place came in the same moment in which the wait was over.
      place?.leaveAll();
      place?.leaveTool();
      if (!stop.aborted) this.assertIdle(entry);
      return undefined;
    };
    const waited = await withDeadline(enter, { clock: this.#limits.clock, timeoutMs, signal });
    if (waited.kind === 'returned' && waited.value !== undefined) return waited.value;
    if (waited.kind === 'threw') throw waited.error;
    if (waited.kind !== 'timeout') throw aborted(name);
    throw new ToolError(
      'TIMEOUT',
      `Expected ${name} to get its turn within ${timeoutMs} ms, got other calls that still run. Try again later.`,
      { details: { timeoutMs } },
    );
  }

  /** Takes over the place of a call that was answered while its work runs. @returns the function to be called when the work has ended. */
  keep(
    whose: Omit<AbandonedCall, 'toolName' | 'since'>,
    { name: toolName, allowParallel }: ToolEntry,
    place: Place,
    onAbandoned: () => void,
  ): () => void {
    const { clock, graceMs, maxAbandoned } = this.#limits;
    const keepsAll = this.#left.size >= maxAbandoned;
    const keepsTool = keepsAll || allowParallel !== true;
    if (!keepsAll) place.leaveAll();
    if (!keepsTool) place.leaveTool();
    const cancel = clock.after(
      graceMs,
      () => {
        this.#overdue.add(left);
        onAbandoned();
        for (const watcher of [...this.#watchers]) watcher();
      },
      { background: true },
    );
    const end = () => {
      if (!this.#left.delete(left)) return;
      this.#overdue.delete(left);
      cancel();
      if (keepsAll) place.leaveAll();
      if (keepsTool) place.leaveTool();
    };
    const left: LeftCall = { call: Object.freeze({ ...whose, toolName, since: clock.now() }), end };
    this.#left.add(left);
    return end;
  }

  /** Returns the abandoned calls, the longest first. */
  abandoned(): readonly AbandonedCall[] {
    return Object.freeze([...this.#overdue].map(({ call }) => call));
  }

  /**
   * Lets other calls run as if the work of an abandoned call had ended. @returns whether there was such a call.
   *
   * @throws ToolError `INVALID_ARGUMENT` for an id that several calls have.
   */
  release(released: string | AbandonedCall): boolean {
    const isMeant =
      typeof released === 'string'
        ? ({ callId }: AbandonedCall) => callId === released
        : (call: AbandonedCall) => canonicalJson(call) === canonicalJson(released);
    const [first, ...others] = [...this.#overdue].filter(({ call }) => isMeant(call));
    if (typeof released === 'string' && others.length > 0)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          'the id of one abandoned call',
          `one that ${others.length + 1} have`,
          'Give the call, as executor.abandoned() lists it.',
        ),
      );
    first?.end();
    return first !== undefined;
  }

  /** @throws ToolError `ABANDONED_RUNNING` when abandoned calls forbid that one of this tool is started. */
  assertIdle(entry: ToolEntry): void {
    const refusal = this.#refusalOf(entry);
    if (refusal !== undefined) throw refusal;
  }

  #refusalOf({ name, allowParallel, accessMode }: ToolEntry): ToolError | undefined {
    const [first] = this.#overdue;
    if (first === undefined) return undefined;
    const same =
      allowParallel !== true || isWriting(accessMode)
        ? [...this.#overdue].find(({ call }) => call.toolName === name)?.call
        : undefined;
    if (same !== undefined) {
      return abandonedRunning(
        `Expected ${name} to be idle, got the call ${JSON.stringify(same.callId)}, which was given up and still runs. Wait until it ends, or have it released.`,
        same,
      );
    }
    const [{ maxAbandoned }, { size }, { callId, toolName }] = [
      this.#limits,
      this.#overdue,
      first.call,
    ];
    if (size < maxAbandoned) return undefined;
    return abandonedRunning(
      `Expected less than ${maxAbandoned} calls that were given up and still run, got ${size}, among them ${JSON.stringify(callId)} of ${toolName}. Wait until they end, or have them released.`,
      first.call,
    );
  }

  /** Waits for the tool's own place first, so that calls that wait for their tool hold up no other tool. */
  async #wait(entry: ToolEntry, signal: AbortSignal): Promise<Place | undefined> {
    const tool = this.#roomOf(entry.name);
    if (!(await tool.take(this.#limitOf(entry), signal))) {
      this.#forgetIfEmpty(entry.name, tool);
      return undefined;
    }
    if (await this.#all.take(this.#limits.maxConcurrent, signal))
      return this.#placeIn(entry.name, tool);
    this.#leave(entry.name, tool);
    return undefined;
  }

  #limitOf({ allowParallel }: ToolEntry): number {
    return allowParallel === true
      ? (this.#limits.maxConcurrentPerTool ?? this.#limits.maxConcurrent)
      : 1;
  }

  #roomOf(toolName: string): Room {
    const room = this.#tools.get(toolName) ?? new Room();
    this.#tools.set(toolName, room);
    return room;
  }

  #placeIn(toolName: string, tool: Room): Place {
    return { leaveAll: () => this.#all.giveBack(), leaveTool: () => this.#leave(toolName, tool) };
  }

  #leave(toolName: string, tool: Room): void {
    tool.giveBack();
    this.#forgetIfEmpty(toolName, tool);
  }

  #forgetIfEmpty(toolName: string, tool: Room): void {
    if (tool.isEmpty && this.#tools.get(toolName) === tool) this.#tools.delete(toolName);
  }
}

/** Counts who is in; who comes when it is full waits, first come, first served. */
class Room {
  #taken = 0;
  readonly #queue = new Set<{ readonly limit: number; readonly enter: () => void }>();

  get isEmpty(): boolean {
    return this.#taken === 0 && this.#queue.size === 0;
  }

  /** Takes a place below the limit. @returns false if there is none. */
  tryTake(limit: number): boolean {
    if (this.#taken >= limit || this.#queue.size > 0) return false;
    this.#taken++;
    return true;
  }

  /** Waits for a place. @returns false if the signal fires before. */
  async take(limit: number, signal: AbortSignal): Promise<boolean> {
    if (this.tryTake(limit)) return true;
    if (signal.aborted) return false;
    return new Promise((resolve) => {
      const stopListening = onAbort(signal, () => {
        this.#queue.delete(waiting);
        resolve(false);
        this.#admit(); // Those behind may have been held up by this one's lower limit.
      });
      const enter = () => {
        stopListening();
        resolve(true);
      };
      const waiting = { limit, enter };
      this.#queue.add(waiting);
    });
  }

  giveBack(): void {
    this.#taken--;
    this.#admit();
  }

  #admit(): void {
    for (const next of this.#queue) {
      if (this.#taken >= next.limit) return;
      this.#queue.delete(next);
      this.#taken++;
      next.enter();
    }
  }
}

function abandonedRunning(message: string, { callId, toolName }: AbandonedCall): ToolError {
  return new ToolError('ABANDONED_RUNNING', message, { details: { callId, toolName } });
}
