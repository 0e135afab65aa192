import console from 'node:console';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const DIST = join(import.meta.dirname, '../.vitepress/dist');

/** Finds links within the built site that lead to no page or to no heading. @throws an Error that names them. */
export function checkLinks() {
  const pages = new Map(
    readdirSync(DIST, { recursive: true }).filter((file) => file.endsWith('.html')).map((file) => {
      const html = readFileSync(join(DIST, file), 'utf8');
      return [file, { ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => decode(id))), links: [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href]) => decode(href)) }];
    }),
  );
  const dead = new Set();
  let count = 0;
  for (const [page, { links }] of pages) {
    for (const link of links) {
      if (/^[a-z]+:/.test(link)) continue;
      count++;
      const [path, anchor] = link.split('#').map(decodeURIComponent);
      const target = path === '' ? page : posix.join('/', path.startsWith('/') ? path : posix.join(posix.dirname(page), path)).slice(1);
      const file = target === '' || target.endsWith('/') ? `${target}index.html` : target;
      const found = pages.get(file);
      if (found === undefined ? !existsSync(join(DIST, file)) : anchor !== undefined && anchor !== '' && !found.ids.has(anchor)) dead.add(`${link} in ${page}`);
    }
  }
  if (dead.size > 0) throw new Error(`Expected links that lead to a page and heading, got ${dead.size} that do not:\n${[...dead].join('\n')}`);
  console.log(`${count} links in ${pages.size} pages lead somewhere.`);
}

const decode = (text) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
