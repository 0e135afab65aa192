import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, '../reference/sidebar.json');

/** Returns the sidebar of each entry point's pages: all entry points, and the names of this one, as `make-reference.js` left them. */
export function referenceSidebars() {
  const entries = JSON.parse(readFileSync(FILE, 'utf8'));
  const sidebarOf = (open) => [{ text: 'API', link: '/reference/', items: entries.map(({ text, link, items }) => (link === open ? { text, link, items } : { text, link })) }];
  return Object.fromEntries([...entries.map(({ link }) => link), '/reference/'].map((path) => [path, sidebarOf(path)]));
}
