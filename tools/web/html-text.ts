import { htmlTokens } from './html-tokens.js';

/** A page as a person would read it. */
export interface ReadablePage {
  readonly title: string | null;
  readonly text: string;
}

/** A link of a page: where it leads and what it is called there. */
export interface PageLink {
  readonly url: string;
  readonly text: string;
}

/** Elements that begin a new line. */
const BLOCKS = new Set(['address', 'article', 'aside', 'blockquote', 'br', 'dd', 'div', 'dl', 'dt', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li', 'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'tr', 'ul']);
/** Elements that stand apart within a line. */
const CELLS = new Set(['td', 'th']);

/** Turns a page into lines of text, without code, styles and comments. */
export function readablePage(html: string): ReadablePage {
  let title: string | null = null;
  let inTitle = false;
  const parts: string[] = [];
  for (const token of htmlTokens(html)) {
    if (token.kind === 'text') {
      if (inTitle) title = (title ?? '') + token.text;
      else parts.push(token.text.replace(/\s+/g, ' '));
    } else if (token.name === 'title') {
      // Only the first one: drawings inside a page have titles too.
      inTitle = token.kind === 'open' && title === null;
    } else if (BLOCKS.has(token.name)) {
      parts.push(token.kind === 'open' && token.name === 'li' ? '\n- ' : '\n');
    } else if (CELLS.has(token.name) && token.kind === 'open') {
      parts.push(' | ');
    }
  }
  const lines = parts.join('').split('\n').map(tidyLine).filter((line) => line !== '' && line !== '-');
  return { title: title === null ? null : tidyLine(title), text: lines.join('\n') };
}

/** Lists the web links of a page, each target once, in the order of the page. */
export function linksOf(html: string, pageUrl: string): readonly PageLink[] {
  const found = new Map<string, string>();
  let base = pageUrl;
  let current: { url: string; text: string } | undefined;
  const finish = () => {
    if (current !== undefined && !found.get(current.url)) found.set(current.url, tidyLine(current.text));
    current = undefined;
  };
  for (const token of htmlTokens(html)) {
    if (token.kind === 'text') {
      if (current !== undefined) current.text += token.text;
    } else if (token.name === 'a') {
      finish();
      const url = token.kind === 'open' ? webUrl(token.attributes.get('href'), base) : undefined;
      if (url !== undefined) current = { url, text: '' };
    } else if (token.kind === 'open' && token.name === 'base' && base === pageUrl) {
      base = webUrl(token.attributes.get('href'), pageUrl) ?? base;
    }
  }
  finish();
  return [...found].map(([url, text]) => ({ url, text }));
}

/** The address without its fragment, which names a place on the same page; nothing for mail, scripts and the like. */
function webUrl(href: string | undefined, base: string): string | undefined {
  if (href === undefined || !URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  url.hash = '';
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
}

function tidyLine(line: string): string {
  return line.replace(/\s+/g, ' ').trim().replace(/^\| /, '');
}
