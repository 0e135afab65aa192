import { SideEffect } from '../../core/enums.js';
import type { Issue } from '../../core/errors.js';
import { expectedGot, kindOf, unknownOption } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

/** The meaning of a value, or what was expected instead; of one that may be `secret`, messages tell the kind only. */
type Parsed<T> = { readonly value: T } | { readonly expected: string; readonly secret?: true };
/** Reads a value; `name` is the one that it was written under. */
export type Parser<T> = (value: unknown, name: string) => Parsed<T>;

/** Reads the members of a settings object one by one; collects what is wrong, and the members that nothing reads. */
export class FieldReader {
  /** The issues of this object and of those around it. */
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
    const given = this.raw(...names);
    if (given === undefined) return undefined;
    const parsed = parse(given.value, given.name);
    if ('value' in parsed) return parsed.value;
    this.fault(expectedGot(parsed.expected, parsed.secret ? kindOf(given.value) : describeValue(given.value)), given.name);
    return undefined;
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
}

const TRUE: ReadonlySet<unknown> = new Set([true, 1, 'true', 'yes', 'on', '1']);
const FALSE: ReadonlySet<unknown> = new Set([false, 0, 'false', 'no', 'off', '0']);

/** Reads true or false, also in the words of files whose values are all texts. */
export function flag(value: unknown): Parsed<boolean> {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (TRUE.has(word)) return { value: true };
  return FALSE.has(word) ? { value: false } : { expected: 'true or false' };
}

/** Reads a duration: milliseconds under a name that ends in `Ms`, and else seconds; 0 stands for "not set", as in the settings this format comes from. */
export function duration(value: unknown, name: string): Parsed<number | undefined> {
  const [unit, factor] = name.endsWith('Ms') ? ['milliseconds', 1] : ['seconds', 1_000];
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (given === 0) return { value: undefined };
  const ms = typeof given === 'number' ? Math.round(given * factor) : Number.NaN;
  return ms >= 1 && ms <= LIMITS.timerMs ? { value: ms } : { expected: `${unit} as a number above 0, up to ${Math.floor(LIMITS.timerMs / factor)}` };
}

/** Reads a short text that is not blank, trimmed. */
export function label(value: unknown): Parsed<string> {
  const text = typeof value === 'string' ? value.trim() : '';
  return text !== '' && text.length <= LIMITS.labelLength ? { value: text } : { expected: `a text that is not blank, of at most ${LIMITS.labelLength} characters` };
}

/** Makes a parser for one of a few values. */
export function oneOf<T extends string>(values: readonly T[]): Parser<T> {
  return (value) => (values.includes(value as T) ? { value: value as T } : { expected: `one of ${values.map((each) => JSON.stringify(each)).join(', ')}` });
}

const EFFECTS: readonly unknown[] = Object.values(SideEffect);

/** Reads side effects: one, or a list of them; `none` alone. */
export function effects(value: unknown): Parsed<readonly SideEffect[]> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const fits = list.length > 0 && list.every((each) => EFFECTS.includes(each)) && (list.length === 1 || !list.includes(SideEffect.NONE));
  return fits ? { value: list as readonly SideEffect[] } : { expected: `one of ${EFFECTS.map((each) => JSON.stringify(each)).join(', ')}, or a list of them without "none"` };
}

/** Reads names as a list or as one text, with commas between them; trimmed, each once. */
export const names = listOf(/,/, 'a list of names, or one text with commas between them');
/** Reads scopes as a list or as one text, with blanks between them; trimmed, each once. */
export const scopes = listOf(/\s+/, 'a list of scopes, or one text with blanks between them');

function listOf(between: RegExp, expected: string): Parser<readonly string[]> {
  return (value) => {
    const list: unknown = typeof value === 'string' ? value.split(between) : value;
    if (!Array.isArray(list) || list.length > LIMITS.listLength || !list.every((each) => typeof each === 'string' && each.trim().length <= LIMITS.labelLength)) return { expected };
    return { value: [...new Set((list as string[]).map((each) => each.trim()))].filter((each) => each !== '') };
  };
}
