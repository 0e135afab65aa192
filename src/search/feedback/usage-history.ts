import { ToolError, type Issue } from '../../core/errors.js';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Request } from '../ranking/request.js';
import { FEEDBACK } from './parameters.js';
import { PastRequests, type UseOutcome } from './past-requests.js';
import { tellingStems, VoteCounter, type Catalogue, type Vote } from './votes.js';

/** A past request in an export. */
export interface UsageRequest {
  /** What it was about: the stems of its words, sorted, without values and small talk. */
  readonly stems: readonly string[];
  /** How many uses of any tool came after its last one. */
  readonly age: number;
  /** Tool names, each with how much its uses speak for it, or, below zero, against it. */
  readonly tools: readonly (readonly [toolName: string, strength: number])[];
}

/** What was learnt from use, as plain data. */
export interface UsageData {
  readonly version: 1;
  /** How many uses there were. */
  readonly uses: number;
  /** The request whose last use is oldest first. */
  readonly requests: readonly UsageRequest[];
}

/** What a registry learnt from use. */
export interface Usage {
  /** How many past requests are remembered. */
  readonly size: number;
  /** Everything that was learnt, as plain data for JSON. */
  export(): UsageData;
  /**
   * Learns what another registry, or this one earlier, had exported; all or nothing.
   *
   * Of two votes for one tool on the same request the stronger counts, so the order of merges does not matter (unless
   * more requests come together than are kept), and merging the same twice changes nothing.
   *
   * @throws ToolError `INVALID_ARGUMENT` with `details.issues` when the data is not what `export` gave.
   */
  merge(data: UsageData): void;
  /** Forgets everything. */
  clear(): void;
}

/** Remembers which tools served which requests, and lets them vote on similar ones. */
export class UsageHistory implements Usage {
  readonly #past = new PastRequests();
  readonly #counter = new VoteCounter(this.#past);

  get size(): number {
    return this.#past.size;
  }

  /** Remembers one use. A request that says nothing but small talk and values is not remembered. */
  record(request: Request, toolName: string, outcome: UseOutcome): void {
    const stems = tellingStems(request);
    if (stems.length > 0) this.#past.record([...stems].sort(), toolName, outcome);
  }

  /** The votes on a request, by tool name. */
  votesOn(request: Request, catalogue: Catalogue): ReadonlyMap<string, Vote> {
    return this.#past.size === 0 ? NO_VOTES : this.#counter.count(request, catalogue);
  }

  export(): UsageData {
    const requests = [...this.#past].map(({ stems, tools, at }) => ({ stems, age: this.#past.uses - at, tools: [...tools].sort(([a], [b]) => (a < b ? -1 : 1)) }));
    return cloneFrozen({ version: 1, uses: this.#past.uses, requests });
  }

  merge(data: UsageData): void {
    const { requests, uses } = checked(data);
    this.#past.merge(requests, uses);
  }

  clear(): void {
    this.#past.clear();
  }
}

const NO_VOTES: ReadonlyMap<string, Vote> = new Map();
/** The strength that a tool approaches which always serves the same request. */
const STRONGEST = 1 / (1 - FEEDBACK.repetition);
const LONGEST_NAME = 128;
const MOST_ISSUES = 10;
const SPACE = /\s/u;

function checked(data: unknown): UsageData {
  let copy: unknown;
  try {
    copy = cloneFrozen(data);
  } catch (error) {
    throw refusal([{ path: [], message: `Expected what usage.export() gave: ${error instanceof TypeError ? error.message : 'plain data'}` }]);
  }
  const issues: Issue[] = [];
  const expect = (condition: boolean, path: Issue['path'], expected: string, found: unknown): void => {
    if (!condition && issues.length < MOST_ISSUES) issues.push({ path, message: `Expected ${expected}, found ${describeValue(found)}` });
  };
  if (!isPlainObject(copy)) throw refusal([{ path: [], message: `Expected what usage.export() gave, found ${describeValue(copy)}` }]);
  expect(hasOnly(copy, ['version', 'uses', 'requests']), [], 'only version, uses and requests', Object.keys(copy).join(', '));
  expect(copy['version'] === 1, ['version'], 'version 1', copy['version']);
  expect(isCount(copy['uses']), ['uses'], 'a whole number from 0 on', copy['uses']);
  const { requests } = copy;
  if (!Array.isArray(requests) || requests.length > FEEDBACK.capacity) expect(false, ['requests'], `a list of at most ${FEEDBACK.capacity}`, requests);
  else for (const [place, request] of (requests as unknown[]).entries()) checkRequest(request, ['requests', place], copy['uses'], expect);
  if (issues.length > 0) throw refusal(issues);
  return copy as unknown as UsageData;
}

type Expect = (condition: boolean, path: Issue['path'], expected: string, found: unknown) => void;

function checkRequest(request: unknown, path: Issue['path'], uses: unknown, expect: Expect): void {
  if (!isPlainObject(request) || !hasOnly(request, ['stems', 'age', 'tools'])) return expect(false, path, 'an object of stems, age and tools', request);
  const { stems, age, tools } = request;
  expect(isCount(age) && age < Math.max(1, Number(uses)), [...path, 'age'], 'a whole number below that of all uses', age);
  expect(isList(stems, FEEDBACK.mostStems) && stems.every(isStem) && isSortedSet(stems), [...path, 'stems'], `1 to ${FEEDBACK.mostStems} sorted, distinct words`, stems);
  if (!isList(tools, FEEDBACK.mostTools)) return expect(false, [...path, 'tools'], `a list of 1 to ${FEEDBACK.mostTools}`, tools);
  for (const [place, vote] of tools.entries()) expect(isVote(vote), [...path, 'tools', place], `[a tool's name, a number from -${STRONGEST} to ${STRONGEST}]`, vote);
  const names = new Set(tools.map((vote) => (Array.isArray(vote) ? (vote[0] as unknown) : undefined)));
  expect(names.size === tools.length, [...path, 'tools'], 'each tool once', tools);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isList(value: unknown, most: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= most;
}

function isStem(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= FEEDBACK.longestStem && !SPACE.test(value);
}

/** Another order would be another request to `PastRequests`. */
function isSortedSet(stems: readonly string[]): boolean {
  return stems.every((stem, place) => place === 0 || stems[place - 1]! < stem);
}

function isVote(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, strength] = value as readonly unknown[];
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && typeof strength === 'number' && Math.abs(strength) <= STRONGEST + 0.001;
}

function hasOnly(value: Readonly<Record<string, unknown>>, keys: readonly string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}

function refusal(issues: readonly Issue[]): ToolError {
  const [first] = issues;
  return new ToolError('INVALID_ARGUMENT', `${first!.path.length > 0 ? `usage data, ${first!.path.join('.')}: ` : ''}${first!.message}. Nothing was merged`, { details: { issues } });
}
