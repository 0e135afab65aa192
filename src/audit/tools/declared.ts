import { type Values } from '../evaluate/values.js';
import * as enums from '../../core/enums.js';
import { isPlainObject } from '../../core/plain-data.js';
import { inferAxes } from '../../tool/infer-metadata.js';
import type { DeclaredMetadata } from '../../tool/metadata-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

import type { Members } from '../evaluate/members.js';

const FIELDS = [
  'accessMode',
  'dangerLevel',
  'executionCategory',
  'sideEffects',
  'cacheTtlMs',
  'idempotencyKey',
  'reads',
  'sends',
] as const;
const LISTS: ReadonlySet<string> = new Set(['sideEffects', 'reads']);
type Field = (typeof FIELDS)[number];

/** The options of a tool that code can contradict. */
export interface Declared {
  /** The options that the author wrote. */
  readonly options: Pick<DeclaredMetadata, Field>;
  /** True if the tool only reads, by what it declares or by what follows from that. */
  readonly isReadonly: boolean;
  /** The options whose values can't be evaluated. */
  readonly unread: readonly string[];
}

/** Returns the options of a tool that is loaded. */
export function declaredBy(entry: ToolEntry): Declared {
  const { definition } = entry;
  const written = FIELDS.filter((field) => {
    const value: unknown = definition[field as keyof typeof definition];
    return (
      value !== undefined &&
      !(Array.isArray(value) && value.length === 0 && field === 'sideEffects')
    );
  });
  const options = Object.fromEntries(
    written.map((field) => [field, definition[field as keyof typeof definition]]),
  );
  return complete(options, entry.dangerFor !== undefined, []);
}

/** Evaluates the options of a tool, with those of its toolkit for options that it leaves out. */
export function declaredIn(members: Members, options: Values, defaults: Values): Declared {
  const found: Record<string, unknown> = {};
  const unread: string[] = [];
  const has = (field: string) => {
    const own = members.field(options, field);
    return isMissing(own) ? members.field(defaults, field) : own;
  };
  for (const field of FIELDS) {
    const values = has(field);
    if (isMissing(values)) continue;
    const value = dataOf(members, values);
    if (value === undefined) unread.push(field);
    // One label may stand for a list of one.
    else found[field] = LISTS.has(field) && !Array.isArray(value) ? [value] : value;
  }
  return complete(found, !isMissing(has('dangerFor')), unread);
}

function complete(
  found: Readonly<Record<string, unknown>>,
  isDangerVarying: boolean,
  unread: readonly string[],
): Declared {
  const { dangerLevel, ...rest } = found;
  const options = {
    ...rest,
    ...(dangerLevel !== undefined && !isDangerVarying && { dangerLevel }),
  } as Declared['options'];
  const { accessMode } = inferAxes(options as DeclaredMetadata).axes;
  return { options, isReadonly: accessMode === enums.AccessMode.READONLY, unread };
}

const isMissing = (values: Values) =>
  values.every((each) => each.is === 'literal' && each.value === undefined);

/** Returns the one thing that values are as plain data, or undefined if the code doesn't show it. */
function dataOf(members: Members, values: Values): unknown {
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return undefined;
  if (value.is === 'literal') return value.value;
  if (value.is === 'outside') return enumValue(value.path);
  const items = members.items(values)?.map((each) => dataOf(members, each));
  return items?.includes(undefined) === true ? undefined : items;
}

/** Returns the value of `AccessMode.READONLY` and its like. */
function enumValue(path: readonly string[]): unknown {
  const [name = '', member = ''] = path.slice(-2);
  const holder: unknown = (enums as Readonly<Record<string, unknown>>)[name];
  return isPlainObject(holder) && Object.hasOwn(holder, member) ? holder[member] : undefined;
}
