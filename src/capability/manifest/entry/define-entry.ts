import { dangerRank } from '../../../core/enum-order.js';
import { canonicalJson, cloneFrozen } from '../../../core/plain-data.js';
import { inferAxes } from '../../../tool/metadata/infer-metadata.js';
import { fieldsOn } from '../../../tool/metadata/tool-fields.js';
import type { DeclaredMetadata } from '../../../tool/metadata/metadata-schema.js';
import type { ToolOptions, ToolProvider } from '../../../tool/metadata/tool-options.js';
import { defineTool, entryOf, type Execute, type ToolDefinition } from '../../../tool/tool-definition.js';
import { manifestEntrySchema, type ManifestEntry } from './manifest-entry.js';
import { MANIFEST_FORMS } from './manifest-forms.js';

/** The schema of tools without a described input. */
const ANY_INPUT = Object.freeze({ type: 'object' });

/** The keys of entries that are options of a tool, each with its form; all others are carried along. */
const OPTION_KEYS = fieldsOn('manifest').flatMap(([name, { wire: key, kind, from }]) =>
  from === undefined && name !== 'metadata' ? [{ key, option: name as keyof ToolOptions, form: MANIFEST_FORMS[kind] ?? {} }] : [],
);
/** The keys of entries that are no option of a tool; they live under its `metadata`. */
const CARRIED_KEYS = fieldsOn('manifest').flatMap(([, { wire, from }]) => (from === 'manifest' ? [wire] : []));
const OPTION_OF_KEY = new Map(OPTION_KEYS.map((each) => [each.key, each]));

/** The key of an option in manifests. */
export const KEY_OF_OPTION: ReadonlyMap<string, string> = new Map(OPTION_KEYS.map(({ key, option }) => [option, key]));

/** Returns a message about a tool with the keys of manifests in place of the names of options, but for what it quotes. */
export function inManifestKeys(message: string): string {
  return message.replace(/"(?:[^"\\]|\\.)*"|\b[a-z]+[A-Z][A-Za-z]*\b/g, (word) => KEY_OF_OPTION.get(word) ?? word);
}

/**
 * Returns the tool that a manifest entry describes: the same as one declared in code.
 *
 * The axes are inferred from `side_effects` as everywhere; `safety_level` can raise the danger, never lower it. Keys
 * without an option of their own (`cost_unit`, `requires_flags` …), and what the options cannot express, are kept under
 * `metadata`.
 *
 * @param entry a checked entry.
 * @param execute the tool's work, if it is known.
 * @throws ToolError `INVALID_METADATA` for contradictions, with every reason.
 */
export function defineEntry(entry: ManifestEntry, execute?: Execute<never>): ToolDefinition {
  const options: Record<string, unknown> = { inputSchema: ANY_INPUT };
  for (const { key, option, form } of OPTION_KEYS) {
    const value = entry[key] === undefined || form.read === undefined ? entry[key] : form.read(entry[key]);
    if (value !== undefined) options[option] = value;
  }
  const metadata = { ...entry.metadata, ...carried(entry) };
  if (Object.keys(metadata).length > 0) options['metadata'] = metadata;
  return defineTool({ ...options, ...raisedDanger(entry, options), ...(execute === undefined ? {} : { execute }) } as unknown as ToolDefinition);
}

/** Raises the inferred danger to the safety level. An explicit `danger_level` wins: it is checked not to lie below. */
function raisedDanger({ danger_level: declared, safety_level: safety, side_effects: effects }: ManifestEntry, options: Readonly<Record<string, unknown>>): Partial<ToolOptions> {
  if (declared !== undefined || safety === undefined) return {};
  const sideEffects = typeof effects === 'string' ? [effects] : effects;
  const { axes } = inferAxes({ ...options, sideEffects } as DeclaredMetadata);
  return dangerRank(safety) > dangerRank(axes.dangerLevel) ? { dangerLevel: safety } : {};
}

function carried(entry: ManifestEntry): Readonly<Record<string, unknown>> {
  const isCarried = (key: string, value: unknown) => {
    const known = OPTION_OF_KEY.get(key);
    return value !== undefined && key !== 'metadata' && key !== 'type' && (known === undefined || known.form.isWhole?.(value) === false);
  };
  return Object.fromEntries(Object.entries(entry).filter(([key, value]) => isCarried(key, value)));
}

/**
 * Returns the manifest entry that describes a tool: what its author declared, in the manifest's keys and seconds.
 *
 * `defineEntry` makes an equal tool of it, except that functions cannot be written down, and that a time limit is
 * rounded up to whole seconds.
 */
export function manifestEntryOf(definition: ToolDefinition): ManifestEntry {
  const fields: Record<string, unknown> = {};
  for (const { key, option, form } of OPTION_KEYS) {
    const value = definition[option];
    if (value !== undefined) fields[key] = form.write === undefined ? value : form.write(value);
  }
  fields['parameters'] = { type: 'object', ...entryOf(definition).inputJsonSchema };
  if (definition.outputSchema !== undefined && '~standard' in definition.outputSchema) delete fields['output_schema'];

  const rest = new Map(Object.entries(definition.metadata ?? {}));
  const giveBack = (key: string, isMeant: (value: unknown) => boolean) => {
    const value = rest.get(key);
    if (!rest.has(key) || !schemaOf(key).safeParse(value).success || !isMeant(value)) return;
    fields[key] = value;
    rest.delete(key);
  };
  // The original form of a value is returned only while it means what the tool declares: any program may change
  // `metadata`.
  for (const { key, option, form } of OPTION_KEYS) {
    if (form.read !== undefined) giveBack(key, (value) => canonicalJson(withDefaults(option, form.read!(value)) ?? null) === canonicalJson(definition[option] ?? null));
  }
  for (const key of CARRIED_KEYS) giveBack(key, () => true);
  if (rest.size > 0) fields['metadata'] = Object.fromEntries(rest);
  return cloneFrozen(fields) as unknown as ManifestEntry;
}

function schemaOf(key: string) {
  return manifestEntrySchema.shape[key as keyof typeof manifestEntrySchema.shape];
}

function withDefaults(option: keyof ToolOptions, value: unknown): unknown {
  return option === 'providers' ? (value as readonly ToolProvider[]).map((provider) => ({ priority: 100, ...provider })) : value;
}
