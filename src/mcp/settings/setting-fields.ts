import { FLOW_LABELS, type FlowLabel } from '../../core/flow.js';
import { SideEffect } from '../../core/enums.js';
import type { Issue } from '../../core/errors.js';
import { expectedGot, kindOf, unknownOption } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

/** The meaning of a value, or what was expected instead; of one that may be `secret`, messages tell the kind only. */
type Parsed<T> =
  | { readonly value: T; readonly warning?: string }
  | { readonly expected: string; readonly secret?: true };
/** Reads a value; `name` is the one that it was written under. */
export type Parser<T> = (value: unknown, name: string) => Parsed<T>;

/** Reads the members of a settings object one by one; collects what is wrong, and the members that nothing reads. */
export class FieldReader {
  /** The issues of this object and of those around it. */
  readonly issues: Issue[];
  /** The warnings of settings that are read all the same, of this object and of those around it. */
  readonly warnings: Issue[];
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #path: Issue['path'];
  readonly #known = new Set<string>();
  readonly #before: number;

  constructor(
    object: unknown,
    path: Issue['path'] = [],
    { issues, warnings }: { readonly issues: Issue[]; readonly warnings: Issue[] } = {
      issues: [],
      warnings: [],
    },
  ) {
    this.#path = path;
    this.issues = issues;
    this.warnings = warnings;
    this.#before = issues.length;
    if (!isPlainObject(object))
      issues.push({ path, message: expectedGot('an object of settings', kindOf(object)) });
    // `null` is what files write for "not set".
    this.#members = new Map(
      isPlainObject(object)
        ? Object.entries(object).filter(([, value]) => value !== undefined && value !== null)
        : [],
    );
  }

  /** Returns a setting; `undefined` when it is missing or wrong. @param names in snake_case, each of which may be written in camelCase too. */
  read<T>(parse: Parser<T>, ...names: readonly string[]): T | undefined {
    const given = this.raw(...names);
    if (given === undefined) return undefined;
    const parsed = parse(given.value, given.name);
    if ('value' in parsed) {
      if (parsed.warning !== undefined) this.warn(parsed.warning, given.name);
      return parsed.value;
    }
    this.fault(
      expectedGot(
        parsed.expected,
        parsed.secret ? kindOf(given.value) : describeValue(given.value),
      ),
      given.name,
    );
    return undefined;
  }

  /** Returns a setting as it was written, with the name that it was written under. */
  raw(...names: readonly string[]): { readonly name: string; readonly value: unknown } | undefined {
    const spellings = [
      ...new Set(
        names.flatMap((name) => [
          name,
          name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        ]),
      ),
    ];
    for (const name of spellings) this.#known.add(name);
    const given = spellings.filter((name) => this.#members.has(name));
    if (given.length > 1)
      this.fault(
        expectedGot(
          `one of ${spellings.join(', ')}`,
          `${given.join(' and ')}, which mean the same`,
          'Leave one out.',
        ),
      );
    return given.length === 1
      ? { name: given[0]!, value: this.#members.get(given[0]!) }
      : undefined;
  }

  /** Returns the reader of an object inside. */
  inner(object: unknown, ...place: Issue['path']): FieldReader {
    return new FieldReader(object, [...this.#path, ...place], this);
  }

  /**
   * Warns of the members that no setting is called; to be called when everything was read. They refuse nothing: files of
   * other programs have more than is read here.
   *
   * @param foreign the settings of other programs: what to do instead, or nothing where they mean nothing here.
   */
  warnOfUnknown(foreign: Readonly<Record<string, string>> = {}): void {
    for (const [name, value] of this.#members) {
      if (this.#known.has(name)) continue;
      const advice = Object.hasOwn(foreign, name) ? foreign[name] : undefined;
      if (advice === undefined) this.warn(unknownOption(name, [...this.#known]), name);
      else if (advice !== '' && value !== false)
        this.warn(expectedGot('a setting that is understood', JSON.stringify(name), advice), name);
    }
  }

  /** True when anything was wrong since this reader was made. */
  get hasFaults(): boolean {
    return this.issues.length > this.#before;
  }

  fault(message: string, ...place: Issue['path']): void {
    this.issues.push({ path: [...this.#path, ...place], message });
  }

  warn(message: string, ...place: Issue['path']): void {
    this.warnings.push({ path: [...this.#path, ...place], message });
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

/** The most seconds that a `timeout` has in the clients that count in seconds; others count in milliseconds. */
const MOST_SECONDS = 3_600;

/** Reads a duration: milliseconds under a name that ends in `Ms`, and else seconds; 0 stands for "not set", as in the settings this format comes from. */
export function duration(value: unknown, name: string): Parsed<number | undefined> {
  const [unit, factor] = name.endsWith('Ms') ? ['milliseconds', 1] : ['seconds', 1_000];
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (given === 0) return { value: undefined };
  if (
    name === 'timeout' &&
    typeof given === 'number' &&
    given > MOST_SECONDS &&
    given <= LIMITS.timerMs
  )
    return {
      value: Math.round(given),
      warning: expectedGot(
        `a timeout of at most ${MOST_SECONDS} seconds`,
        `${given}, which is read as milliseconds`,
        'Write timeoutMs or timeout_seconds.',
      ),
    };
  const ms = typeof given === 'number' ? Math.round(given * factor) : Number.NaN;
  return ms >= 1 && ms <= LIMITS.timerMs
    ? { value: ms }
    : { expected: `${unit} as a number above 0, up to ${Math.floor(LIMITS.timerMs / factor)}` };
}

/** Reads a short text that is not blank, trimmed. */
export function label(value: unknown): Parsed<string> {
  const text = typeof value === 'string' ? value.trim() : '';
  return text !== '' && text.length <= LIMITS.labelLength
    ? { value: text }
    : { expected: `a text that is not blank, of at most ${LIMITS.labelLength} characters` };
}

/** Makes a parser for one of a few values. */
export function oneOf<T extends string>(values: readonly T[]): Parser<T> {
  return (value) =>
    values.includes(value as T)
      ? { value: value as T }
      : { expected: `one of ${values.map((each) => JSON.stringify(each)).join(', ')}` };
}

const EFFECTS: readonly unknown[] = Object.values(SideEffect);

/** Reads side effects: one, or a list of them; `none` alone. */
export function effects(value: unknown): Parsed<readonly SideEffect[]> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const fits =
    list.length > 0 &&
    list.every((each) => EFFECTS.includes(each)) &&
    (list.length === 1 || !list.includes(SideEffect.NONE));
  return fits
    ? { value: list as readonly SideEffect[] }
    : {
        expected: `one of ${EFFECTS.map((each) => JSON.stringify(each)).join(', ')}, or a list of them without "none"`,
      };
}

/** Reads what a tool reads: a list of labels, empty for neither. */
export function flowLabels(value: unknown): Parsed<readonly FlowLabel[]> {
  const fits =
    Array.isArray(value) &&
    (value as unknown[]).every((each) => (FLOW_LABELS as readonly unknown[]).includes(each));
  return fits
    ? { value: FLOW_LABELS.filter((label) => (value as readonly unknown[]).includes(label)) }
    : {
        expected: `a list of ${FLOW_LABELS.map((each) => JSON.stringify(each)).join(' and ')}, empty for neither`,
      };
}

/** Reads a whole number from 1 up to a bound. */
export function countUpTo(most: number): Parser<number> {
  return (value) => {
    const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return Number.isInteger(given) && (given as number) >= 1 && (given as number) <= most
      ? { value: given as number }
      : { expected: `a whole number from 1 to ${most}` };
  };
}

/** Reads names as a list or as one text, with commas between them; trimmed, each once. */
export const names = listOf(/,/, 'a list of names, or one text with commas between them');
/** Reads scopes as a list or as one text, with blanks between them; trimmed, each once. */
export const scopes = listOf(/\s+/, 'a list of scopes, or one text with blanks between them');

function listOf(between: RegExp, expected: string): Parser<readonly string[]> {
  return (value) => {
    const list: unknown = typeof value === 'string' ? value.split(between) : value;
    if (
      !Array.isArray(list) ||
      list.length > LIMITS.listLength ||
      !list.every((each) => typeof each === 'string' && each.trim().length <= LIMITS.labelLength)
    )
      return { expected };
    return {
      value: [...new Set((list as string[]).map((each) => each.trim()))].filter(
        (each) => each !== '',
      ),
    };
  };
}
