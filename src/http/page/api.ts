import { useEffect, useState } from 'preact/hooks';
import type { ToolWire } from '../../capability/wire-types.js';
import type { RequiredFlags } from '../../safety/required-flags.js';
import { currentRoute, type View } from './route.js';

/**
 * A tool as the server sends it. The listed fields are the fields that the page's code uses by
 * name. The page can show any other field.
 */
export interface Tool extends Pick<ToolWire, 'name' | 'persona' | 'version' | 'health'> {
  readonly [field: string]: unknown;
  readonly description: string;
  readonly access_mode: string;
  readonly danger_level: string;
  readonly cost_tier: string;
  readonly requires_approval: boolean;
  readonly available: boolean;
  /** The score in a search. */
  readonly score?: number;
  readonly explanation?: string;
}

/** A tool with all its fields. */
export interface DetailedTool extends Tool {
  readonly parameters: {
    readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required?: readonly string[];
  };
  readonly examples: readonly string[];
  readonly inferred: readonly string[];
  readonly cost_per_call: number | null;
  readonly cost_unit: string | null;
  readonly default_timeout: number | null;
  readonly persona_allowlist: readonly string[] | null;
  readonly requires_flags: RequiredFlags | null;
  readonly auth_status: ToolWire['auth'];
  readonly shown_to_models: readonly {
    readonly level: string;
    readonly tokens: number;
    readonly shown: unknown;
  }[];
}

type Counts = Readonly<Record<string, number>>;

/** A page of a list. */
export interface List<Item> {
  readonly items: readonly Item[];
  readonly total: number;
  readonly next: string | null;
  readonly searched?: number;
  readonly facets?: Readonly<Record<string, Counts>>;
  readonly cells?: Counts;
  readonly severities?: Counts;
}

const TOKEN = 'tooldex-token';
/**
 * Stores the token without characters that headers don't allow. A valid token never contains such
 * characters.
 */
export const keepToken = (token: string) =>
  sessionStorage.setItem(TOKEN, token.replace(/[^\x21-\x7e]/g, ''));
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** An error response from the server, or no response (status 0). The message is for people. */
class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Requests JSON from the server, or sends an operator's action if there is a body. URLs are
 * relative, so the page works under any path.
 *
 * @throws ApiError
 */
export async function ask<T>(
  address: string,
  body?: object,
  method = body ? 'POST' : 'GET',
): Promise<T> {
  const response = await fetch(address, {
    method,
    ...(body && { body: JSON.stringify(body) }),
    headers: {
      'content-type': 'application/json',
      ...(hasToken() && { authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` }),
    },
  }).catch(() => undefined);
  const answer = (await response?.json().catch(() => undefined)) as
    { readonly error?: { readonly message: string } } | undefined;
  if (response?.ok === true && answer !== undefined) return answer as T;
  throw new ApiError(
    response?.status ?? 0,
    answer?.error?.message ?? "The server isn't responding.",
  );
}

/** Milliseconds between requests for the same address. */
const REFRESH_MS = 2_000;
export const UNAUTHORIZED = 401;
const NOT_FOUND = 404;

/** The last answer of an address, and the error if the last request failed. */
export interface Answered<T> {
  readonly answer?: T | undefined;
  readonly error?: ApiError | undefined;
}

/**
 * Polls an address while the page is visible, and requests it again when `version` changes. Stops
 * polling an address that the server doesn't have.
 */
export function useJson<T>(address: string, version = '', isPaused = false) {
  const [state, setState] = useState<Answered<T>>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isOver = false;
    const read = () =>
      ask<T>(address).then(
        (answer) => isOver || setState({ answer }),
        (error: ApiError) => {
          if (error.status === NOT_FOUND) clearInterval(timer);
          if (!isOver) setState((last) => ({ ...last, error }));
        },
      );
    const timer = setInterval(() => document.hidden || isPaused || void read(), REFRESH_MS);
    void read();
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [address, version, isPaused, round]);
  return { ...state, again: () => setRound((last) => last + 1) };
}

/** Number of items on a page of a list. */
export const ROWS = 200;

/** Reads a list again when `version` changes: the page in the URL, or the first page. */
export function useList<Item>(list: View, query: string, version: string): Answered<List<Item>> {
  const { view, parameters } = currentRoute();
  const offset = (view === list && parameters.get('offset')) || 0;
  const address = `${list}?limit=${ROWS}&offset=${offset}&${query}`;
  const { answer, error } = useJson<List<Item>>(address, version, true);
  return { error, answer: answer && { ...answer, items: answer[list as 'items'] } };
}
