/**
 * A part of a text that models can read, but that users can't see or would misread. Offsets are
 * in UTF-16 code units.
 */
interface HiddenPart {
  readonly offset: number;
  readonly length: number;
  readonly kind:
    | 'invisible characters'
    | 'characters that change the direction of text'
    | 'private-use characters'
    | 'text moved out of sight';
}

/**
 * Matches the characters that can hide something: control characters other than line breaks and
 * tabs, lone surrogates, private-use characters, and the Braille blank. Also matches all characters
 * that are rendered as nothing: zero-width spaces, direction marks, selectors, and tags.
 */
const SUSPECT = /(?![\t\n\r])\p{Cc}|\p{Surrogate}|\p{Co}|\u2800|\p{Default_Ignorable_Code_Point}/gu;
const TURNING = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
const OVERRIDE = /[\u202D\u202E]/u;
const RIGHT_TO_LEFT =
  /(?=\p{L})[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}\p{scx=Rohg}\p{scx=Mand}]/u;
/** Matches the scripts whose spelling uses joiners and zero-width spaces. */
const JOINING =
  /[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Tibt}\p{scx=Mymr}\p{scx=Khmr}\p{scx=Thai}\p{scx=Laoo}\p{scx=Java}\p{scx=Bali}]/u;
const JOINERS = /[\u034F\u17B4\u17B5\u180B-\u180F\u200B-\u200D]/u;
/**
 * Matches the flags of England, Scotland, and Wales. No other text has a legitimate use for tag
 * characters.
 */
const FLAG =
  /(?<=\u{1F3F4})\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/uy;
/** The size of a gap, in blank columns or lines, that moves the rest of a text out of sight. */
const FAR_BLANKS = 120;
const FAR_LINES = 25;

/**
 * Returns the hidden parts of a text in order, merging adjacent parts of the same kind. Never
 * reports the normal spelling of any language. Takes linear time.
 */
export function hiddenParts(text: string): readonly HiddenPart[] {
  const parts = farParts(text);
  let isHonest = false;
  let lineEnd = -1;
  let flagEnd = -1;
  for (const { 0: character, index: offset } of text.matchAll(SUSPECT)) {
    if (offset < flagEnd) continue;
    const isTurning = TURNING.test(character);
    if (isTurning && offset >= lineEnd) {
      const end = text.indexOf('\n', offset);
      isHonest = isHonestlyTurned(
        text.slice(text.lastIndexOf('\n', offset) + 1, (lineEnd = end === -1 ? text.length : end)),
      );
    }
    FLAG.lastIndex = offset;
    if (FLAG.test(text)) flagEnd = FLAG.lastIndex;
    else if (
      isTurning
        ? !isHonest
        : !isSpelling(
            character,
            text.slice(Math.max(0, offset - 2), offset),
            text.slice(offset + character.length, offset + character.length + 2),
          )
    ) {
      const kind = isTurning
        ? 'characters that change the direction of text'
        : /\p{Co}/u.test(character)
          ? 'private-use characters'
          : 'invisible characters';
      const last = parts.at(-1);
      if (last?.kind === kind && last.offset + last.length === offset)
        parts[parts.length - 1] = { ...last, length: last.length + character.length };
      else parts.push({ offset, length: character.length, kind });
    }
  }
  return parts.sort((a, b) => a.offset - b.offset);
}

function farParts(text: string): HiddenPart[] {
  return [...text.matchAll(/\s{25,}/g)].flatMap(({ 0: blank, index }): HiddenPart[] => {
    const lines = blank.split('\n');
    const isFar =
      index + blank.length < text.length &&
      (lines.length > FAR_LINES || lines.some((line) => line.length >= FAR_BLANKS));
    return isFar ? [{ offset: index, length: blank.length, kind: 'text moved out of sight' }] : [];
  });
}

/**
 * Returns true for a line with letters of a right-to-left language if all its direction marks are
 * closed and the line doesn't override a direction.
 */
function isHonestlyTurned(line: string): boolean {
  if (
    OVERRIDE.test(line) ||
    !RIGHT_TO_LEFT.test(line) ||
    /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]{3}/.test(line)
  )
    return false;
  const open: string[] = [];
  for (const mark of line.match(/[\u202A-\u202C\u2066-\u2069]/g) ?? []) {
    if (mark !== '\u202C' && mark !== '\u2069') open.push(mark <= '\u202C' ? '\u202C' : '\u2069');
    else if (open.pop() !== mark) return false;
  }
  return open.length === 0;
}

/**
 * Returns true for a joiner or selector that is part of the normal spelling: in scripts that join
 * letters, in emoji, and after symbols with several forms.
 */
function isSpelling(character: string, before: string, after: string): boolean {
  if (JOINERS.test(character) && /[\p{L}\p{M}]$/u.test(before) && JOINING.test(before.slice(-1)))
    return true;
  if (character === '\u200D')
    return (
      /[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]$/u.test(before) &&
      /^\p{Extended_Pictographic}/u.test(after)
    );
  if (/[\uFE00-\uFE0F]/.test(character))
    return /[\p{S}\p{Emoji}\p{Ideographic}\p{scx=Mymr}]$/u.test(before);
  return /[\u{E0100}-\u{E01EF}]/u.test(character) && /\p{Ideographic}$/u.test(before);
}

/**
 * Returns a text without invisible characters and direction marks. The normal spelling of all
 * languages is kept.
 */
export function withoutHidden(text: string): string {
  let clean = '';
  let end = 0;
  for (const { offset, length, kind } of hiddenParts(text)) {
    if (kind === 'text moved out of sight' || kind === 'private-use characters') continue;
    clean += text.slice(end, offset);
    end = offset + length;
  }
  return end === 0 ? text : clean + text.slice(end);
}

/**
 * Returns a text with hidden characters replaced by codes. The normal spelling of all languages is
 * kept.
 */
export function hiddenWritten(text: string): string {
  let written = '';
  let end = 0;
  for (const { offset, length, kind } of hiddenParts(text)) {
    if (kind === 'text moved out of sight') continue;
    written +=
      text.slice(end, offset) + text.slice(offset, offset + length).replace(SUSPECT, codeOf);
    end = offset + length;
  }
  return end === 0 ? text : written + text.slice(end);
}

const codeOf = (character: string) => `\\u{${character.codePointAt(0)!.toString(16)}}`;

/** Returns a short quoted part of a text, with hidden characters replaced by codes. */
export function escapedPart(text: string, offset: number, length: number): string {
  const [start, end] = [
    Math.max(0, offset - 16),
    Math.min(text.length, offset + Math.min(length, 60) + 16),
  ];
  const part = text.slice(start, end).replace(/\s{4,}/g, (blank) => `[${blank.length} blanks]`);
  const shown = JSON.stringify(part).replace(SUSPECT, codeOf);
  return `${start > 0 ? '…' : ''}${shown}${end < text.length ? '…' : ''}`;
}

/**
 * Letters from other alphabets that look like Latin letters, from the Unicode confusables table
 * (UTS #39).
 */
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аα',
    b: 'ЬƄв',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еєε',
    g: 'ɡց',
    h: 'һհн',
    i: 'іιı1l|',
    j: 'јϳ',
    k: 'кκ',
    m: 'м',
    n: 'пռη',
    o: 'оοօσ0',
    p: 'рρ',
    q: 'ԛգ',
    r: 'гᴦ',
    s: 'ѕꜱ',
    t: 'тτ',
    u: 'υսц',
    v: 'ѵν',
    w: 'ѡωԝ',
    x: 'хχ',
    y: 'уүγ',
    z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);
/** The number of characters of a name that are compared. */
const COMPARED = 256;

/**
 * Returns a name as people perceive it: normalized (NFKC) and lowercased, without separators, and
 * with look-alike letters replaced.
 */
export function lookOf(name: string): string {
  const plain = name.slice(0, COMPARED).normalize('NFKC').toLowerCase();
  return Array.from(plain, (character) => LOOKS_LIKE.get(character) ?? character)
    .join('')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Finds words that mix Latin letters with look-alikes from another alphabet, as in `pаssword`.
 * `σmax` and `JSONа` aren't reported.
 */
export function mixedWords(
  text: string,
): readonly { readonly offset: number; readonly length: number }[] {
  if (!/[^\0-\u024F]/.test(text)) return [];
  return [...text.matchAll(/[\p{L}\p{M}]+/gu)].flatMap(({ 0: word, index: offset }) => {
    if (
      !/[A-Za-z]/.test(word) ||
      /^(?:[A-Z]{2,}[^A-Za-z]+|\p{Script=Greek}?[A-Za-z]*\p{Script=Greek}?)$/u.test(word)
    )
      return [];
    const others = Array.from(word.toLowerCase()).filter((letter) => letter > '\u024F');
    return others.length > 0 && others.every((letter) => LOOKS_LIKE.has(letter))
      ? [{ offset, length: word.length }]
      : [];
  });
}

/**
 * Returns a text as people see it: without hidden characters and accents, and with look-alike
 * letters replaced.
 *
 * `at` maps a position in the result to the position in the original text.
 */
export function readAloud(text: string): {
  readonly text: string;
  readonly at: (offset: number) => number;
} {
  if (!/[^\t-\r -~]/.test(text)) return { text, at: (offset) => offset };
  const places: number[] = [];
  let plain = '';
  let offset = 0;
  for (const character of text) {
    const shown =
      character < '\x7F'
        ? character
        : character.replace(SUSPECT, '').normalize('NFKD').replace(/\p{M}/gu, '');
    const seen = shown < '\x7F' ? shown : (LOOKS_LIKE.get(shown.toLowerCase()) ?? shown);
    for (let i = 0; i < seen.length; i++) places.push(offset);
    plain += seen;
    offset += character.length;
  }
  return { text: plain, at: (place) => places[place] ?? text.length };
}
