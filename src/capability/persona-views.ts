import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { PolicyRule } from '../safety/policy-rule.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CapabilityTool } from './state/capability-items.js';
import { allowsPersona, ownerKey, personaKey } from './manifest/persona.js';
import type { CapabilityState } from './state/build-state.js';

interface View {
  readonly tools: readonly CapabilityTool[];
  readonly registry: ToolMetadataRegistry;
}

/** The registries of the personas; each is made at its first use, and stays as long as its tools do. */
export class PersonaViews {
  readonly #views = new Map<string, View>();
  readonly #offered = new WeakSet<ToolEntry>();

  registryFor(state: CapabilityState, persona: string | null): ToolMetadataRegistry {
    const known = knownKey(state, persona);
    const tools = toolsOf(state, known);
    const view = this.#views.get(known);
    if (
      view !== undefined &&
      view.tools.length === tools.length &&
      view.tools.every((tool, index) => tool === tools[index])
    )
      return view.registry;
    const registry = new ToolMetadataRegistry();
    // Two tools may claim the same alias; a tool's own name wins, and no alias keeps a tool out.
    registry.registerAll(
      tools.map(({ entry }) => entry.definition),
      { replace: true },
    );
    this.#views.set(known, { tools, registry });
    for (const { entry } of tools) this.#offered.add(entry);
    return registry;
  }

  /** Returns true for a tool that was in one of these registries, now or before. */
  wasOffered(entry: ToolEntry): boolean {
    return this.#offered.has(entry);
  }

  /** Forgets personas that are gone. */
  keepOnly(state: CapabilityState): void {
    for (const key of this.#views.keys())
      if (key !== '' && !state.personas.has(key)) this.#views.delete(key);
  }
}

/**
 * Returns the key of a known persona. Unknown ones see the shared tools; a registry for each requested name would take
 * memory without bound.
 */
function knownKey(state: CapabilityState, persona: string | null): string {
  const key = persona === null ? '' : personaKey(persona);
  return state.personas.has(key) ? key : '';
}

/** Returns the tools that a persona may call. */
function toolsOf(state: CapabilityState, key: string): readonly CapabilityTool[] {
  return state.tools
    .allSeenBy(key)
    .filter(({ entry }) => allowsPersona(entry.personaAllowlist, nobodyIfBlank(key)));
}

function nobodyIfBlank(key: string): string | undefined {
  return key === '' ? undefined : key;
}

/**
 * Returns the rule that refuses a call of a tool that the calling persona neither owns nor may use.
 *
 * It asks the present state: a permission that a manifest gave when the registry of a policy was made, and has
 * withdrawn since, is refused. Tools that were never here are left to other rules.
 */
export function personaRule(
  stateNow: () => CapabilityState,
  wasOffered: (entry: ToolEntry) => boolean,
): PolicyRule {
  return Object.freeze({
    name: 'persona-tools',
    verdict: 'deny',
    reason: 'the tool is not one of the calling persona',
    when: (_, entry, { persona }) => {
      const state = stateNow();
      const key = persona === undefined ? '' : personaKey(persona);
      const same = state.ownersOf.get(entry) ?? state.tools.ownersOf(entry.name);
      return (
        (same.length > 0 || wasOffered(entry)) &&
        !same.some(
          (tool) =>
            ['', key].includes(ownerKey(tool.owner)) &&
            allowsPersona(tool.entry.personaAllowlist, nobodyIfBlank(key)),
        )
      );
    },
  } satisfies PolicyRule);
}
