import { SideEffect } from '../../core/enums.js';
import type { Issue } from '../../core/errors.js';
import { expectedGot, kindOf, unknownOption } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

/** The meaning of a value, or what was expected instead. */
type Parsed<T> = { readonly value: T } | { readonly expected: string };
/** Reads a value; `name` is the one that it was written under. */
export type Parser<T> = (value: unknown, name: string) => Parsed<T>;

/** Reads the members of a settings object one by one; collects what is wrong, and the members that nothing reads. */
export class FieldReader {
  /** Everything that is wrong, in this object and in those around it. */
  readonly issues: Issue[];
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #path: Issue['path'];
  readonly #known = new Set<string>();
  readonly #before: number;

  constructor(object: unknown, path: Issue['path'] = [], issues: Issue[] = []) {
    this.#path = path;
    this.issues = issues;
    this.#before = issues.length;
    if (!isPlainObject(object)) issues.push({ path, message: expectedGot('an object of settings', kindOf(object)) });
    // `null` is what files write for "not set".
    this.#members = new Map(isPlainObject(object) ? Object.entries(object).filter(([, value]) => value !== undefined && value !== null) : []);
  }

  /** Returns a setting; `undefined` when it is missing or wrong. @param names in snake_case, each of which may be written in camelCase too. */
  read<T>(parse: Parser<T>, ...names: readonly string[]): T | undefined {
    return this.#parse(parse, names, describeValue);
  }

  /** Returns a setting that may hold a secret, as `read`: messages tell the kind of its value only. */
  readSecret<T>(parse: Parser<T>, ...names: readonly string[]): T | undefined {
    return this.#parse(parse, names, kindOf);
  }

  /** Returns a setting as it was written, with the name that it was written under. */
  raw(...names: readonly string[]): { readonly name: string; readonly value: unknown } | undefined {
    const spellings = [...new Set(names.flatMap((name) => [name, name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]))];
    for (const name of spellings) this.#known.add(name);
    const given = spellings.filter((name) => this.#members.has(name));
    if (given.length > 1) this.fault(expectedGot(`one of ${spellings.join(', ')}`, `${given.join(' and ')}, which mean the same`, 'Leave one out.'));
    return given.length === 1 ? { name: given[0]!, value: this.#members.get(given[0]!) } : undefined;
  }

  /** Returns the reader of an object inside. */
  inner(object: unknown, ...place: Issue['path']): FieldReader {
    return new FieldReader(object, [...this.#path, ...place], this.issues);
  }

  /** Reports the members that no setting is called; to be called when everything was read. */
  refuseUnknown(): void {
    for (const name of this.#members.keys()) if (!this.#known.has(name)) this.fault(unknownOption(name, [...this.#known]), name);
  }

  /** True when anything was wrong since this reader was made. */
  get hasFaults(): boolean {
    return this.issues.length > this.#before;
  }

  fault(message: string, ...place: Issue['path']): void {
    this.issues.push({ path: [...this.#path, ...place], message });
  }

  #parse<T>(parse: Parser<T>, names: readonly string[], describe: (value: unknown) => string): T | undefined {
    const given = this.raw(...names);
    if (given === undefined) return undefined;
    const parsed = parse(given.value, given.name);
    if ('value' in parsed) return parsed.value;
    this.fault(expectedGot(parsed.expected, describe(given.value)), given.name);
    return undefined;
  }
}

const EFFECTS: readonly unknown[] = Object.values(SideEffect);
const TRUE: ReadonlySet<unknown> = new Set([true, 1, 'true', 'yes', 'on', '1']);
const FALSE: ReadonlySet<unknown> = new Set([false, 0, 'false', 'no', 'off', '0']);

/** Reads true or false, also in the words of files whose values are all texts. */
export function flag(value: unknown): Parsed<boolean> {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (TRUE.has(word)) return { value: true };
  return FALSE.has(word) ? { value: false } : { expected: 'true or false' };
}

/** Reads true or false, or an object of manifests that says it as `required`. */
export function flagOrNeed(value: unknown): Parsed<boolean> {
  if (!isPlainObject(value)) return flag(value);
  return Object.hasOwn(value, 'required') ? flag(value['required']) : { expected: 'true or false, or an object with "required"' };
}

/** Reads a duration: milliseconds under a name that ends in `Ms`, and else seconds; 0 stands for "not set", as in the settings this format comes from. */
export function duration(value: unknown, name: string): Parsed<number | undefined> {
  const [unit, factor] = name.endsWith('Ms') ? ['milliseconds', 1] : ['seconds', 1_000];
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (given === 0) return { value: undefined };
  const ms = typeof given === 'number' ? Math.round(given * factor) : Number.NaN;
  return ms >= 1 && ms <= LIMITS.timerMs ? { value: ms } : { expected: `${unit} as a number above 0, up to ${Math.floor(LIMITS.timerMs / factor)}` };
}

/** Reads a text that is not blank, trimmed. */
export function text(value: unknown): Parsed<string> {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LIMITS.sentenceLength ? { value: value.trim() } : { expected: `a text that is not blank, of at most ${LIMITS.sentenceLength} characters` };
}

/** Reads a short text that is not blank, trimmed. */
export function label(value: unknown): Parsed<string> {
  const parsed = text(value);
  return 'value' in parsed && parsed.value.length > LIMITS.labelLength ? { expected: `a text of at most ${LIMITS.labelLength} characters` } : parsed;
}

/** Reads a text that may be blank, trimmed. */
export function anyText(value: unknown): Parsed<string> {
  return typeof value === 'string' ? { value: value.trim() } : { expected: 'a text' };
}

/** Makes a parser for one of a few values. */
export function oneOf<T extends string>(values: readonly T[]): Parser<T> {
  return (value) => (values.includes(value as T) ? { value: value as T } : { expected: `one of ${values.map((each) => JSON.stringify(each)).join(', ')}` });
}

/** Reads side effects: one, or a list of them; `none` alone. */
export function effects(value: unknown): Parsed<readonly SideEffect[]> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const fits = list.length > 0 && list.every((each) => EFFECTS.includes(each)) && (list.length === 1 || !list.includes(SideEffect.NONE));
  return fits ? { value: list as readonly SideEffect[] } : { expected: `one of ${EFFECTS.map((each) => JSON.stringify(each)).join(', ')}, or a list of them without "none"` };
}

/** Reads names as a list or as one text, with commas between them; trimmed, each once. */
export function names(value: unknown): Parsed<readonly string[]> {
  return listOf(value, /,/, 'a list of names, or one text with commas between them');
}

/** Reads scopes as a list or as one text, with blanks between them; trimmed, each once. */
export function scopes(value: unknown): Parsed<readonly string[]> {
  return listOf(value, /\s+/, 'a list of scopes, or one text with blanks between them');
}

function listOf(value: unknown, between: RegExp, expected: string): Parsed<readonly string[]> {
  const list: unknown = typeof value === 'string' ? value.split(between) : value;
  if (!Array.isArray(list) || list.length > LIMITS.listLength || !list.every((each) => typeof each === 'string' && each.trim().length <= LIMITS.labelLength)) return { expected };
  return { value: [...new Set((list as string[]).map((each) => each.trim()))].filter((each) => each !== '') };
}

/** Reads arguments of a program as a list, or as one text that is split at blanks outside of quotes. */
export function programArguments(value: unknown): Parsed<readonly string[]> {
  const expected = 'a list of arguments, or one text with blanks between them and every quote closed';
  if (typeof value !== 'string') return Array.isArray(value) && value.every((each) => typeof each === 'string') ? { value: [...value] } : { expected };
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const character of value) {
    if (quote !== '') {
      if (character === quote) quote = '';
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  if (word !== undefined) words.push(word);
  return quote === '' ? { value: words } : { expected };
}

/** Makes a parser for texts by name; a number or a boolean counts as its text. */
export function textsByName(name: RegExp, expected: string): Parser<Readonly<Record<string, string>>> {
  return (value) => {
    if (!isPlainObject(value)) return { expected };
    const members = Object.entries(value);
    // Line breaks and null bytes would end a header or a variable and begin another.
    const fits = members.every(([key, item]) => name.test(key) && ['string', 'number', 'boolean'].includes(typeof item) && !/[\r\n\0]/.test(String(item)));
    return fits ? { value: Object.fromEntries(members.map(([key, item]) => [key, String(item)])) } : { expected };
  };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;

/** Reads variables that hold credentials. Only names: the credential itself may stand there, which must not travel. */
export function variableNames(value: unknown): Parsed<Readonly<Record<string, string>>> {
  const named = typeof value === 'string' ? { [value.trim()]: value.trim() } : value;
  const fits = isPlainObject(named) && Object.entries(named).every(([name, variable]) => VARIABLE.test(name) && typeof variable === 'string' && VARIABLE.test(variable.trim()));
  if (!fits) return { expected: 'the name of a variable, or an object {"label": "VARIABLE"}' };
  return { value: Object.fromEntries(Object.entries(named).map(([name, variable]) => [name, (variable as string).trim()])) };
}
