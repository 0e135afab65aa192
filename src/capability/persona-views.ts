import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { CheckedHints } from '../search/tool-hints.js';
import type { PolicyRule } from '../safety/policy-rule.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CapabilityTool } from './state/capability-items.js';
import { allowsPersona, personaKey } from '../core/persona.js';
import { ownerKey } from './manifest/persona.js';
import type { CapabilityState } from './state/build-state.js';

interface View {
  readonly tools: readonly CapabilityTool[];
  readonly registry: ToolMetadataRegistry;
}

/**
 * The personas' registries. Each registry is created on first use and kept for as long as its tools
 * don't change.
 */
export class PersonaViews {
  readonly #views = new Map<string, View>();
  readonly #offered = new WeakSet<ToolEntry>();
  readonly #hints: CheckedHints;

  constructor(hints: CheckedHints) {
    this.#hints = hints;
  }

  registryFor(state: CapabilityState, persona: string | null): ToolMetadataRegistry {
    const key = knownKey(state, persona);
    const tools = toolsOf(state, key);
    const view = this.#views.get(key);
    if (
      view !== undefined &&
      view.tools.length === tools.length &&
      view.tools.every((tool, index) => tool === tools[index])
    )
      return view.registry;
    const registry = new ToolMetadataRegistry({ hints: this.#hints });
    // With `replace`, two tools may have the same alias.
    // A tool's own name takes precedence over another tool's alias.
    registry.registerAll(
      tools.map(({ entry }) => entry.definition),
      { replace: true },
    );
    this.#views.set(key, { tools, registry });
    for (const { entry } of tools) this.#offered.add(entry);
    return registry;
  }

  /** Returns true if a tool is, or was at some time, in one of these registries. */
  wasOffered(entry: ToolEntry): boolean {
    return this.#offered.has(entry);
  }
}

/**
 * Returns a known persona's key. Unknown personas see the shared tools, because a registry for each
 * requested name could exhaust the memory.
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
 * Returns the rule that refuses a call if the persona neither owns the tool nor is allowed to use
 * it.
 *
 * The rule checks the current state, so it also refuses calls that a manifest has forbidden since
 * the policy's registry was created. For tools that were never in this registry, other rules
 * decide.
 */
export function personaRule(
  stateNow: () => CapabilityState,
  wasOffered: (entry: ToolEntry) => boolean,
): PolicyRule {
  return Object.freeze({
    name: 'persona-tools',
    verdict: 'deny',
    reason: 'the calling persona may not use this tool',
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
