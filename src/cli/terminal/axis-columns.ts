import { DangerLevel } from '../../core/enums.js';
import { isDangerous, isWriting, PRIORITY_NAMES } from '../../core/enum-order.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { fieldsOn, type FieldName, type FieldOn, type ToolField } from '../../tool/tool-fields.js';
import { flagWords, requiredFlags } from '../../safety/required-flags.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Column } from './table.js';
import type { Style } from './terminal.js';

/** Returns the colour of a danger: red is what needs approval by itself. */
export function dangerStyle(level: DangerLevel): Style {
  return isDangerous(level) ? 'red' : level === DangerLevel.MEDIUM ? 'yellow' : 'green';
}

const STYLES: { readonly [Name in FieldOn<'column'>]?: NonNullable<Column<ToolEntry>['style']> } = {
  name: () => 'bold',
  accessMode: ({ accessMode }) => (isWriting(accessMode) ? 'yellow' : 'green'),
  dangerLevel: ({ dangerLevel }) => dangerStyle(dangerLevel),
};

/** The columns that show a tool's axes; an inferred value carries a `*`. */
export const AXIS_COLUMNS: readonly Column<ToolEntry>[] = fieldsOn('column').map(
  ([name, field]) => {
    const style = STYLES[name as keyof typeof STYLES];
    return {
      title: field.label!.toUpperCase(),
      value: (entry) =>
        `${fieldWords(entry, name, field).join(' ') || '–'}${isInferred(entry, name) ? '*' : ''}`,
      ...(style === undefined ? {} : { style }),
    };
  },
);

/** Returns whether a field of a tool was inferred, not declared. */
export function isInferred({ inferred }: ToolEntry, name: FieldName): boolean {
  return (inferred as readonly string[]).includes(name);
}

/** Returns the value of a field in words: none where there is no value. */
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
  if (kind === 'personas' && entry.personaAllowlist?.length === 0) return ['no persona'];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((each) =>
    typeof each === 'string' && kind !== 'requests' ? each : JSON.stringify(each),
  );
}
