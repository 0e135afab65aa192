import { SideEffect } from '../../core/enums.js';
import { LIMITS } from '../../core/limits.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { Parsed, Parser } from './field-reader.js';

const EFFECTS: readonly unknown[] = Object.values(SideEffect);
const YES: ReadonlySet<unknown> = new Set([true, 1, 'true', 'yes', 'on', '1']);
const NO: ReadonlySet<unknown> = new Set([false, 0, 'false', 'no', 'off', '0']);

/** A yes or no, also in the words of files whose values are all texts. */
export function flag(value: unknown): Parsed<boolean> {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (YES.has(word)) return { value: true };
  return NO.has(word) ? { value: false } : { expected: 'true or false' };
}

/** A yes or no, or an object of manifests that says it as `required`. */
export function flagOrNeed(value: unknown): Parsed<boolean> {
  if (!isPlainObject(value)) return flag(value);
  return Object.hasOwn(value, 'required') ? flag(value['required']) : { expected: 'true or false, or an object with "required"' };
}

/** A duration; 0 stands for "not set", as in the settings this format comes from. */
export function duration(unit: 'seconds' | 'milliseconds'): Parser<number | undefined> {
  const factor = unit === 'seconds' ? 1_000 : 1;
  return (value) => {
    const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (given === 0) return { value: undefined };
    const ms = typeof given === 'number' ? Math.round(given * factor) : Number.NaN;
    return ms >= 1 && ms <= LIMITS.timerMs ? { value: ms } : { expected: `${unit} as a number above 0, up to ${Math.floor(LIMITS.timerMs / factor)}` };
  };
}

/** A text that is not blank, trimmed. */
export function text(value: unknown): Parsed<string> {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LIMITS.sentenceLength ? { value: value.trim() } : { expected: `a text that is not blank, of at most ${LIMITS.sentenceLength} characters` };
}

/** A short text that is not blank, trimmed. */
export function label(value: unknown): Parsed<string> {
  const parsed = text(value);
  return 'value' in parsed && parsed.value.length > LIMITS.labelLength ? { expected: `a text of at most ${LIMITS.labelLength} characters` } : parsed;
}

/** A text that may be blank, trimmed. */
export function anyText(value: unknown): Parsed<string> {
  return typeof value === 'string' ? { value: value.trim() } : { expected: 'a text' };
}

/** One of a few values. */
export function oneOf<T extends string>(values: readonly T[]): Parser<T> {
  return (value) => (values.includes(value as T) ? { value: value as T } : { expected: `one of ${values.map((each) => JSON.stringify(each)).join(', ')}` });
}

/** Side effects: one, or a list of them; `none` alone. */
export function effects(value: unknown): Parsed<readonly SideEffect[]> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const fits = list.length > 0 && list.every((each) => EFFECTS.includes(each)) && (list.length === 1 || !list.includes(SideEffect.NONE));
  return fits ? { value: list as readonly SideEffect[] } : { expected: `one of ${EFFECTS.map((each) => JSON.stringify(each)).join(', ')}, or a list of them without "none"` };
}

/** Names as a list or as one text, with commas between them; trimmed, each once. */
export function names(value: unknown): Parsed<readonly string[]> {
  return listOf(value, /,/, 'a list of names, or one text with commas between them');
}

/** Scopes as a list or as one text, with blanks between them; trimmed, each once. */
export function scopes(value: unknown): Parsed<readonly string[]> {
  return listOf(value, /\s+/, 'a list of scopes, or one text with blanks between them');
}

function listOf(value: unknown, between: RegExp, expected: string): Parsed<readonly string[]> {
  const list: unknown = typeof value === 'string' ? value.split(between) : value;
  if (!Array.isArray(list) || list.length > LIMITS.listLength || !list.every((each) => typeof each === 'string' && each.trim().length <= LIMITS.labelLength)) return { expected };
  return { value: [...new Set((list as string[]).map((each) => each.trim()))].filter((each) => each !== '') };
}

/** Arguments of a program as a list, or as one text that is split at blanks outside of quotes. */
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

/** Texts by name; a number or a yes or no counts as its text. */
export function textsByName(name: RegExp, expected: string): Parser<Readonly<Record<string, string>>> {
  return (value) => {
    if (!isPlainObject(value)) return { expected };
    const members = Object.entries(value);
    // Line breaks and null bytes would end a header or a variable and begin another.
    const fits = members.every(([key, item]) => name.test(key) && ['string', 'number', 'boolean'].includes(typeof item) && !/[\r\n\0]/.test(String(item)));
    return fits ? { value: Object.fromEntries(members.map(([key, item]) => [key, String(item)])) } : { expected };
  };
}
