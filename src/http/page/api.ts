import type {
  JobWire,
  MetricsWire,
  SkillWire,
  TaskWire,
  ToolHealthWire,
} from '../../capability/wire-types.js';
import type { RequiredFlags } from '../../safety/required-flags.js';

/**
 * A tool as the server sends it. Contains the fields that the page's code uses by name. The page
 * shows the other fields generically.
 */
export interface Tool {
  readonly [field: string]: unknown;
  readonly name: string;
  readonly persona: string | null;
  readonly description: string;
  readonly version: string | null;
  readonly access_mode: string;
  readonly danger_level: string;
  readonly cost_tier: string;
  readonly requires_approval: boolean;
  readonly available: boolean;
  readonly health: ToolHealthWire;
  readonly score?: number;
  readonly matches?: readonly {
    readonly word: string;
    readonly fields: readonly string[];
    readonly related: boolean;
  }[];
  readonly corrections?: readonly { readonly word: string; readonly read_as: string }[];
}

/** A tool with all its fields. */
export interface DetailedTool extends Tool {
  readonly digest: string;
  readonly parameters: unknown;
  readonly examples: readonly string[];
  readonly inferred: readonly string[];
  readonly cost_unit: string | null;
  readonly requires_flags: RequiredFlags | null;
  readonly auth_status: {
    readonly required: boolean;
    readonly ready: boolean;
    readonly missing: readonly string[];
  };
  readonly providers: readonly { readonly name: string; readonly priority: number }[];
  readonly derived_sets?: readonly string[];
  readonly shown_to_models?: readonly {
    readonly level: string;
    readonly tokens: number;
    readonly shown: unknown;
  }[];
}

export type Metrics = MetricsWire;
export type Skill = SkillWire &
  Readonly<Record<'summary' | 'category', string | null>> &
  Readonly<Record<'instruction_prompt' | 'safety_notes', string>>;
export type Task = TaskWire;
export type Job = JobWire;

export interface Finding {
  readonly severity: string;
  readonly message: string;
  readonly kind: string | null;
  readonly rule: string | null;
  readonly name: string | null;
  readonly persona: string | null;
  readonly source: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly path: string | null;
}

type Counts = Readonly<Record<string, number>>;

/** A page of a list. Its items are under the name of the list. */
export interface ListPage {
  readonly total: number;
  readonly next: string | null;
  readonly searched?: number;
  readonly facets?: Readonly<Record<string, Counts>>;
  readonly cells?: Counts;
  readonly severities?: Counts;
  readonly [list: string]: unknown;
}

/** Number of items per request. The server sends at most this many. */
const PAGE_SIZE = '200';
const TOKEN = 'tooldex-token';

/**
 * An error response from the server, or no response at all (status 0). The message is for people.
 */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

/** Sends a request to the server. URLs are relative, so the page works under any path. */
async function ask(address: string, init: RequestInit): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(address, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError(0, "The server isn't responding.");
  });
  if (response.ok) return response;
  const said = (await response.json().catch(() => null)) as { error: { message: string } } | null;
  throw new ApiError(
    response.status,
    said?.error.message ?? `The server responded with status ${response.status}.`,
  );
}

export async function getJson<T>(address: string, signal: AbortSignal): Promise<T> {
  return (await (await ask(address, { signal })).json()) as T;
}

/** Sends an operator's action. */
export async function postJson<T>(address: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await (await ask(address, sent)).json()) as T;
}

/**
 * Reads a list page by page, and yields everything read so far after each page.
 *
 * @param most The number of items after which it stops.
 */
export async function* readList<Item>(
  list: string,
  parameters: URLSearchParams,
  signal: AbortSignal,
  most = Infinity,
): AsyncGenerator<ListPage & { readonly items: readonly Item[] }> {
  const items: Item[] = [];
  let query: URLSearchParams | undefined = new URLSearchParams([
    ...parameters,
    ['limit', PAGE_SIZE],
  ]);
  let first: ListPage | undefined;
  while (query !== undefined) {
    const page: ListPage = await getJson(`${list}?${query.toString()}`, signal);
    first ??= page;
    items.push(...(page[list] as readonly Item[]));
    yield {
      ...first,
      ...page,
      facets: first.facets!,
      cells: first.cells!,
      searched: first.searched!,
      items: [...items],
    };
    if (page.next === null || items.length >= most) return;
    query = new URLSearchParams(page.next.slice(page.next.indexOf('?')));
    query.delete('facets');
  }
}

/**
 * The shortest and longest wait between attempts, in milliseconds. Each wait is twice as long as
 * the previous one.
 */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export type Connection = 'connecting' | 'live' | 'lost';

/**
 * Follows the server's changes until the signal aborts, and reconnects when the connection breaks.
 * `EventSource` can't send a token, so the stream is read with `fetch`.
 *
 * @param onRevision Called with the server's revision, or with `null` if changes may have been
 * missed.
 */
export async function followChanges(
  signal: AbortSignal,
  onRevision: (revision: number | null) => void,
  onConnection: (connection: Connection) => void,
): Promise<void> {
  let wait = FIRST_WAIT_MS;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      onConnection(isFirst ? 'connecting' : 'lost');
      const { body } = await ask('events', { signal });
      onConnection('live');
      // The server may have restarted, so that it counts from one again.
      if (!isFirst) onRevision(null);
      wait = FIRST_WAIT_MS;
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split('\n');
        rest = lines.pop()!;
        for (const line of lines)
          if (line.startsWith('data:'))
            onRevision((JSON.parse(line.slice('data:'.length)) as { revision: number }).revision);
      }
    } catch {
      // Reconnects after any failure.
    }
    if (signal.aborted) return;
    onConnection('lost');
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}
