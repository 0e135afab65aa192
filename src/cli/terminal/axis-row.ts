import { DangerLevel } from '../../core/enums.js';
import { isDangerous, isWriting, PRIORITY_NAMES } from '../../core/enum-order.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { mapAxes, type AxisName } from '../../tool/axes.js';
import { TOOL_FIELDS, type FieldName } from '../../tool/tool-fields.js';
import { flagWords, requiredFlags } from '../../safety/required-flags.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Row } from './table.js';
import type { Style } from './terminal.js';

/** Returns the color for a danger level. Levels shown in red need approval. */
export function dangerStyle(level: DangerLevel): Style {
  return isDangerous(level) ? 'red' : level === DangerLevel.MEDIUM ? 'yellow' : 'green';
}

const STYLES: Partial<Record<ShownField, (entry: ToolEntry) => Style>> = {
  accessMode: ({ accessMode }) => (isWriting(accessMode) ? 'yellow' : 'green'),
  dangerLevel: ({ dangerLevel }) => dangerStyle(dangerLevel),
};

type ShownField = FieldName | 'digest';

/** The names of the axes: the first words of their names in files. */
export const AXIS_LABELS = mapAxes<Record<AxisName, string>>((_, { wire }) => wire.split('_')[0]!);

/** The columns of a list of tools, by field. */
const COLUMNS: { readonly [Field in ShownField]?: string } = {
  name: 'tool',
  category: 'category',
  ...AXIS_LABELS,
};

/** The facts about a single tool, by field. */
const FACTS: { readonly [Field in ShownField]?: string } = {
  category: 'category',
  ...AXIS_LABELS,
  allowParallel: 'parallel',
  sideEffects: 'side effects',
  reads: 'reads',
  sends: 'sends',
  requiresConsent: 'consent',
  timeoutMs: 'timeout',
  auth: 'credentials',
  aliases: 'aliases',
  keywords: 'keywords',
  mandatoryKeywords: 'mandatory',
  stages: 'stages',
  taskTypes: 'task types',
  capabilities: 'capabilities',
  progressParams: 'progress by',
  examples: 'examples',
  maxResultBytes: 'result shown',
  personaAllowlist: 'only for',
  providers: 'providers',
  requiresFlags: 'needs flags',
  digest: 'digest',
  available: 'availability',
};

/** The words for true and false. An empty text isn't shown. */
const WORDS: { readonly [Field in ShownField]?: readonly [string, string] } = {
  allowParallel: ['several calls at a time', 'one call at a time'],
  requiresConsent: ['every call needs approval', ''],
  available: ['available', 'unavailable'],
};

/** Returns the label, the field and the words of each fact about a tool. */
export function factsOf(entry: ToolEntry) {
  return fieldsIn(FACTS).map(([field, label]) => ({
    field,
    label,
    words: fieldWords(entry, field).join(', '),
  }));
}

const fieldsIn = (table: typeof FACTS) =>
  Object.entries(table) as readonly (readonly [ShownField, string])[];

/** Returns a tool's axes as a row. Inferred values are marked with `*`. */
export function axisRow(entry: ToolEntry): Row {
  const cells = fieldsIn(COLUMNS).map(([name, label]) => {
    const words = fieldWords(entry, name).join(' ') || '–';
    const text = `${words}${isInferred(entry, name) ? '*' : ''}`;
    const style = STYLES[name]?.(entry);
    return [label.toUpperCase(), style === undefined ? text : [text, style]];
  });
  return Object.fromEntries(cells) as Row;
}

/** Returns true if a tool's field was inferred rather than declared. */
export function isInferred({ inferred }: ToolEntry, name: ShownField): boolean {
  return (inferred as readonly string[]).includes(name);
}

/** Formats a field's value as words. Returns no words if there is no value. */
function fieldWords(entry: ToolEntry, name: ShownField): readonly string[] {
  if (name === 'digest') return [entry.digest.slice(0, 16)];
  const { kind } = TOOL_FIELDS[name];
  const value =
    name === 'available'
      ? isAvailable(entry)
      : (entry as Partial<Record<FieldName, unknown>>)[name];
  if (name === 'requiresFlags') return flagWords(requiredFlags(entry));
  if (value === undefined) return [];
  if (kind === 'priority') return [PRIORITY_NAMES[entry.priority]!];
  if (kind === 'wholeSeconds' || kind === 'seconds') return [`${value as number} ms`];
  if (typeof value === 'boolean')
    return [(WORDS[name] ?? ['yes', 'no'])[value ? 0 : 1]].filter((word) => word !== '');
  if (kind === 'providers') return entry.providers.map((each) => each.name);
  if (kind === 'personas' && entry.personaAllowlist?.length === 0) return ['no persona'];
  if (kind === 'auth') return Object.keys(entry.auth?.env ?? {});
  return [value]
    .flat()
    .map((each) => (typeof each === 'string' && kind !== 'requests' ? each : JSON.stringify(each)));
}
