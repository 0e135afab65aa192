import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { ownerKey } from '../capability/manifest/persona.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { missingScopes } from '../registry/tool-filter.js';

/** The part of a capability registry that answers read. */
export type Catalogue = Pick<
  CapabilityRegistry,
  | 'revision'
  | 'personas'
  | 'findings'
  | 'tools'
  | 'tool'
  | 'search'
  | 'skills'
  | 'tasks'
  | 'jobs'
  | 'summary'
>;

/**
 * Returns a catalogue as a caller with these scopes sees it: without the tools whose scopes the caller lacks. Without
 * scopes, all of it.
 */
export function callersCatalogue(
  capabilities: CapabilityRegistry,
  scopes: readonly string[] | undefined,
): Catalogue {
  if (scopes === undefined) return capabilities;
  const isShown = ({ entry }: CapabilityTool) => missingScopes(entry, scopes).length === 0;
  return {
    get revision() {
      return capabilities.revision;
    },
    get personas() {
      return capabilities.personas;
    },
    get findings() {
      return capabilities.findings;
    },
    tools: (query) => capabilities.tools(query).filter(isShown),
    tool: (name, persona) => {
      const tool = capabilities.tool(name, persona);
      return tool && isShown(tool) ? tool : undefined;
    },
    search: (text, { limit, accepts = () => true } = {}) => {
      const { hits, having } = capabilities.search(text, {
        ...(limit !== undefined && { limit }),
        accepts: (tool) => isShown(tool) && accepts(tool),
      });
      return { hits, having: having.filter(isShown) };
    },
    skills: (query) => capabilities.skills(query),
    tasks: (query) => capabilities.tasks(query),
    jobs: (query) => capabilities.jobs(query),
    summary: (options) => {
      const summary = capabilities.summary(options);
      const shown = new Set(capabilities.tools().filter(isShown).map(toolKey));
      return {
        ...summary,
        tools: summary.tools.filter(({ persona, name }) =>
          shown.has(toolKey({ owner: persona, name })),
        ),
      };
    },
  };
}

/** Returns the key of a tool in one revision: its object may be another one after each refresh. */
export function toolKey({ owner, name }: Pick<CapabilityTool, 'owner' | 'name'>): string {
  return `${ownerKey(owner)}/${name}`;
}
