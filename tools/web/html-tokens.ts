/** A piece of an HTML page, as far as text and links need it. */
export type HtmlToken =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string; readonly attributes: ReadonlyMap<string, string> }
  | { readonly kind: 'close'; readonly name: string };

/** Elements whose content is code or not shown. */
const UNREAD = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'textarea', 'select']);

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', "'"], ['nbsp', ' '], ['copy', '©'], ['reg', '®'],
  ['hellip', '…'], ['mdash', '—'], ['ndash', '–'], ['laquo', '«'], ['raquo', '»'], ['lsquo', '‘'], ['rsquo', '’'],
  ['ldquo', '“'], ['rdquo', '”'], ['bull', '•'], ['middot', '·'], ['times', '×'], ['euro', '€'], ['deg', '°'],
  ['auml', 'ä'], ['ouml', 'ö'], ['uuml', 'ü'], ['Auml', 'Ä'], ['Ouml', 'Ö'], ['Uuml', 'Ü'], ['szlig', 'ß'], ['eacute', 'é'],
]);

/** Splits a page into text and tags in one pass; what is never closed is left out, as browsers do. */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  // Only ASCII is folded: other letters can change their length, and positions must fit both texts.
  const folded = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open !== at) yield { kind: 'text', text: decodeEntities(html.slice(at, open < 0 ? undefined : open)) };
    if (open < 0) return;
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4);
    } else if (folded[open + 1] === '!' || folded[open + 1] === '?') {
      at = after(html, '>', open);
    } else if (isLetter(folded[open + 1]) || (folded[open + 1] === '/' && isLetter(folded[open + 2]))) {
      const tag = readTag(html, folded, open);
      if (tag.end > html.length) return;
      at = tag.end;
      yield tag.token;
      if (tag.token.kind === 'open' && UNREAD.has(tag.token.name) && !tag.closesItself) {
        const close = folded.indexOf(`</${tag.token.name}`, at);
        at = close < 0 ? html.length : close;
      }
    } else {
      yield { kind: 'text', text: '<' };
      at = open + 1;
    }
  }
}

function readTag(html: string, folded: string, open: number): { token: HtmlToken; end: number; closesItself: boolean } {
  const closing = html[open + 1] === '/';
  const start = open + (closing ? 2 : 1);
  let at = skip(html, start, (c) => !isSpace(c) && c !== '>' && c !== '/');
  const name = folded.slice(start, at);
  const attributes = new Map<string, string>();
  let slash = false;
  while (at < html.length && html[at] !== '>') {
    if (isSpace(html[at]) || html[at] === '/') {
      slash = html[at] === '/';
      at += 1;
      continue;
    }
    slash = false;
    const nameStart = at;
    // The first character belongs to the name whatever it is, so that every round moves on.
    at = skip(html, at + 1, (c) => !isSpace(c) && c !== '>' && c !== '=' && c !== '/');
    const attribute = folded.slice(nameStart, at);
    const equals = skip(html, at, isSpace);
    let value = '';
    if (html[equals] === '=') {
      const from = skip(html, equals + 1, isSpace);
      const quote = html[from];
      if (quote === '"' || quote === "'") {
        at = after(html, quote, from + 1);
        value = html.slice(from + 1, at - 1);
      } else {
        at = skip(html, from, (c) => !isSpace(c) && c !== '>');
        value = html.slice(from, at);
      }
    }
    if (!attributes.has(attribute)) attributes.set(attribute, decodeEntities(value));
  }
  const token: HtmlToken = closing ? { kind: 'close', name } : { kind: 'open', name, attributes };
  return { token, end: at + 1, closesItself: slash };
}

/** Replaces character references; unknown ones stay as they are written. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return ENTITIES.get(name) ?? whole;
    const code = decimal !== undefined ? Number.parseInt(decimal, 10) : Number.parseInt(hex ?? '', 16);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** The position behind the next `end`, or the end of the page. */
function after(html: string, end: string, from: number): number {
  const found = html.indexOf(end, from);
  return found < 0 ? html.length : found + end.length;
}

function skip(html: string, from: number, wanted: (character: string) => boolean): number {
  let at = from;
  while (at < html.length && wanted(html[at] ?? '')) at += 1;
  return at;
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r' || character === '\f';
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && character >= 'a' && character <= 'z';
}
