import { fieldsOn, valuesOf, type FieldKind } from '../../../../tool/tool-fields.js';
import type { WireTool } from '../data/wire.js';
import { valuesOn } from '../../../query/facets.js';
import { healthLevelOf, HEALTH_LEVELS } from '../../../wire/health-level.js';

/** One axis by which tools are filtered. */
export interface Axis {
  /** The name of the filter in the HTTP interface. */
  readonly key: string;
  readonly label: string;
  readonly valuesOf: (tool: WireTool) => readonly string[];
  /** The order of its values, if they have one; others are ordered by their number of tools. */
  readonly order?: readonly string[];
  /** Says that all chosen values must hold, as in the interface, rather than one. */
  readonly all: boolean;
  /** The words that users read instead of the value. */
  readonly words?: Readonly<Record<string, string>>;
}

/** The axes that users ask for most; the others follow in the order of the table. */
const FIRST = ['danger_level', 'access_mode', 'requires_approval', 'available', 'health', 'category'];
/** Kinds whose values have an order. */
const ORDERED: ReadonlySet<FieldKind> = new Set<FieldKind>(['priority', 'accessMode', 'dangerLevel', 'executionCategory', 'costTier']);

/** Every axis by which tools are filtered, the most used first. */
export const AXES: readonly Axis[] = fieldsOn('axis')
  .map(([name, { wire, kind, label, words, filter }]): Axis => {
    const order = name === 'health' ? HEALTH_LEVELS : words !== undefined ? ['true', 'false'] : ORDERED.has(kind) ? valuesOf(kind) : undefined;
    return {
      key: filter?.param ?? wire,
      // One value of a list is chosen: a stage, a keyword.
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
