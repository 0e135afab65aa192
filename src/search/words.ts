import { LIMITS } from '../core/limits.js';
import { once } from '../core/options.js';

/** A word in lowercase, and its parts if it's an identifier. */
export interface Word {
  readonly whole: string;
  /**
   * The parts of an identifier: `gitDiff` → `git`, `diff`. An ordinary word has one part, which
   * equals `whole`.
   */
  readonly parts: readonly string[];
}

/** A text as split for ranked search. */
interface SearchWords {
  /** The words in order, without stop words. Identifiers are split into parts. */
  readonly words: readonly string[];
  /** The whole identifiers, so that `github` also finds `GitHub`. */
  readonly identifiers: readonly string[];
}

/**
 * Matches a word: a letter or digit, followed by letters, marks, and digits. The first character
 * can't be a mark, because emoji contain marks too. A trailing `+` or `#` is part of the word, so
 * that `c++` and `c#` aren't both `c`.
 */
export const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[+#]{1,2}(?![\p{L}\p{N}+#]))?/gu;
/**
 * Matches the breaks in a camelCase identifier: `gitDiff` between t and D, `HTTPServer` between P
 * and S.
 */
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;
/**
 * Matches the breaks between letters and digits: `mp3` is split into mp and 3, `utf8` into utf and
 * 8.
 */
const LETTER_DIGIT = /(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;

/**
 * Matches a character, with its marks, of a script that doesn't put spaces between words, or that
 * joins particles to them (Korean).
 */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]\p{M}*/gu;
/** Matches the scripts among them whose words are too long to be recognized by two characters. */
const WITH_LONG_WORDS = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/**
 * Matches the marks on letters that people leave out when they type. In Indian scripts, that's only
 * the dot below.
 */
const ACCENTS =
  /(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}])\p{M}+|[\u093c\u09bc\u0a3c]/gu;
/** Matches the Arabic article, which is joined to its noun. */
const ARTICLE = /^ال(?=\p{Script=Arabic}{3})/u;
/** Letters that people replace, although Unicode doesn't decompose them. */
const REPLACED: Readonly<Record<string, string>> = {
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ø: 'o',
  ı: 'i',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ё: 'е',
  ة: 'ه',
  ى: 'ي',
  ـ: '',
};
const REPLACEABLE = /[đðłøıßæœёةىـ]/gu;

/** English words that are too common to say anything about which tool is meant. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing don down during each few for from further had has have having he her here hers him his how ' +
    'i if in into is it its just let ll me more most my no nor not now of off on once only or other our out over own re ' +
    's same she should so some such t than that the their them then there these they this those through to too under until up us ' +
    've very was we were what when where which while who whom why will with would you your'
  ).split(' '),
);

/**
 * Returns the part of a request that is used, in Unicode compatibility form. Some characters expand
 * to many characters, so the text is truncated again.
 */
export function readableText(text: string): string {
  return text.slice(0, LIMITS.queryLength).normalize('NFKC').slice(0, LIMITS.queryLength);
}

/**
 * Returns the words in a text, in order.
 *
 * All characters except letters and digits separate words, so `git_diff`, `git-diff`, and
 * `git.diff` are two words each. Compatibility forms (full-width letters, ligatures) are treated as
 * plain letters.
 */
export function splitWords(text: string): Word[] {
  const words: Word[] = [];
  for (const [written] of text.normalize('NFKC').matchAll(WORD))
    for (const section of sectionsOf(written)) {
      const whole = lowerCase(section);
      words.push({
        whole,
        parts: section === whole ? [whole] : section.split(HUMP).map(lowerCase),
      });
    }
  return words;
}

const ASCII = /^\p{ASCII}*$/u;

/**
 * Splits what stands between two spaces into single characters of scripts without spaces, and the
 * words around them: `iPhone退款` into `iPhone`, `退`, and `款`. A keyword in such a script is found
 * wherever its characters stand next to each other, whatever a dictionary says about the sentence.
 */
function sectionsOf(written: string): readonly string[] {
  if (ASCII.test(written)) return [written];
  return written
    .replace(UNSPACED, ' $& ')
    .split(' ')
    .filter((section) => section !== '');
}

/**
 * Splits a text for ranked search: identifiers and digits are separated, and stop words are
 * removed.
 */
export function searchWords(text: string): SearchWords {
  const words: string[] = [];
  const identifiers: string[] = [];
  for (const [written] of text.normalize('NFKC').matchAll(WORD)) {
    if (isUnspaced(written)) {
      words.push(...unspacedWords(written));
      continue;
    }
    const whole = folded(lowerCase(written));
    const parts =
      written === whole ? [whole] : written.split(HUMP).map((part) => folded(lowerCase(part)));
    for (const part of parts)
      for (const piece of part.split(LETTER_DIGIT)) if (!STOP_WORDS.has(piece)) words.push(piece);
    if (parts.length > 1 || LETTER_DIGIT.test(whole)) identifiers.push(whole);
  }
  return { words, identifiers };
}

function isUnspaced(written: string): boolean {
  return !ASCII.test(written) && written.search(UNSPACED) !== -1;
}

/**
 * Splits text that contains a script without spaces. Words of Southeast Asian scripts come from the
 * runtime's dictionary; all others are pairs of neighbouring characters, which need no dictionary.
 */
function unspacedWords(written: string): readonly string[] {
  if (WITH_LONG_WORDS.test(written) && segmenter() !== undefined)
    return [...segmenter()!.segment(written)].map(({ segment }) => lowerCase(segment));
  const words: string[] = [];
  let run: string[] = [];
  const endRun = () => {
    if (run.length === 1) words.push(run[0]!);
    for (let at = 1; at < run.length; at++) words.push(run[at - 1]! + run[at]!);
    run = [];
  };
  for (const section of sectionsOf(written)) {
    if (isUnspaced(section)) {
      run.push(section);
      continue;
    }
    endRun();
    words.push(...searchWords(section).words);
  }
  endRun();
  return words;
}

/** Returns the runtime's word segmenter, or `undefined` if it has none. */
const segmenter = once((): Intl.Segmenter | undefined =>
  typeof Intl === 'object' && 'Segmenter' in Intl
    ? new Intl.Segmenter('en', { granularity: 'word' })
    : undefined,
);

/** Removes accents and other marks that people leave out when they type. */
function folded(word: string): string {
  if (ASCII.test(word)) return word;
  return word
    .normalize('NFD')
    .replace(ACCENTS, '')
    .normalize('NFC')
    .replace(ARTICLE, '')
    .replace(REPLACEABLE, (letter) => REPLACED[letter] ?? letter);
}

/**
 * Converts a word to lowercase. Uses a single form of the Greek sigma, whose lowercase form depends
 * on its position in the word.
 */
function lowerCase(word: string): string {
  return word.toLowerCase().replaceAll('ς', 'σ');
}

/** Words that only look inflected, with their plural and other forms. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  (
    'id ids | db dbs | pr prs | vm vms | alias aliases | atlas atlases | bias biases biased | bus buses | canvas canvases | gas gases | ' +
    'embed embedded embedding | exceed exceeded exceeding | proceed proceeded proceeding | succeed succeeded succeeding'
  )
    .split(' | ')
    .map((line) => line.split(' '))
    .flatMap((forms) => forms.map((form) => [form, forms[0]!] as const)),
);

const PLAIN = /^[a-z]+$/;

/**
 * Returns the common stem of a word's inflections: `tests`, `testing`, and `tested` become `test`.
 *
 * Applies the inflectional steps (1a, 1b, 1c, and 5) of M. F. Porter, "An algorithm for suffix
 * stripping", 1980. The derivational steps are omitted on purpose, because they would merge
 * `universe` and `university`. Words that end in `us` or `is` keep their `s` (status, analysis),
 * and y becomes i after a consonant even in short words (try, tries). Words with letters other than
 * a–z are returned unchanged.
 */
export function stem(word: string): string {
  if (word.length < 3 || !PLAIN.test(word)) return word;
  const singular = dropPlural(word);
  return (
    EXCEPTIONS.get(word) ??
    EXCEPTIONS.get(singular) ??
    dropDoubleL(dropFinalE(yToI(dropPastAndGerund(singular))))
  );
}

function dropPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1);
  // A three-letter word in -s is as likely to be a name (dns, ios, aws) as a plural.
  return word.length > 3 && /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

function dropPastAndGerund(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const base = word.endsWith('ed')
    ? word.slice(0, -2)
    : word.endsWith('ing')
      ? word.slice(0, -3)
      : undefined;
  if (base === undefined || base.length < 2 || !hasVowel(base)) return word;
  if (base.length === 2 || /(?:at|bl|iz)$/.test(base)) return `${base}e`; // used, using → use
  if (
    base.at(-1) === base.at(-2) &&
    !isVowel(base, base.length - 1) &&
    !/[lsz]$/.test(base) &&
    !(word.endsWith('ing') && isVowelAndDouble(base))
  )
    return base.slice(0, -1);
  return measure(base) === 1 && endsShort(base) ? `${base}e` : base;
}

/**
 * Returns true for words such as `add`, `egg`, and `odd`, whose last letter isn't doubled by -ing. The
 * past form is left alone, because descriptions say "added in 2018" of everything.
 */
function isVowelAndDouble(word: string): boolean {
  return word.length === 3 && isVowel(word, 0);
}

function yToI(word: string): string {
  return word.endsWith('y') && !isVowel(word, word.length - 2) ? `${word.slice(0, -1)}i` : word;
}

function dropFinalE(word: string): string {
  if (!word.endsWith('e') || word.length < 4) return word; // `use` isn't `us`.
  const base = word.slice(0, -1);
  const size = measure(base);
  return size > 1 || (size === 1 && !endsShort(base)) ? base : word;
}

/** Returns `control` for `controll`: drops one l if there is more than one vowel group. */
function dropDoubleL(word: string): string {
  return word.endsWith('ll') && measure(word) > 1 ? word.slice(0, -1) : word;
}

function isVowel(word: string, index: number): boolean {
  const letter = word[index];
  if (letter === 'y') return index > 0 && !isVowel(word, index - 1);
  return letter === 'a' || letter === 'e' || letter === 'i' || letter === 'o' || letter === 'u';
}

function hasVowel(word: string): boolean {
  for (let index = 0; index < word.length; index++) if (isVowel(word, index)) return true;
  return false;
}

/** Returns how often consonants follow vowels: Porter's m. */
function measure(word: string): number {
  let count = 0;
  for (let index = 1; index < word.length; index++)
    if (isVowel(word, index - 1) && !isVowel(word, index)) count++;
  return count;
}

/**
 * Returns true if a word ends in consonant, vowel, and a consonant other than w, x, or y: Porter's
 * *o.
 */
function endsShort(word: string): boolean {
  const end = word.length - 1;
  return (
    end >= 2 &&
    !isVowel(word, end) &&
    isVowel(word, end - 1) &&
    !isVowel(word, end - 2) &&
    !/[wxy]$/.test(word)
  );
}
