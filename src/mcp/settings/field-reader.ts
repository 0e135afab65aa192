import type { Issue } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { expectedGot, kindOf, unknownOption } from '../../core/issues.js';

/** What a value means, or what was expected instead. */
export type Parsed<T> = { readonly value: T } | { readonly expected: string };
export type Parser<T> = (value: unknown) => Parsed<T>;

/** One setting: each name it may be written under, and how its value is then read. */
export type Spellings<T> = Readonly<Record<string, Parser<T>>>;

/** The members of a settings object, read one by one; what is wrong is collected, and what nobody asked for is too. */
export class FieldReader {
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #path: Issue['path'];
  readonly #issues: Issue[];
  readonly #known = new Set<string>();
  readonly #before: number;

  constructor(object: unknown, path: Issue['path'], issues: Issue[]) {
    this.#path = path;
    this.#issues = issues;
    this.#before = issues.length;
    if (!isPlainObject(object)) issues.push({ path, message: expectedGot('an object of settings', kindOf(object)) });
    // `null` is what files write for "not set".
    this.#members = new Map(isPlainObject(object) ? Object.entries(object).filter(([, value]) => value !== undefined && value !== null) : []);
  }

  /** The value of a setting; `undefined` when it is missing or wrong. */
  read<T>(spellings: Spellings<T>): T | undefined {
    return this.#parse(spellings, describeValue);
  }

  /** Like `read`, for values that may hold a secret: messages tell their kind only. */
  readSecret<T>(spellings: Spellings<T>): T | undefined {
    return this.#parse(spellings, kindOf);
  }

  /** The value of a setting as it was written, with the name it was written under. */
  raw(...names: readonly string[]): { readonly name: string; readonly value: unknown } | undefined {
    for (const name of names) this.#known.add(name);
    const given = names.filter((name) => this.#members.has(name));
    if (given.length > 1) this.#issues.push({ path: this.#path, message: expectedGot(`one of ${names.join(', ')}`, `${given.join(' and ')}, which mean the same`, 'Leave one out.') });
    return given.length === 1 ? { name: given[0]!, value: this.#members.get(given[0]!) } : undefined;
  }

  /** Reports the members that no setting is called. Last, when everything was read. */
  refuseUnknown(): void {
    for (const name of this.#members.keys()) {
      if (this.#known.has(name)) continue;
      this.#issues.push({ path: [...this.#path, name], message: unknownOption(name, [...this.#known]) });
    }
  }

  /** Whether anything was found wrong since this reader was made. */
  get hasFaults(): boolean {
    return this.#issues.length > this.#before;
  }

  fault(message: string, ...place: Issue['path']): void {
    this.#issues.push({ path: [...this.#path, ...place], message });
  }

  #parse<T>(spellings: Spellings<T>, describe: (value: unknown) => string): T | undefined {
    const given = this.raw(...Object.keys(spellings));
    if (given === undefined) return undefined;
    const parsed = spellings[given.name]!(given.value);
    if ('value' in parsed) return parsed.value;
    this.fault(expectedGot(parsed.expected, describe(given.value)), given.name);
    return undefined;
  }
}
