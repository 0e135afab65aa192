import { readFileSync } from 'node:fs';

/** The description of everything that can be imported, with signatures. Changes show in reviews. */
export const API_FILE = new URL('./public-api.md', import.meta.url);

/**
 * The names of values and types that can be imported from each entry point. Adding a name is a
 * feature. Removing or renaming a name breaks users.
 */
export const SURFACE: Readonly<
  Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>
> = Object.fromEntries(
  [
    ...readFileSync(API_FILE, 'utf8').matchAll(
      /^## (tooldex\S*)\n\nValues: (.*)\n\nTypes: (.*)$/gm,
    ),
  ].map(([, entry, values, types]) => [
    entry!,
    { values: namesIn(values!), types: namesIn(types!) },
  ]),
);

function namesIn(list: string): readonly string[] {
  return list === '–' ? [] : list.split(', ');
}
