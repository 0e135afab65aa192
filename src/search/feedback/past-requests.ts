import { compareText } from '../../core/plain-data.js';
import { FEEDBACK } from './parameters.js';

export type UseOutcome = 'success' | 'failure';

/** A request that was made, as the stems that tell what it is about, and the tools that served it or did not. */
export interface PastRequest {
  readonly stems: readonly string[];
  /** Tool name → how much its uses speak for it, or, below zero, against it. */
  readonly tools: Map<string, number>;
  /** The number of its last use. */
  at: number;
  /** Its place while it is kept. */
  readonly slot: number;
}

const NONE: readonly number[] = [];

/** A bounded number of past requests, found by their stems. The same stems are the same request. */
export class PastRequests {
  /** In the order of their last use. */
  #byKey = new Map<string, PastRequest>();
  readonly #slots: (PastRequest | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #withStem = new Map<string, number[]>();
  #uses = 0;

  get size(): number {
    return this.#byKey.size;
  }

  /** How many uses there were; the number of the last one. */
  get uses(): number {
    return this.#uses;
  }

  /** Slots are numbers below this. */
  get slotCount(): number {
    return this.#slots.length;
  }

  [Symbol.iterator](): IterableIterator<PastRequest> {
    return this.#byKey.values();
  }

  inSlot(slot: number): PastRequest {
    return this.#slots[slot]!;
  }

  /** The slots of the requests that have a stem. */
  slotsWith(stem: string): readonly number[] {
    return this.#withStem.get(stem) ?? NONE;
  }

  /** Counts one use; stems are sorted and distinct. */
  record(stems: readonly string[], toolName: string, outcome: UseOutcome): void {
    this.#uses += 1;
    const key = keyOf(stems);
    const request = this.#byKey.get(key) ?? this.#add(key, stems, this.#uses);
    request.at = this.#uses;
    this.#byKey.delete(key);
    this.#byKey.set(key, request);
    const before = request.tools.get(toolName) ?? 0;
    // What served before fades when something else serves now.
    if (outcome === 'success') for (const [other, strength] of request.tools) request.tools.set(other, rounded(strength * FEEDBACK.repetition));
    request.tools.set(toolName, rounded(before * FEEDBACK.repetition + (outcome === 'success' ? 1 : -FEEDBACK.failure)));
    keepStrongest(request.tools, toolName);
    this.#dropOldest();
  }

  /** Takes in the requests of another history; `age` is the number of its uses since the last one of the request. */
  merge(others: Iterable<{ readonly stems: readonly string[]; readonly age: number; readonly tools: Iterable<readonly [string, number]> }>, uses: number): void {
    const later = uses - this.#uses;
    if (later > 0) for (const request of this.#byKey.values()) request.at += later;
    this.#uses = Math.max(this.#uses, uses);
    for (const { stems, age, tools } of others) {
      const key = keyOf(stems);
      const at = this.#uses - age;
      const request = this.#byKey.get(key) ?? this.#add(key, stems, at);
      request.at = Math.max(request.at, at);
      for (const [name, strength] of tools) request.tools.set(name, stronger(strength, request.tools.get(name) ?? 0));
      keepStrongest(request.tools);
    }
    this.#byKey = new Map([...this.#byKey].sort(([a, one], [b, other]) => one.at - other.at || compareText(a, b)));
    this.#dropOldest();
  }

  clear(): void {
    this.#byKey.clear();
    this.#slots.length = 0;
    this.#free.length = 0;
    this.#withStem.clear();
    this.#uses = 0;
  }

  #add(key: string, stems: readonly string[], at: number): PastRequest {
    const slot = this.#free.pop() ?? this.#slots.length;
    const request: PastRequest = { stems, tools: new Map(), at, slot };
    this.#slots[slot] = request;
    this.#byKey.set(key, request);
    for (const stem of stems) {
      const slots = this.#withStem.get(stem);
      if (slots === undefined) this.#withStem.set(stem, [slot]);
      else slots.push(slot);
    }
    return request;
  }

  #dropOldest(): void {
    for (const [key, request] of this.#byKey) {
      if (this.#byKey.size <= FEEDBACK.capacity) return;
      this.#byKey.delete(key);
      this.#slots[request.slot] = undefined;
      this.#free.push(request.slot);
      for (const stem of request.stems) {
        const slots = this.#withStem.get(stem)!;
        slots[slots.indexOf(request.slot)] = slots.at(-1)!;
        slots.pop();
        if (slots.length === 0) this.#withStem.delete(stem);
      }
    }
  }
}

function keyOf(stems: readonly string[]): string {
  return stems.join(' ');
}

/** The stronger vote, and of two equally strong the one against: the same whichever comes first, and however often. */
function stronger(a: number, b: number): number {
  return Math.abs(a) === Math.abs(b) ? Math.min(a, b) : Math.abs(a) > Math.abs(b) ? a : b;
}

/** Bounds the tools of a request; `newest` is kept however weak. */
function keepStrongest(tools: Map<string, number>, newest?: string): void {
  if (tools.size <= FEEDBACK.mostTools) return;
  const ranked = [...tools].sort(([a, one], [b, other]) => Number(b === newest) - Number(a === newest) || Math.abs(other) - Math.abs(one) || compareText(a, b));
  for (const [name] of ranked.slice(FEEDBACK.mostTools)) tools.delete(name);
}

/** Kept short in exports. */
function rounded(strength: number): number {
  return Math.round(strength * 1_000) / 1_000;
}
