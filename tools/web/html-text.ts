import { Tokenizer } from 'htmlparser2';

/** A link on a page: its target and text. */
export type PageLink = {
  readonly url: string;
  readonly text: string;
};

/** Elements that start a new line. */
const BLOCKS = new Set([
  'address',
  'article',
  'aside',
  'blockquote',
  'br',
  'dd',
  'div',
  'dl',
  'dt',
  'fieldset',
  'figcaption',
  'figure',
  'footer',
  'form',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'header',
  'hr',
  'li',
  'main',
  'nav',
  'ol',
  'p',
  'pre',
  'section',
  'table',
  'tr',
  'ul',
]);
/** Elements whose texts are separated by ` | ` within a line. */
const CELLS = new Set(['td', 'th']);
/** Elements whose content is code or not shown to readers. */
const UNREAD = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'textarea',
  'select',
]);

/** Converts a page to lines of text, without code, styles and comments. */
export function readablePage(html: string) {
  let title: string | null = null;
  let inTitle = false;
  const parts: string[] = [];
  readPage(html, {
    text: (text) => {
      if (inTitle) title = (title ?? '') + text;
      else parts.push(text.replace(/\s+/g, ' '));
    },
    tag: (name, attributes) => {
      const opens = attributes !== undefined;
      // Only the first title counts, because drawings in a page can have titles too.
      if (name === 'title') inTitle = opens && title === null;
      else if (BLOCKS.has(name)) parts.push(opens && name === 'li' ? '\n- ' : '\n');
      else if (CELLS.has(name) && opens) parts.push(' | ');
    },
  });
  const lines = parts
    .join('')
    .split('\n')
    .map(tidyLine)
    .filter((line) => line !== '' && line !== '-');
  return { title: title === null ? null : tidyLine(title), text: lines.join('\n') };
}

/** Lists a page's web links, each target once, in page order. */
export function linksOf(html: string, pageUrl: string): readonly PageLink[] {
  const links = new Map<string, string>();
  let base = pageUrl;
  let current: { url: string; text: string } | undefined;
  const finish = () => {
    if (current !== undefined && !links.get(current.url))
      links.set(current.url, tidyLine(current.text));
    current = undefined;
  };
  readPage(html, {
    text: (text) => {
      if (current !== undefined) current.text += text;
    },
    tag: (name, attributes) => {
      if (name === 'base' && base === pageUrl)
        base = webUrl(attributes?.get('href'), pageUrl) ?? base;
      if (name !== 'a') return;
      finish();
      const url = webUrl(attributes?.get('href'), base);
      if (url !== undefined) current = { url, text: '' };
    },
  });
  finish();
  return [...links].map(([url, text]) => ({ url, text }));
}

interface PageReader {
  readonly text: (text: string) => void;
  /** Receives each tag. A closing tag has no attributes. */
  readonly tag: (name: string, attributes?: ReadonlyMap<string, string>) => void;
}

/**
 * Reads a page's text and tags in one pass, skipping content that is never shown.
 *
 * Uses the library's tokenizer, because the library's parser takes 18 seconds for 80,000 unclosed
 * elements.
 */
function readPage(html: string, { text, tag }: PageReader): void {
  let name = '';
  let attribute = '';
  let value = '';
  let attributes = new Map<string, string>();
  /** The element whose content is being skipped. */
  let unread: string | undefined;
  const nameAt = (start: number, end: number) => html.slice(start, end).toLowerCase();
  const show = (part: string) => {
    if (unread === undefined) text(part);
  };
  const open = () => {
    if (unread === undefined) tag(name, attributes);
  };
  const ignore = () => undefined;
  const tokenizer = new Tokenizer(
    { decodeEntities: true, recognizeSelfClosing: true },
    {
      ontext: (start, end) => show(html.slice(start, end)),
      ontextentity: (code) => show(String.fromCodePoint(code)),
      onopentagname: (start, end) => {
        name = nameAt(start, end);
        attributes = new Map();
      },
      onattribname: (start, end) => {
        attribute = nameAt(start, end);
        value = '';
      },
      onattribdata: (start, end) => void (value += html.slice(start, end)),
      onattribentity: (code) => void (value += String.fromCodePoint(code)),
      onattribend: () => void (attributes.has(attribute) || attributes.set(attribute, value)),
      onopentagend: () => {
        open();
        if (UNREAD.has(name)) unread ??= name;
      },
      onselfclosingtag: open,
      onclosetag: (start, end) => {
        const closed = nameAt(start, end);
        if (closed === unread) unread = undefined;
        if (unread === undefined) tag(closed);
      },
      oncomment: ignore,
      oncdata: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}

/**
 * Returns a link's address without the fragment, which points to a place on the same page. Returns
 * `undefined` for addresses that aren't web pages, such as mail addresses and scripts.
 */
function webUrl(href: string | undefined, base: string): string | undefined {
  if (href === undefined || !URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  url.hash = '';
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
}

function tidyLine(line: string): string {
  return line.replace(/\s+/g, ' ').trim().replace(/^\| /, '');
}
