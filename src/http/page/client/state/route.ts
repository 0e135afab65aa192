import { AXES } from './axes.js';

export const VIEWS = ['tools', 'skills', 'jobs', 'findings'] as const;
export type View = (typeof VIEWS)[number];

/** The state of the page: all of it is in the address, so that it can be shared and restored. */
export interface Route {
  readonly view: View;
  /** The tool that is open, or the skill, job or finding's tool to show. */
  readonly name: string | null;
  /** The owner of the open tool; `null` for a shared one. */
  readonly owner: string | null;
  readonly query: string;
  /** The persona whose view of the catalogue is shown; `null` shows everything. */
  readonly persona: string | null;
  /** The chosen values by the axis' key; one of them must hold. */
  readonly filters: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Reads the part of an address behind `#`. Unknown parts are ignored: a link may be old or mistyped. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const [view = '', name] = splitOnce(path, '/');
  const parameters = new URLSearchParams(search);
  const filters = new Map<string, ReadonlySet<string>>();
  for (const { key } of AXES) {
    const values = parameters.getAll(key).filter((value) => value !== '');
    if (values.length > 0) filters.set(key, new Set(values));
  }
  return {
    view: VIEWS.find((known) => known === view) ?? 'tools',
    name: name === undefined || name === '' ? null : decode(name),
    owner: parameters.get('owner'),
    query: parameters.get('q') ?? '',
    persona: parameters.get('persona'),
    filters,
  };
}

/** Returns the address of a route, from `#` on. */
export function formatRoute({ view, name, owner, query, persona, filters }: Route): string {
  const parameters = new URLSearchParams();
  if (query !== '') parameters.set('q', query);
  if (persona !== null) parameters.set('persona', persona);
  for (const { key } of AXES) for (const value of filters.get(key) ?? []) parameters.append(key, value);
  if (owner !== null) parameters.set('owner', owner);
  const search = parameters.toString();
  return `#/${view}${name === null ? '' : `/${encode(name)}`}${search === '' ? '' : `?${search}`}`;
}

/** Returns the same route with one value of one filter chosen, or no longer. */
export function withFilter(route: Route, axis: string, value: string, chosen: boolean): Route {
  const values = new Set(route.filters.get(axis));
  if (chosen) values.add(value);
  else values.delete(value);
  const filters = new Map(route.filters);
  if (values.size === 0) filters.delete(axis);
  else filters.set(axis, values);
  return { ...route, filters };
}

/** Encodes a text. Half of a surrogate pair, on which `encodeURIComponent` throws, becomes the replacement character. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}
