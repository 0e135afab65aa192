import { z } from 'zod';
import type { Issue } from '../core/errors.js';
import { refusal, toIssues } from '../core/issues.js';
import { once, wholeBetween, type FieldsOf } from '../core/options.js';
import { cloneFrozen, compareText } from '../core/plain-data.js';

/** The lessons of past use, as plain data. */
export interface UsageData {
  readonly version: 1;
  /** The number of uses. */
  readonly uses: number;
  /** The past requests; the one whose last use is oldest comes first. */
  readonly requests: readonly {
    /** The stems of its words, sorted, without values and small talk. */
    readonly stems: readonly string[];
    /** The number of uses of any tool since its last one. */
    readonly age: number;
    /** Tool names, each with how much its uses speak for it, or, below zero, against it. */
    readonly tools: readonly (readonly [toolName: string, strength: number])[];
  }[];
}

type UsageRequest = UsageData['requests'][number];

/** The usage that a registry has learnt. */
export interface Usage {
  /** The number of past requests that are remembered. */
  readonly size: number;
  /** Returns everything that was learnt, as plain data for JSON. */
  export(): UsageData;
  /**
   * Learns what another registry, or this one earlier, had exported; all or nothing.
   *
   * The stronger of two votes for one tool on the same request counts, so the order of merges does not matter (unless
   * more requests come together than are kept), and merging the same twice changes nothing.
   *
   * @throws ToolError `INVALID_ARGUMENT` with `details.issues` when the data is not what `export` gave.
   */
  merge(data: UsageData): void;
  /** Forgets everything. */
  clear(): void;
}

/** A request that was made, as the stems that tell what it is about, and the tools that served it or did not. */
export interface PastRequest {
  /** Sorted and distinct. */
  readonly stems: readonly string[];
  /** Tool name → how much its uses speak for it, or, below zero, against it. */
  readonly tools: Map<string, number>;
  /** The number of its last use. */
  at: number;
  /** Sums of the votes, kept here to be quick: see `votes.ts`. */
  readonly tally: {
    common: number;
    stems: number;
    known: number;
    weight: number;
    weighedFor: object | undefined;
  };
}

/** The bounds of what is kept, and the weight of a use. Chosen together with the numbers of the votes; see `votes.ts`. */
export const USAGE = {
  /** Past requests that are kept; the one whose last use is oldest goes first. */
  capacity: 10_000,
  /** Stems of a request that are kept and looked up. Honest requests have about ten, long ones thirty. */
  mostStems: 64,
  /** Longer ones are no words. */
  longestStem: 64,
  /** Tools that one past request may speak for or against. */
  mostTools: 32,
  /** The share that a past request keeps with each later use of the same request: repeating one is worth at most 1 / (1 − this) uses. */
  repetition: 0.9,
  /** A failure says less against a tool than a success says for it: often the arguments were wrong and not the tool. */
  failure: 0.5,
} as const;

const NONE: ReadonlySet<never> = new Set<never>();

/** A bounded number of past requests, found by their stems. The same stems are the same request. */
export class UsageHistory implements Usage {
  /** The past requests by their stems, in the order of their last use. */
  #requests = new Map<string, PastRequest>();
  readonly #having = new Map<string, Set<PastRequest>>();
  #uses = 0;

  get size(): number {
    return this.#requests.size;
  }

  /** The past requests that have a stem. */
  having(stem: string): ReadonlySet<PastRequest> {
    return this.#having.get(stem) ?? NONE;
  }

  /** Remembers one use for the stems of a request; one without stems says nothing and is not remembered. */
  record(asked: readonly string[], toolName: string, outcome: 'success' | 'failure'): void {
    if (asked.length === 0) return;
    const request = this.#request([...asked].sort());
    request.at = this.#uses += 1;
    this.#requests.delete(keyOf(request));
    this.#requests.set(keyOf(request), request);
    const before = request.tools.get(toolName) ?? 0;
    // What served before fades when something else serves now.
    if (outcome === 'success')
      for (const [other, strength] of request.tools)
        request.tools.set(other, rounded(strength * USAGE.repetition));
    request.tools.set(
      toolName,
      rounded(before * USAGE.repetition + (outcome === 'success' ? 1 : -USAGE.failure)),
    );
    keepStrongest(request.tools, toolName);
    this.#dropOldest();
  }

  export(): UsageData {
    const requests = Array.from(this.#requests.values(), ({ stems, tools, at }) => ({
      stems,
      age: this.#uses - at,
      tools: [...tools].sort(([a], [b]) => compareText(a, b)),
    }));
    return cloneFrozen({ version: 1, uses: this.#uses, requests });
  }

  merge(data: UsageData): void {
    const { requests, uses } = checked(data);
    const later = uses - this.#uses;
    if (later > 0) for (const request of this.#requests.values()) request.at += later;
    this.#uses = Math.max(this.#uses, uses);
    for (const { stems, age, tools } of requests) {
      const request = this.#request(stems);
      request.at = Math.max(request.at, this.#uses - age);
      for (const [name, strength] of tools)
        request.tools.set(name, stronger(strength, request.tools.get(name) ?? 0));
      keepStrongest(request.tools);
    }
    this.#requests = new Map(
      [...this.#requests].sort(([a, one], [b, other]) => one.at - other.at || compareText(a, b)),
    );
    this.#dropOldest();
  }

  clear(): void {
    this.#requests.clear();
    this.#having.clear();
    this.#uses = 0;
  }

  #request(stems: readonly string[]): PastRequest {
    const known = this.#requests.get(keyOf({ stems }));
    if (known !== undefined) return known;
    const request: PastRequest = {
      stems,
      tools: new Map(),
      at: 0,
      tally: { common: 0, stems: 0, known: 0, weight: 0, weighedFor: undefined },
    };
    this.#requests.set(keyOf(request), request);
    for (const stem of stems) {
      const having = this.#having.get(stem);
      if (having === undefined) this.#having.set(stem, new Set([request]));
      else having.add(request);
    }
    return request;
  }

  #dropOldest(): void {
    for (const [key, request] of this.#requests) {
      if (this.#requests.size <= USAGE.capacity) return;
      this.#requests.delete(key);
      for (const stem of request.stems) {
        const having = this.#having.get(stem)!;
        having.delete(request);
        if (having.size === 0) this.#having.delete(stem);
      }
    }
  }
}

function keyOf({ stems }: Pick<PastRequest, 'stems'>): string {
  return stems.join(' ');
}

/** Returns the stronger vote, and of two equally strong the one against: the same whichever comes first, and however often. */
function stronger(a: number, b: number): number {
  return Math.abs(a) === Math.abs(b) ? Math.min(a, b) : Math.abs(a) > Math.abs(b) ? a : b;
}

/** Bounds the tools of a request; `newest` is kept however weak. */
function keepStrongest(tools: Map<string, number>, newest?: string): void {
  if (tools.size <= USAGE.mostTools) return;
  const ranked = [...tools].sort(
    ([a, one], [b, other]) =>
      Number(b === newest) - Number(a === newest) ||
      Math.abs(other) - Math.abs(one) ||
      compareText(a, b),
  );
  for (const [name] of ranked.slice(USAGE.mostTools)) tools.delete(name);
}

/** Rounds a strength, to be short in exports. */
function rounded(strength: number): number {
  return Math.round(strength * 1_000) / 1_000;
}

/** The strength that a tool approaches which always serves the same request. */
const STRONGEST = 1 / (1 - USAGE.repetition);
const LONGEST_NAME = 128;
const MOST_ISSUES = 10;

const vote = () =>
  z.custom<UsageRequest['tools'][number]>(
    isVote,
    `[a tool's name, a number from -${STRONGEST} to ${STRONGEST}]`,
  );
const pastRequest = () =>
  z.strictObject({
    stems: z.custom<readonly string[]>(isStems, `1 to ${USAGE.mostStems} sorted, distinct words`),
    age: wholeBetween(0),
    tools: z
      .array(vote())
      .min(1)
      .max(USAGE.mostTools)
      .refine(
        (votes) => new Set(votes.map(([name]) => name)).size === votes.length,
        'each tool once',
      ),
  } satisfies FieldsOf<UsageRequest>);
const usageData = once(() =>
  z
    .strictObject({
      version: z.literal(1),
      uses: wholeBetween(0),
      requests: z.array(pastRequest()).max(USAGE.capacity),
    } satisfies FieldsOf<UsageData>)
    .superRefine(({ uses, requests }, context) => {
      for (const [place, { age }] of requests.entries())
        if (age >= Math.max(1, uses))
          context.addIssue({
            code: 'custom',
            path: ['requests', place, 'age'],
            message: 'a whole number below that of all uses',
          });
    }),
);

function checked(data: unknown): UsageData {
  const refused = (issues: readonly Issue[]) =>
    refusal('The usage data are refused, nothing was merged', issues.slice(0, MOST_ISSUES));
  let copy: unknown;
  try {
    copy = cloneFrozen(data);
  } catch (error) {
    throw refused([
      {
        path: [],
        message: `Expected what usage.export() gave: ${error instanceof TypeError ? error.message : 'plain data'}.`,
      },
    ]);
  }
  const parsed = usageData().safeParse(copy);
  if (!parsed.success) throw refused(toIssues(parsed.error, copy));
  return parsed.data;
}

function isVote(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, strength] = value as readonly unknown[];
  return (
    typeof name === 'string' &&
    name !== '' &&
    name.length <= LONGEST_NAME &&
    typeof strength === 'number' &&
    Math.abs(strength) <= STRONGEST + 0.001
  );
}

/** Wants stems sorted: another order would be another request to the history. */
function isStems(value: unknown): boolean {
  const isStem = (stem: unknown) =>
    typeof stem === 'string' &&
    stem !== '' &&
    stem.length <= USAGE.longestStem &&
    !/\s/u.test(stem);
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= USAGE.mostStems &&
    value.every((stem: string, place) => isStem(stem) && (place === 0 || value[place - 1] < stem))
  );
}
