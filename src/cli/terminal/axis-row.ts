import { DangerLevel } from '../../core/enums.js';
import { isDangerous, isWriting, PRIORITY_NAMES } from '../../core/enum-order.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { fieldsOn, type FieldName, type ToolField } from '../../tool/tool-fields.js';
import { flagWords, requiredFlags } from '../../safety/required-flags.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Row } from './table.js';
import type { Style } from './terminal.js';

/** Returns the color for a danger level. Levels shown in red need approval. */
export function dangerStyle(level: DangerLevel): Style {
  return isDangerous(level) ? 'red' : level === DangerLevel.MEDIUM ? 'yellow' : 'green';
}

const STYLES: Partial<Record<FieldName, (entry: ToolEntry) => Style>> = {
  accessMode: ({ accessMode }) => (isWriting(accessMode) ? 'yellow' : 'green'),
  dangerLevel: ({ dangerLevel }) => dangerStyle(dangerLevel),
};

/** Returns a tool's axes as a row. Inferred values are marked with `*`. */
export function axisRow(entry: ToolEntry): Row {
  const cells = fieldsOn('column').map(([name, field]) => {
    const words = fieldWords(entry, name, field).join(' ') || '–';
    const text = `${words}${isInferred(entry, name) ? '*' : ''}`;
    const style = STYLES[name]?.(entry);
    return [field.label!.toUpperCase(), style === undefined ? text : [text, style]];
  });
  return Object.fromEntries(cells) as Row;
}

/** Returns true if a tool's field was inferred rather than declared. */
export function isInferred({ inferred }: ToolEntry, name: FieldName): boolean {
  return (inferred as readonly string[]).includes(name);
}

/** Formats a field's value as words. Returns an empty string if there is no value. */
export function fieldWords(
  entry: ToolEntry,
  name: FieldName,
  { kind, words }: ToolField,
): readonly string[] {
  const value =
    name === 'available'
      ? isAvailable(entry)
      : (entry as Partial<Record<FieldName, unknown>>)[name];
  if (name === 'requiresFlags') return flagWords(requiredFlags(entry));
  if (value === undefined) return [];
  if (kind === 'priority') return [PRIORITY_NAMES[entry.priority]!];
  if (kind === 'wholeSeconds' || kind === 'seconds') return [`${value as number} ms`];
  if (name === 'digest') return [entry.digest.slice(0, 16)];
  if (typeof value === 'boolean')
    return [(words ?? ['yes', 'no'])[value ? 0 : 1]].filter((word) => word !== '');
  if (kind === 'providers') return entry.providers.map((each) => each.name);
  if (kind === 'personas' && entry.personaAllowlist?.length === 0) return ['no persona'];
  if (kind === 'auth') return Object.keys(entry.auth?.env ?? {});
  return [value]
    .flat()
    .map((each) => (typeof each === 'string' && kind !== 'requests' ? each : JSON.stringify(each)));
}
