import type { AuthStatusWire, CompatibilityWire, JobWire, SkillWire, ToolHealthWire } from '../../capability/wire-types.js';
import type { RequiredFlags } from '../../safety/required-flags.js';
import { fieldsOn, type FieldOn, type FieldTarget, type TOOL_FIELDS } from '../../tool/tool-fields.js';

/**
 * The answers of the HTTP interface, as far as the page shows them.
 *
 * All content comes from authors of manifests: it is shown as text and never as markup.
 */

type Texts = readonly string[];
/** The kinds of values that are not a text, or can be missing. */
interface KindsOnWire {
  readonly owner: string | null;
  readonly version: string | null;
  readonly text: string | null;
  readonly sentence: string | null;
  readonly label: string | null;
  readonly safetyLevel: string | null;
  readonly sideEffects: Texts | string | null;
  readonly personas: Texts | null;
  readonly labels: Texts;
  readonly names: Texts;
  readonly words: Texts;
  readonly tags: Texts;
  readonly requests: Texts;
  readonly axes: Texts;
  readonly flag: boolean;
  readonly function: boolean;
  readonly wholeSeconds: number | null;
  readonly seconds: number | null;
  readonly amount: number | null;
  readonly idempotency: unknown;
  readonly input: unknown;
  readonly flags: RequiredFlags | null;
  readonly auth: unknown;
  readonly authStatus: AuthStatusWire;
  readonly compatibility: CompatibilityWire;
  readonly providers: readonly { readonly name: string; readonly priority: number }[];
  readonly health: ToolHealthWire;
}

type Fields = typeof TOOL_FIELDS;
type FieldsOn<Target extends FieldTarget> = {
  readonly [Name in FieldOn<Target> as Fields[Name]['wire']]: Fields[Name]['kind'] extends keyof KindsOnWire ? KindsOnWire[Fields[Name]['kind']] : string;
};

/** A tool in a list. */
export type WireTool = FieldsOn<'row'>;
/** A tool with all its fields. */
export type WireToolDetail = FieldsOn<'list' | 'detail'>;

/** The best tools for a request, with their number. */
export interface WireSearch {
  readonly results: readonly WireHit[];
  /** The tools that have a word of the request and pass the filters. */
  readonly total: number;
  /** The tools that were searched. */
  readonly searched: number;
  /** The number of tools that each value of each axis would leave. */
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A tool that fits a request, and why. */
export interface WireHit {
  readonly name: string;
  readonly persona: string | null;
  readonly score: number;
  readonly matches: readonly { readonly word: string; readonly fields: readonly string[]; readonly related: boolean }[];
  readonly corrections: readonly { readonly word: string; readonly read_as: string }[];
}

export type WireSkill = Omit<SkillWire, 'compatibility'> & {
  readonly summary: string | null;
  readonly category: string | null;
  readonly instruction_prompt: string;
  readonly safety_notes: string;
};

export type WireJob = Omit<JobWire, 'compatibility'>;

/** A page of the findings, the worst first. */
export interface WireFindings {
  readonly findings: readonly WireFinding[];
  /** The number of findings on all pages, and of each severity. */
  readonly total: number;
  readonly severities: Readonly<Record<string, number>>;
  /** The address of the next page; `null` on the last. */
  readonly next: string | null;
}

/** A finding: something to fix in a manifest, or in a tool's metadata. */
export interface WireFinding {
  readonly severity: string;
  /** The rule of lint, or the kind of a manifest's problem. */
  readonly rule?: string;
  readonly kind?: string;
  readonly name?: string | null;
  readonly persona?: string | null;
  readonly source?: string | null;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly path?: string | null;
  readonly message: string;
}

/** The fields of `WireTool` that are requested. */
const ROW_FIELDS = fieldsOn('row').map(([, { wire }]) => wire);

/** Items that are requested at once: the most that the interface gives. */
const PAGE_SIZE = 200;
/** Hits of a search that are shown. Users who do not find their tool among these ask otherwise. */
const MOST_HITS = 200;

/**
 * A page of a list. Only the query of `next` is used: the next page comes from this list, wherever the server believes
 * it stands.
 */
type ListPage<List extends string, Item> = { readonly total: number; readonly revision: number; readonly next: string | null } & { readonly [Name in List]: readonly Item[] };

/** A whole list, and the revision of its first page. */
export interface WholeList<Item> {
  readonly items: readonly Item[];
  readonly revision: number;
}

/** A refusal of the interface, or its silence; the message is for users. */
export class ApiError extends Error {
  /** The status; 0 if there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The HTTP interface next to this page. Addresses are relative, so that the page works under any path. */
export class Api {
  readonly #fetch: typeof fetch;
  readonly #token: () => string | null;

  constructor(fetchOf: typeof fetch, token: () => string | null) {
    this.#fetch = fetchOf;
    this.#token = token;
  }

  tools(onPage: (tools: readonly WireTool[], total: number) => void): Promise<WholeList<WireTool>> {
    return this.#all<WireTool, 'tools'>('tools', { fields: ROW_FIELDS.join(',') }, onPage);
  }

  tool(name: string, persona: string | null, signal: AbortSignal): Promise<WireToolDetail> {
    const query = persona === null ? '' : `?${new URLSearchParams({ persona }).toString()}`;
    return this.#json(`tools/${encodeURIComponent(name)}${query}`, signal);
  }

  /** Searches. @param parameters the request and the filters, by the names of the interface. */
  search(parameters: URLSearchParams, signal: AbortSignal): Promise<WireSearch> {
    const whole = new URLSearchParams([...parameters, ['limit', String(MOST_HITS)], ['facets', 'true']]);
    return this.#json(`search?${whole.toString()}`, signal);
  }

  async skills(): Promise<readonly WireSkill[]> {
    return (await this.#all<WireSkill, 'skills'>('skills')).items;
  }

  async jobs(): Promise<readonly WireJob[]> {
    return (await this.#all<WireJob, 'jobs'>('jobs')).items;
  }

  /** Reads the first page of the findings, or the one after another. */
  findings(after?: WireFindings): Promise<WireFindings> {
    return this.#json(`findings${after?.next == null ? `?limit=${PAGE_SIZE}` : queryOf(after.next)}`);
  }

  /** Opens the stream of changes. `EventSource` cannot send a token, so it is read like any other answer. */
  async events(signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { body } = await this.#get('events', signal);
    if (body === null) throw new ApiError(0, 'The server sends no changes.');
    return body;
  }

  /** Reads a whole list, page after page; each is reported as it comes, so that the first items are shown at once. */
  async #all<Item, List extends string>(list: List, parameters: Readonly<Record<string, string>> = {}, onPage?: (items: readonly Item[], total: number) => void): Promise<WholeList<Item>> {
    const items: Item[] = [];
    let revision: number | undefined;
    let query: string | null = `?${new URLSearchParams({ ...parameters, limit: String(PAGE_SIZE) }).toString()}`;
    while (query !== null) {
      const page: ListPage<List, Item> = await this.#json<ListPage<List, Item>>(list + query);
      items.push(...page[list]);
      revision ??= page.revision;
      onPage?.(items, page.total);
      query = page.next === null ? null : queryOf(page.next);
    }
    return { items, revision: revision! };
  }

  async #json<T>(address: string, signal?: AbortSignal): Promise<T> {
    const response = await this.#get(address, signal);
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(response.status, `Expected JSON from ${address.split('?')[0]}, got something else.`);
    }
  }

  async #get(address: string, signal?: AbortSignal): Promise<Response> {
    const token = this.#token();
    let response: Response;
    try {
      response = await this.#fetch(address, { headers: token === null ? {} : { authorization: `Bearer ${token}` }, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, 'The server does not answer.');
    }
    if (!response.ok) throw new ApiError(response.status, await messageOf(response));
    return response;
  }
}

/** Returns the query of an address, with its question mark. */
function queryOf(address: string): string {
  return address.slice(address.indexOf('?'));
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/** Asks, and ignores the answers to earlier questions: they may come later than that of the last. */
export class Latest {
  #running: AbortController | undefined;

  /** @param onFailure is not called when a later question or `cancel` ended this one. */
  ask<T>(question: (signal: AbortSignal) => Promise<T>, onAnswer: (answer: T) => void, onFailure: (error: unknown) => void): void {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    question(running.signal).then(
      (answer) => {
        if (!running.signal.aborted) onAnswer(answer);
      },
      (error: unknown) => {
        if (!running.signal.aborted) onFailure(error);
      },
    );
  }

  cancel(): void {
    this.#running?.abort();
    this.#running = undefined;
  }
}
