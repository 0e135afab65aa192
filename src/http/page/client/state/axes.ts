import { fieldsOn, valuesOf, type FieldKind } from '../../../../tool/metadata/tool-fields.js';
import type { WireTool } from '../data/wire.js';
import { valuesOn } from '../../../query/facets.js';
import { healthLevelOf, HEALTH_LEVELS } from '../../../wire/health-level.js';

/** One way to tell tools apart. */
export interface Axis {
  /** As the HTTP interface calls the filter. */
  readonly key: string;
  readonly label: string;
  readonly valuesOf: (tool: WireTool) => readonly string[];
  /** The order of its values, where they have one; others are ordered by how many tools have them. */
  readonly order?: readonly string[];
  /** Whether all chosen values must hold, as the interface has it, rather than one. */
  readonly all: boolean;
  /** What people read instead of the value. */
  readonly words?: Readonly<Record<string, string>>;
}

/** The axes that users ask for most; the others follow in the order of the table. */
const FIRST = ['danger_level', 'access_mode', 'requires_approval', 'available', 'health', 'category'];
/** Kinds whose values have an order. */
const ORDERED: ReadonlySet<FieldKind> = new Set<FieldKind>(['priority', 'accessMode', 'dangerLevel', 'executionCategory', 'costTier']);

/** Every axis that tools are filtered by, the most asked for first. */
export const AXES: readonly Axis[] = fieldsOn('axis')
  .map(([name, { wire, kind, label, words, filter }]): Axis => {
    const order = name === 'health' ? HEALTH_LEVELS : words !== undefined ? ['true', 'false'] : ORDERED.has(kind) ? valuesOf(kind) : undefined;
    return {
      key: filter?.param ?? wire,
      // Of a list, one value is chosen: a stage, a keyword.
      label: capitalized(kind === 'labels' || kind === 'providers' ? filter!.param.replaceAll('_', ' ') : label!),
      valuesOf: name === 'health' ? (tool) => [healthLevelOf(tool.health.tool)] : (tool) => valuesOn(tool[wire as keyof WireTool]),
      ...(order === undefined ? {} : { order }),
      all: filter?.all === true,
      ...(words === undefined ? {} : { words: { true: words[0], false: words[1] } }),
    };
  })
  .sort((a, b) => placeOf(a) - placeOf(b));

function placeOf({ key }: Axis): number {
  return FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
