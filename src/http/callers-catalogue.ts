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
 * Returns a catalogue as a caller with these scopes sees it: without tools whose scopes the caller
 * lacks, and without skills, tasks and jobs that need such a tool. Without scopes, returns
 * everything.
 */
export function callersCatalogue(
  capabilities: CapabilityRegistry,
  scopes: readonly string[] | undefined,
): Catalogue {
  if (scopes === undefined) return capabilities;
  const isShown = ({ entry }: CapabilityTool) => missingScopes(entry, scopes).length === 0;
  const isWhole = ({ tools }: { readonly tools: readonly CapabilityTool[] }) =>
    tools.every(isShown);
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
    skills: (query) => capabilities.skills(query).filter(isWhole),
    tasks: (query) => capabilities.tasks(query).filter(isWhole),
    jobs: (query) => capabilities.jobs(query).filter(isWhole),
    summary: (options) => {
      const summary = capabilities.summary(options);
      const only = <Item extends { readonly persona: string | null; readonly name: string }>(
        items: readonly Item[],
        shown: readonly Parameters<typeof toolKey>[0][],
      ) => {
        const keys = new Set(shown.map(toolKey));
        return items.filter(({ persona, name }) => keys.has(toolKey({ owner: persona, name })));
      };
      return {
        ...summary,
        tools: only(summary.tools, capabilities.tools().filter(isShown)),
        skills: only(summary.skills, capabilities.skills().filter(isWhole)),
        tasks: only(summary.tasks, capabilities.tasks().filter(isWhole)),
        jobs: only(summary.jobs, capabilities.jobs().filter(isWhole)),
      };
    },
  };
}

/** Returns a tool's key. The tool's object may be a different one after each refresh. */
export function toolKey({ owner, name }: Pick<CapabilityTool, 'owner' | 'name'>): string {
  return `${ownerKey(owner)}/${name}`;
}
