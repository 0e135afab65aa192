/**
 * The common form of a word's inflections: `tests`, `testing` and `tested` become `test`.
 *
 * These are the inflectional steps (1a, 1b, 1c and 5) of M. F. Porter, "An algorithm for suffix stripping", 1980. The
 * derivational steps are left out on purpose: they would make one word of `universe` and `university`. Words ending in
 * `us` and `is` keep their `s` (status, analysis), y becomes i after a consonant also in short words (try, tries), and a
 * few words that only look inflected are listed. Words with letters outside a–z are returned as they are.
 */
export function stem(word: string): string {
  if (word.length < 3 || !PLAIN.test(word)) return word;
  const known = EXCEPTIONS.get(word) ?? EXCEPTIONS.get(dropPlural(word));
  return known ?? dropDoubleL(dropFinalE(yToI(dropPastAndGerund(dropPlural(word)))));
}

/** Words that end like an inflection and are none, and their plurals. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  [
    ['id', 'ids'],
    ['db', 'dbs'],
    ['pr', 'prs'],
    ['vm', 'vms'],
    ['alias', 'aliases'],
    ['atlas', 'atlases'],
    ['bias', 'biases', 'biased'],
    ['bus', 'buses'],
    ['canvas', 'canvases'],
    ['gas', 'gases'],
    ['embed', 'embedded', 'embedding'],
    ['exceed', 'exceeded', 'exceeding'],
    ['proceed', 'proceeded', 'proceeding'],
    ['succeed', 'succeeded', 'succeeding'],
  ].flatMap((forms) => forms.map((form) => [form, forms[0]!] as const)),
);

const PLAIN = /^[a-z]+$/;

function dropPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1);
  // Three letters are as often a name (dns, ios, aws) as a plural.
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') && !word.endsWith('us') && !word.endsWith('is')) return word.slice(0, -1);
  return word;
}

function dropPastAndGerund(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const base = word.endsWith('ed') ? word.slice(0, -2) : word.endsWith('ing') ? word.slice(0, -3) : undefined;
  if (base === undefined || base.length < 2 || !hasVowel(base)) return word;
  if (base.length === 2) return `${base}e`; // used, using: use
  if (base.endsWith('at') || base.endsWith('bl') || base.endsWith('iz')) return `${base}e`;
  if (endsInDoubleConsonant(base) && !/[lsz]$/.test(base)) return base.slice(0, -1);
  if (measure(base) === 1 && endsShort(base)) return `${base}e`;
  return base;
}

function yToI(word: string): string {
  return word.endsWith('y') && !isVowel(word, word.length - 2) ? `${word.slice(0, -1)}i` : word;
}

function dropFinalE(word: string): string {
  if (!word.endsWith('e')) return word;
  const base = word.slice(0, -1);
  if (base.length < 3) return word; // `use` is not `us`.
  const size = measure(base);
  return size > 1 || (size === 1 && !endsShort(base)) ? base : word;
}

/** `control` and `controlled` alike: one l after more than one vowel group. */
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

/** How many times consonants follow vowels: Porter's m. */
function measure(word: string): number {
  let count = 0;
  for (let index = 1; index < word.length; index++) if (isVowel(word, index - 1) && !isVowel(word, index)) count++;
  return count;
}

function endsInDoubleConsonant(word: string): boolean {
  return word.length > 1 && word.at(-1) === word.at(-2) && !isVowel(word, word.length - 1);
}

/** Consonant, vowel, consonant other than w, x and y at the end: Porter's *o. */
function endsShort(word: string): boolean {
  const end = word.length - 1;
  return end >= 2 && !isVowel(word, end) && isVowel(word, end - 1) && !isVowel(word, end - 2) && !/[wxy]$/.test(word);
}
