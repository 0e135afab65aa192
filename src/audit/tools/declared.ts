import { type Values } from '../evaluate/values.js';
import * as enums from '../../core/enums.js';
import { isPlainObject } from '../../core/plain-data.js';
import { inferAxes } from '../../tool/infer-metadata.js';
import { metadataSchema, type DeclaredMetadata } from '../../tool/metadata-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

import { isMissing, type Members } from '../evaluate/members.js';

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
export function declaredBy({ definition, dangerFor }: ToolEntry): Declared {
  const written = FIELDS.flatMap((field) => {
    const value: unknown = definition[field];
    const isDefault = field === 'sideEffects' && Array.isArray(value) && value.length === 0;
    return value === undefined || isDefault ? [] : [[field, value] as const];
  });
  return complete(new Map(written), dangerFor !== undefined, []);
}

/** Evaluates the options of a tool, with those of its toolkit for options that it leaves out. */
export function declaredIn(evaluator: Members, options: Values, defaults: Values): Declared {
  const valuesOf = (field: string) => {
    const own = evaluator.field(options, field);
    return isMissing(own) ? evaluator.field(defaults, field) : own;
  };
  const written = FIELDS.filter((field) => !isMissing(valuesOf(field)));
  const found = new Map(
    written.map((field) => {
      const value = dataOf(evaluator, valuesOf(field));
      // One label may stand for a list of one.
      const isOne = LISTS.has(field) && typeof value === 'string';
      const { shape } = metadataSchema();
      // Undefined for a value that no tool can have: the program that declares it doesn't load.
      return [field, shape[field].safeParse(isOne ? [value] : value).data];
    }),
  );
  const unread = written.filter((field) => found.get(field) === undefined);
  return complete(found, !isMissing(valuesOf('dangerFor')), unread);
}

function complete(
  found: Map<Field, unknown>,
  isDangerVarying: boolean,
  unread: readonly string[],
): Declared {
  if (isDangerVarying) found.delete('dangerLevel');
  for (const field of unread) found.delete(field as Field);
  const options = Object.fromEntries(found) as Declared['options'];
  const { accessMode } = inferAxes(options as DeclaredMetadata).axes;
  return { options, isReadonly: accessMode === enums.AccessMode.READONLY, unread };
}

/** Returns the one thing that values are as plain data, or undefined if the code doesn't show it. */
function dataOf(evaluator: Members, values: Values): unknown {
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return undefined;
  if (value.is === 'literal') return value.value;
  if (value.is === 'outside') return enumValue(value.path);
  const items = evaluator.items(values)?.map((each) => dataOf(evaluator, each));
  return items?.includes(undefined) === true ? undefined : items;
}

/** Returns the value of `AccessMode.READONLY` and its like. */
function enumValue(path: readonly string[]): unknown {
  const [name = '', member = ''] = path.slice(-2);
  const holder: unknown = (enums as Readonly<Record<string, unknown>>)[name];
  return isPlainObject(holder) && Object.hasOwn(holder, member) ? holder[member] : undefined;
}
