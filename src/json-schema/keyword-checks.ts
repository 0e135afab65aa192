import { canonicalJson, type Json } from '../core/plain-data.js';
import { typeWords } from '../core/issues.js';
import type { Check, CheckRun, SchemaNode } from './check-run.js';
import type { Plain } from './schema-document.js';
import {
  choiceIssues,
  clip,
  listValues,
  MAX_LISTED,
  missingIssue,
  shortJson,
  unknownIssue,
  type SchemaIssue,
} from './schema-issues.js';

/**
 * Returns true if a string matches a pattern. `undefined` means that the pattern isn't checked
 * here.
 */
export type Matcher = ((text: string) => boolean) | undefined;

export function isObject(value: Json): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPart(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

/** Returns a check that doesn't apply to other values than objects. */
function ofObjects(check: Check<Plain>): Check {
  return (value, run, seen) => !isObject(value) || check(value, run, seen);
}

/** Returns a check that doesn't apply to other values than lists. */
function ofLists(check: Check<readonly Json[]>): Check {
  return (value, run, seen) => !Array.isArray(value) || check(value as readonly Json[], run, seen);
}

function typeOf(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

export function references(node: SchemaNode | undefined): Check | undefined {
  return node && ((value, run, seen) => run.visit(node, value, seen));
}

export function hasType(types: readonly string[]): Check {
  const allowed = new Set(types);
  const expected = types.map(typeWords).join(' or ');
  return (value, run) =>
    allowed.has(typeOf(value)) ||
    (allowed.has('integer') && Number.isInteger(value)) ||
    run.fail(expected, value);
}

export function isOneOf(values: readonly Json[]): Check {
  const expected = values.length === 1 ? shortJson(values[0]) : `one of ${listValues(values)}`;
  const plain = new Set(values.filter((value) => !isPart(value)));
  const parts = new Set(values.filter(isPart).map(canonicalJson));
  return (value, run) =>
    (isPart(value) ? parts.size > 0 && parts.has(run.keyOf(value)) : plain.has(value)) ||
    run.fail(expected, value);
}

/**
 * Returns true for an exact multiple, even of decimals: 19.99 is a multiple of 0.01, although
 * floating-point arithmetic disagrees.
 */
function isMultiple(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [[a, aPower], [b, bPower]] = [decimal(value), decimal(divisor)];
  const power = Math.min(aPower, bPower);
  return (a * 10n ** BigInt(aPower - power)) % (b * 10n ** BigInt(bPower - power)) === 0n;
}

function decimal(value: number): readonly [digits: bigint, power: number] {
  const [digits = '', power = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  return [BigInt(whole + fraction), Number(power) - fraction.length];
}

/** A keyword that compares a number with a part of the value, such as its length. */
type Bound = readonly [
  keyword: string,
  /** Returns `undefined` for values to which the keyword doesn't apply. */
  measure: (value: Json) => number | undefined,
  holds: (measured: number, bound: number) => boolean,
  expected: string,
  unit?: string,
];

const isAtLeast = (measured: number, bound: number) => measured >= bound;
const isAtMost = (measured: number, bound: number) => measured <= bound;
const number = (value: Json) => (typeof value === 'number' ? value : undefined);
const entries = (value: Json) => (Array.isArray(value) ? value.length : undefined);
const fields = (value: Json) => (isObject(value) ? Object.keys(value).length : undefined);

/** Returns the number of characters of a text. A surrogate pair is one character. */
function characters(value: Json): number | undefined {
  if (typeof value !== 'string') return undefined;
  return value.length - (value.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

/** The keywords whose values are numbers. */
export const BOUNDS: readonly Bound[] = [
  ['minimum', number, isAtLeast, 'at least'],
  ['maximum', number, isAtMost, 'at most'],
  ['exclusiveMinimum', number, (value, bound) => value > bound, 'more than'],
  ['exclusiveMaximum', number, (value, bound) => value < bound, 'less than'],
  ['multipleOf', number, isMultiple, 'a multiple of'],
  ['minLength', characters, isAtLeast, 'at least', 'character'],
  ['maxLength', characters, isAtMost, 'at most', 'character'],
  ['minItems', entries, isAtLeast, 'at least', 'entry'],
  ['maxItems', entries, isAtMost, 'at most', 'entry'],
  ['minProperties', fields, isAtLeast, 'at least', 'field'],
  ['maxProperties', fields, isAtMost, 'at most', 'field'],
];
/** Returns the check of one of `BOUNDS`. */
export function bounded([, measure, holds, expected, unit]: Bound, bound: number): Check {
  return (value, run) => {
    const measured = measure(value);
    if (measured === undefined) return true;
    if (unit !== undefined) run.spend(measured >> 4);
    if (holds(measured, bound)) return true;
    const after = unit === 'character' ? ` (${counted(measured, unit)})` : '';
    return run.fail(`${expected} ${counted(bound, unit)}`, value, after);
  };
}

function counted(count: number, unit: string | undefined): string {
  if (unit === undefined) return String(count);
  return `${count} ${count === 1 ? unit : `${unit.replace(/y$/, 'ie')}s`}`;
}

/** @param maxLength Longer texts are refused anyway, so the pattern doesn't run on them. */
export function matches(
  [pattern, matcher]: readonly [pattern: string, Matcher],
  maxLength = Infinity,
): Check {
  return (value, run) => {
    if (typeof value !== 'string' || value.length > 2 * maxLength) return true;
    if (matcher === undefined) return (run.unsure = true);
    run.spend(value.length >> 4);
    return matcher(value) || run.fail(`text that matches ${clip(pattern, MAX_LISTED)}`, value);
  };
}

export function requires(names: readonly string[]): Check {
  return ofObjects((value, run) => {
    run.spend(names.length >> 2);
    const missing = names.filter((name) => !Object.hasOwn(value, name));
    return (
      missing.length === 0 ||
      run.tell(...(run.isTelling ? missing.map((name) => missingIssue(run.path, name)) : []))
    );
  });
}

export function whenPresent(name: string, check: Check): Check {
  return ofObjects((value, run, seen) => !Object.hasOwn(value, name) || check(value, run, seen));
}

export function members(
  properties: readonly (readonly [string, SchemaNode])[] = [],
  patterns: readonly (readonly [Matcher, SchemaNode])[] = [],
  rest?: SchemaNode,
): Check {
  const declared = new Set(properties.map(([name]) => name));
  /** Checks the members that `properties` doesn't name, and those that match a pattern. */
  const otherMembers: Check<Plain> = (value, run, seen) =>
    run.all(Object.keys(value), (name) => {
      run.spend(1 + patterns.length * (1 + (name.length >> 4)));
      const parts = patterns.filter(([matcher]) => matcher?.(name)).map(([, node]) => node);
      // A name that might match an unchecked pattern counts as known.
      const isMaybe = patterns.some(([matcher]) => matcher === undefined);
      if (isMaybe) run.unsure = true;
      else if (rest !== undefined && !declared.has(name) && parts.length === 0) parts.push(rest);
      if (parts.length > 0 || isMaybe) seen?.names.add(name);
      return run.all(parts, (node) => fitsMember(value, name, node, run, node === rest));
    });
  return ofObjects((value, run, seen) => {
    run.spend(properties.length >> 2);
    const fits = run.all(properties, ([name, node]) => {
      if (!Object.hasOwn(value, name)) return true;
      seen?.names.add(name);
      return run.visitPart(name, node, value[name]!);
    });
    if (patterns.length === 0 && rest === undefined) return fits;
    return (fits || run.isTelling) && otherMembers(value, run, seen) && fits;
  });
}

/** @param isLeft True for a member that no other keyword names. */
function fitsMember(
  value: Plain,
  name: string,
  node: SchemaNode,
  run: CheckRun,
  isLeft: boolean,
): boolean {
  return node.isFalse && isLeft
    ? run.tell(unknownIssue(run.path, name))
    : run.visitPart(name, node, value[name]!);
}

export function memberNames(node: SchemaNode): Check {
  return ofObjects((value, run) => {
    const { isName } = run;
    run.isName = true;
    const fits = run.all(Object.keys(value), (name) => run.visitPart(name, node, name));
    run.isName = isName;
    return fits;
  });
}

export function items(first: readonly SchemaNode[] = [], rest?: SchemaNode): Check {
  return ofLists((list, run, seen) => {
    const checked = rest === undefined ? list.slice(0, first.length) : list;
    if (seen !== undefined) seen.items = Math.max(seen.items, checked.length);
    return run.all(checked, (item, index) => run.visitPart(index, first[index] ?? rest!, item));
  });
}

export function contains(node: SchemaNode, min = 1, max = Infinity): Check {
  return ofLists((list, run, seen) => {
    let sure = 0;
    let maybe = 0;
    for (const [index, item] of list.entries()) {
      const answer = run.ask(node, item, undefined);
      if (answer === 'no') continue;
      if (answer === 'yes') sure++;
      else maybe++;
      seen?.places.add(index);
    }
    if (maybe > 0) run.unsure = true;
    const fail = (bound: string, matching: number) =>
      run.fail(`${bound} entries that match the schema in contains`, list, ` (${matching} match)`);
    if (sure > max) return fail(`at most ${max}`, sure);
    return sure + maybe >= min || fail(`at least ${min}`, sure + maybe);
  });
}

/**
 * Accepts a list whose items are all different. Equal items have equal keys, so each item is read
 * only once.
 */
export const hasUniqueItems: Check = ofLists((list, run) => {
  run.spend(list.length);
  const seen = new Set(
    list.map((item) => (isPart(item) || typeof item === 'string' ? run.keyOf(item) : item)),
  );
  return seen.size === list.length || run.fail('entries that are all different', list);
});

export function fitsOne(nodes: readonly SchemaNode[], isExact: boolean): Check {
  return (value, run, seen) => {
    const told: SchemaIssue[][] = [];
    let sure = 0;
    let maybe = 0;
    for (const node of nodes) {
      const answer = run.ask(node, value, seen, told);
      if (answer === 'yes') sure++;
      else if (answer === 'maybe') maybe++;
      // Continues after a match, because the other branches can evaluate more members.
      if (answer === 'yes' && !isExact && seen === undefined) return true;
      if (isExact && sure > 1 && !run.isTelling) return false;
    }
    if (isExact && sure > 1)
      return run.fail('a value that matches exactly one schema', value, ` (it matches ${sure})`);
    if (maybe > 0 && (isExact || sure === 0)) run.unsure = true;
    return (
      sure + maybe > 0 ||
      run.tell(...(run.isTelling ? choiceIssues([...run.path], value, told) : []))
    );
  };
}

/**
 * Returns the check for `not`. If an unchecked pattern leaves open whether the value matches the
 * subschema, the value is accepted.
 */
export function fitsNot(node: SchemaNode): Check {
  return (value, run) => {
    const answer = run.ask(node, value, undefined);
    if (answer === 'maybe') run.unsure = true;
    return answer !== 'yes' || run.fail("a value that doesn't match the schema in not", value);
  };
}

export function conditional(
  condition: SchemaNode,
  then: SchemaNode | undefined,
  otherwise: SchemaNode | undefined,
): Check {
  return (value, run, seen) => {
    const answer = run.ask(condition, value, seen);
    const visit = (node: SchemaNode | undefined) =>
      node === undefined || run.visit(node, value, seen);
    if (answer !== 'maybe') return visit(answer === 'yes' ? then : otherwise);
    run.unsure = true;
    return (
      then === undefined ||
      otherwise === undefined ||
      run.ask(then, value, seen) !== 'no' ||
      visit(otherwise)
    );
  };
}

export function leftItems(node: SchemaNode): Check {
  return ofLists((list, run, seen) => {
    const start = seen!.items;
    seen!.items = list.length;
    return run.all(
      list,
      (item, index) => index < start || seen!.places.has(index) || run.visitPart(index, node, item),
    );
  });
}

export function leftMembers(node: SchemaNode): Check {
  return ofObjects((value, run, seen) =>
    run.all(Object.keys(value), (name) => {
      run.spend(1);
      if (seen!.names.has(name)) return true;
      seen!.names.add(name);
      return fitsMember(value, name, node, run, true);
    }),
  );
}
