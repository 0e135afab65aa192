import { FILTERS } from './shown-fields.js';

/**
 * Views for the people who run agents. These views exist only if the server was started with a
 * store.
 */
export const OPERATOR_VIEWS = ['overview', 'waiting', 'calls', 'actions'] as const;
export const VIEWS = ['tools', 'skills', 'tasks', 'jobs', 'findings'] as const;
export type View = (typeof VIEWS | typeof OPERATOR_VIEWS)[number];

/**
 * Parses the page's URL, `#/view?parameters`, which contains the page's whole state. The parameters
 * are the search text (`q`), the persona, the filters, and the open item with its owner. Unknown
 * views and parameters are ignored, because a link may be old or mistyped.
 */
export function currentRoute() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const view = [...OPERATOR_VIEWS, ...VIEWS].find((each) => each === path) ?? 'tools';
  return { view, parameters: new URLSearchParams(search) };
}

/** Returns the page's URL with other parameters. `null` removes a parameter. */
export function hrefWith(
  changes: Readonly<Record<string, string | readonly string[] | null>>,
): string {
  const { view, parameters } = currentRoute();
  // Another question starts on its first page.
  if (!('open' in changes)) parameters.delete('offset');
  for (const [name, value] of Object.entries(changes)) {
    parameters.delete(name);
    for (const each of [value ?? []].flat()) parameters.append(name, each);
  }
  return `#/${view}?${parameters.toString()}`;
}

/** Returns the URL of a view, or of an item in a view, with the current persona. */
export function hrefOf(view: View, open?: string, owner?: string | null): string {
  const persona = currentRoute().parameters.get('persona');
  const fields = Object.entries({ persona, open, owner }).filter(([, value]) => value != null);
  return `#/${view}?${new URLSearchParams(fields as string[][]).toString()}`;
}

const ASKED = ['q', 'persona', ...FILTERS.map(({ key }) => key)];

/** Returns the search text, the persona and the filters as a query for the server. */
export function questionOf(parameters: URLSearchParams): string {
  const asked = [...parameters].filter(
    ([name, value]) => ASKED.includes(name) && value.trim() !== '',
  );
  return new URLSearchParams(asked).toString();
}
