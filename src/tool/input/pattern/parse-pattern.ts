import { ALL_CODE_POINTS, complementOf, LAST_CODE_POINT, unionOf, type CodePointSet } from './code-point-set.js';

/** One part of a pattern and how often it may come in a row. */
export interface PatternItem {
  /** One character out of a set, a choice of sequences, or an assertion, which takes no character. */
  readonly atom: { readonly set: CodePointSet } | { readonly choices: readonly PatternSequence[] } | { readonly assertion: 'start' | 'end' | 'word' };
  readonly min: number;
  /** Infinity for `*`, `+` and `{n,}`. */
  readonly max: number;
}

export type PatternSequence = readonly PatternItem[];

/** Groups inside groups at most. */
const MAX_DEPTH = 8;

/**
 * The choices of a regular expression (flag `u`), or `undefined` for what is outside the subset that can be judged.
 *
 * The subset: characters and their escapes, classes, `.`, groups without look-around, `|`, `?`, `*`, `+`, `{n,m}`, `^`, `$`
 * and `\b`. Outside of it are look-around, back references, flags inside, and anything that is no pattern at all.
 */
export function parsePattern(pattern: string): readonly PatternSequence[] | undefined {
  try {
    const parser = new PatternParser([...pattern]);
    return parser.parse();
  } catch (error) {
    if (error instanceof OutsideSubset) return undefined;
    throw error;
  }
}

class OutsideSubset extends Error {}

const DIGITS: CodePointSet = [[0x30, 0x39]];
const WORD: CodePointSet = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACE: CodePointSet = [[9, 13], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff]];
const NOT_LINE_END = complementOf([[10, 10], [13, 13], [0x2028, 0x2029]]);
const CLASSES: ReadonlyMap<string, CodePointSet> = new Map([
  ['d', DIGITS],
  ['D', complementOf(DIGITS)],
  ['w', WORD],
  ['W', complementOf(WORD)],
  ['s', SPACE],
  ['S', complementOf(SPACE)],
]);
const CONTROLS: ReadonlyMap<string, number> = new Map([['n', 10], ['r', 13], ['t', 9], ['f', 12], ['v', 11]]);
const SYNTAX = '^$\\.*+?()[]{}|/';

class PatternParser {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  parse(): readonly PatternSequence[] {
    const choices = this.#choices(0);
    if (this.#at < this.#characters.length) throw new OutsideSubset();
    return choices;
  }

  #choices(depth: number): readonly PatternSequence[] {
    if (depth > MAX_DEPTH) throw new OutsideSubset();
    const choices: PatternItem[][] = [[]];
    for (let next = this.#peek(); next !== undefined && next !== ')'; next = this.#peek()) {
      if (next === '|') {
        this.#at++;
        choices.push([]);
      } else choices.at(-1)!.push(this.#item(depth));
    }
    return choices;
  }

  #item(depth: number): PatternItem {
    const atom = this.#atom(depth);
    if ('assertion' in atom) return { atom, min: 1, max: 1 };
    const [min, max] = this.#count();
    return { atom, min, max };
  }

  #atom(depth: number): PatternItem['atom'] {
    const character = this.#take();
    switch (character) {
      case '^':
        return { assertion: 'start' };
      case '$':
        return { assertion: 'end' };
      case '.':
        return { set: NOT_LINE_END };
      case '[':
        return { set: this.#class() };
      case '(':
        return { choices: this.#group(depth) };
      case '\\':
        if (this.#skip('b') || this.#skip('B')) return { assertion: 'word' };
        return { set: this.#escape('') };
      default:
        if (SYNTAX.includes(character) && character !== '/') throw new OutsideSubset();
        return { set: single(character) };
    }
  }

  #group(depth: number): readonly PatternSequence[] {
    if (this.#skip('?')) {
      if (this.#skip('<')) this.#groupName();
      else if (!this.#skip(':')) throw new OutsideSubset();
    }
    const choices = this.#choices(depth + 1);
    this.#expect(')');
    return choices;
  }

  #groupName(): void {
    const name = this.#while((character) => /^\w$/.test(character));
    // `(?<=` and `(?<!` end here too: they have no name.
    if (!/^[A-Za-z_]/.test(name)) throw new OutsideSubset();
    this.#expect('>');
  }

  #count(): readonly [min: number, max: number] {
    const count = this.#greedyCount();
    if (count === undefined) return [1, 1];
    this.#skip('?'); // Fewest first instead of most first: as much work.
    return count;
  }

  #greedyCount(): readonly [min: number, max: number] | undefined {
    if (this.#skip('*')) return [0, Infinity];
    if (this.#skip('+')) return [1, Infinity];
    if (this.#skip('?')) return [0, 1];
    if (!this.#skip('{')) return undefined;
    const min = this.#number();
    const max = !this.#skip(',') ? min : this.#peek() === '}' ? Infinity : this.#number();
    this.#expect('}');
    if (max < min) throw new OutsideSubset();
    return [min, max];
  }

  #number(): number {
    const digits = this.#while((character) => character >= '0' && character <= '9');
    if (digits === '' || digits.length > 6) throw new OutsideSubset();
    return Number(digits);
  }

  #class(): CodePointSet {
    const negated = this.#skip('^');
    const sets: CodePointSet[] = [];
    while (!this.#skip(']')) {
      const from = this.#classMember();
      if (this.#peek() !== '-' || this.#characters[this.#at + 1] === ']') {
        sets.push(from);
        continue;
      }
      this.#at++;
      const to = this.#classMember();
      const start = onlyOf(from);
      const end = onlyOf(to);
      if (start > end) throw new OutsideSubset();
      sets.push([[start, end]]);
    }
    const set = unionOf(sets);
    return negated ? complementOf(set) : set;
  }

  #classMember(): CodePointSet {
    const character = this.#take();
    if (character === '\\') return this.#skip('b') ? single('\b') : this.#escape('-');
    return single(character);
  }

  #escape(alsoAllowed: string): CodePointSet {
    const character = this.#take();
    const set = CLASSES.get(character);
    if (set !== undefined) return set;
    const control = CONTROLS.get(character);
    if (control !== undefined) return [[control, control]];
    if (SYNTAX.includes(character) || alsoAllowed === character) return single(character);
    if (character === 'x') return this.#hex(2);
    if (character === 'u') return this.#skip('{') ? this.#braced() : this.#hex(4);
    if (character === 'p' || character === 'P') return this.#property();
    throw new OutsideSubset(); // Back references, `\k<name>`, `\0`, `\c`.
  }

  /** Which characters have a property is not known here: as many as can be. */
  #property(): CodePointSet {
    this.#expect('{');
    this.#while((character) => /^[\w=]$/.test(character));
    this.#expect('}');
    return ALL_CODE_POINTS;
  }

  #hex(digits: number): CodePointSet {
    const text = this.#while(isHex, digits);
    const code = parseInt(text, 16);
    // Half of a surrogate pair: two of them in a row are one character.
    if (text.length < digits || (code >= 0xd800 && code <= 0xdfff)) throw new OutsideSubset();
    return [[code, code]];
  }

  #braced(): CodePointSet {
    const code = parseInt(this.#while(isHex, 6), 16);
    this.#expect('}');
    if (!(code <= LAST_CODE_POINT)) throw new OutsideSubset();
    return [[code, code]];
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #take(): string {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw new OutsideSubset();
    return character;
  }

  #skip(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw new OutsideSubset();
  }

  #while(accepts: (character: string) => boolean, most = Infinity): string {
    const start = this.#at;
    while (this.#at < this.#characters.length && this.#at - start < most && accepts(this.#characters[this.#at]!)) this.#at++;
    return this.#characters.slice(start, this.#at).join('');
  }
}

function isHex(character: string): boolean {
  return /^[0-9A-Fa-f]$/.test(character);
}

function single(character: string): CodePointSet {
  const code = character.codePointAt(0)!;
  return [[code, code]];
}

/** Ends of a range are single characters: `[\d-z]` is no pattern. */
function onlyOf(set: CodePointSet): number {
  const [range, ...others] = set;
  if (range === undefined || others.length > 0 || range[0] !== range[1]) throw new OutsideSubset();
  return range[0];
}
