import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { ownerKey } from '../capability/manifest/persona.js';
import { requiresApproval } from '../registry/derived-sets.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import type { ToolFilter } from '../registry/tool-filter.js';
import { CONDITIONS } from './read-query.js';
import { healthLevelOf } from './values-on.js';

/** The conditions of catalogue queries, by query parameter. */
const NAMES = {
  persona: 'personas',
  available: 'available',
  min_success_rate: 'minSuccessRate',
  require_calls: 'requireCalls',
  tool: 'tool',
  skill: 'skill',
  tag: 'tag',
  capability: 'capability',
  provider: 'provider',
  version: 'version',
  side_effects: 'sideEffect',
  safety_level: 'safetyLevel',
  required_capability: 'requiredCapability',
};

/** Returns the conditions in a request under the names that the catalogue uses. */
export function conditionsOf(
  query: Readonly<Record<string, unknown>>,
  names: readonly (readonly [string, string])[] = Object.entries(NAMES),
): Readonly<Record<string, unknown>> {
  const used = names.filter(([name]) => query[name] !== undefined);
  return Object.fromEntries(used.map(([name, condition]) => [condition, query[name]]));
}

/** Returns the tools that meet a request's conditions. */
export function toolsOf(
  catalogue: CapabilityRegistry,
  query: Readonly<Record<string, unknown>>,
): readonly CapabilityTool[] {
  const filter: ToolFilter = {
    ...conditionsOf(query, CONDITIONS),
    ...ownMetadata(query['metadata']),
  };
  const tools = catalogue.tools({
    ...conditionsOf(query),
    ...(Object.keys(filter).length > 0 && { filter }),
  });
  const { requires_approval: needsApproval, health: levels } = query;
  return tools.filter(
    ({ entry, health }) =>
      (needsApproval === undefined || requiresApproval(entry) === needsApproval) &&
      (levels === undefined ||
        (levels as readonly string[]).includes(healthLevelOf(health.tool.successRate))),
  );
}

/**
 * Returns the requested values by field of the authors' own metadata. A text that is a number or
 * boolean matches both the text and its value.
 */
function ownMetadata(texts: unknown): Pick<ToolFilter, 'metadata'> {
  if (texts === undefined) return {};
  const metadata: Record<string, unknown[]> = {};
  for (const text of texts as readonly string[]) {
    const at = text.indexOf('=');
    const value = text.slice(at + 1);
    const values = (metadata[text.slice(0, at)] ??= []);
    values.push(value);
    if (/^(?:true|false|-?\d+(?:\.\d+)?)$/.test(value)) values.push(JSON.parse(value));
  }
  return { metadata };
}

/**
 * Returns a tool's key. Tools can't be compared by object, because each refresh may create new
 * objects.
 */
export function toolKey({ owner, name }: Pick<CapabilityTool, 'owner' | 'name'>): string {
  return `${ownerKey(owner)}/${name}`;
}
