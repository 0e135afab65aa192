import { fieldsOn, valuesOf, type FieldKind } from '../../tool/tool-fields.js';
import { HEALTH_LEVELS } from '../values-on.js';

/** An axis by which tools can be filtered. */
export interface Axis {
  /** The filter's name in the HTTP API. */
  readonly key: string;
  readonly label: string;
  /** The order of its values. Values without an order are sorted by their number of tools. */
  readonly order?: readonly string[];
  /** The words shown to people instead of the values. */
  readonly words?: Readonly<Record<string, string>>;
}

/** The axes that people use most. The others follow in table order. */
const FIRST = [
  'danger_level',
  'access_mode',
  'requires_approval',
  'available',
  'health',
  'category',
];
/** Kinds of fields whose values are ordered. */
const ORDERED: ReadonlySet<FieldKind> = new Set<FieldKind>([
  'priority',
  'accessMode',
  'dangerLevel',
  'executionCategory',
  'costTier',
]);

/** All axes by which tools can be filtered, most used first. */
export const AXES: readonly Axis[] = fieldsOn('axis')
  .map(([name, { wire, kind, label, words, filter }]): Axis => {
    const order =
      name === 'health'
        ? HEALTH_LEVELS
        : words !== undefined
          ? ['true', 'false']
          : ORDERED.has(kind)
            ? valuesOf(kind)
            : undefined;
    return {
      key: filter?.param ?? wire,
      // A filter selects one value of a list, such as a stage.
      label: capitalized(
        kind === 'labels' || kind === 'providers' ? filter!.param.replaceAll('_', ' ') : label!,
      ),
      ...(order === undefined ? {} : { order }),
      ...(words === undefined ? {} : { words: { true: words[0], false: words[1] } }),
    };
  })
  .sort((a, b) => placeOf(a) - placeOf(b));

function placeOf({ key }: Axis): number {
  return FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The fields that the page requests for every tool. */
export const ROW_FIELDS = fieldsOn('row').map(([, { wire }]) => wire);

/** Views that show a list from the catalogue. */
export const LISTS = ['skills', 'tasks', 'jobs', 'findings'] as const;
/** Views for the people who run agents. Only present if the server was started with a store. */
export const OPERATOR_VIEWS = ['overview', 'waiting', 'calls'] as const;
const VIEWS = ['tools', ...LISTS, ...OPERATOR_VIEWS] as const;
export type View = (typeof VIEWS)[number];

/** The state of the page. All of it is in the URL, so that people can share and restore it. */
export interface Route {
  readonly view: View;
  /** The open tool, or the skill, job or finding to show. */
  readonly name: string | null;
  /** The owner of the open tool, or `null` if it's shared. */
  readonly owner: string | null;
  readonly query: string;
  /** The persona whose tools are shown, or `null` for everyone's tools. */
  readonly persona: string | null;
  /** The chosen values by axis. A tool must match one value on each axis. */
  readonly filters: ReadonlyMap<string, ReadonlySet<string>>;
  /** The field to sort the list by. Empty for the server's order. */
  readonly sort: string;
}

/**
 * Parses the part of a URL after `#`. Ignores unknown parts, because a link may be old or mistyped.
 */
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
    sort: parameters.get('sort') ?? '',
  };
}

/** Returns the search text, the persona and the filters as query parameters for the server. */
export function questionOf({ query, persona, filters }: Route): URLSearchParams {
  const parameters = new URLSearchParams();
  if (query.trim() !== '') parameters.set('q', query);
  if (persona !== null) parameters.set('persona', persona);
  for (const { key } of AXES)
    for (const value of filters.get(key) ?? []) parameters.append(key, value);
  return parameters;
}

/** Returns the URL of a route, starting with `#`. */
export function formatRoute(route: Route): string {
  const { view, name, owner, sort } = route;
  const parameters = questionOf(route);
  if (sort !== '') parameters.set('sort', sort);
  if (owner !== null) parameters.set('owner', owner);
  const search = parameters.toString();
  return `#/${view}${name === null ? '' : `/${encode(name)}`}${search === '' ? '' : `?${search}`}`;
}

/** Returns the same route with one value of a filter switched on or off. */
export function withFilter(route: Route, axis: string, value: string, chosen: boolean): Route {
  const values = new Set(route.filters.get(axis));
  if (chosen) values.add(value);
  else values.delete(value);
  const filters = new Map(route.filters);
  if (values.size === 0) filters.delete(axis);
  else filters.set(axis, values);
  return { ...route, filters };
}

/**
 * Encodes a text. A lone surrogate, which makes `encodeURIComponent` throw, becomes the replacement
 * character.
 */
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

const axisOf = (key: string) => AXES.find((axis) => axis.key === key)!;
/** The two axes that the page shows as a grid. */
export const ACCESS_AND_DANGER = [axisOf('access_mode'), axisOf('danger_level')] as const;
