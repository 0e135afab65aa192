import { statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import type { CapabilityTool } from '../../capability/state/capability-items.js';

import { invalidArgument } from '../../core/issues.js';
import type { OnElicit } from '../../mcp/connection/elicitation.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolSource } from '../../tool/find-definitions.js';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import type { LoadOptions, LoadProblem } from '../../load/load-tools.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The tools a command works on. */
export interface LoadedRegistry {
  readonly registry: ToolMetadataRegistry;
  readonly problems: readonly LoadProblem[];
  /** The file of each tool; empty for the bundled tools. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** The number of tools of the manifests that are only for other personas, and these. */
  readonly leftOut?: { readonly tools: number; readonly personas: readonly string[] };
  /** The persona of each tool that only one has, by the tool's name here, and its name there. */
  readonly owned?: ReadonlyMap<string, OwnedTool>;
  /** The number of warnings about the manifests. */
  readonly warnings?: number;
  /** Ends what the tools hold open. */
  readonly close?: () => Promise<void>;
  /** Sets who answers the questions of MCP servers. */
  readonly relayTo?: (onElicit: OnElicit) => void;
  /** Loads the same tools with the manifests as their files are now. */
  readonly again?: () => Promise<LoadedRegistry>;
  /** Joins a tool of another place with the one of these for which it stands. */
  readonly complete?: (definition: ToolDefinition) => ToolDefinition;
}

/** A persona's own tool. */
interface OwnedTool {
  readonly persona: string;
  readonly name: string;
}

/** The places of tools; none means the bundled ones. */
interface ToolPlaces {
  /** Files, folders and globs of code. */
  readonly patterns?: readonly string[] | undefined;
  /** Asks MCP servers. */
  readonly mcp?: (() => Promise<LoadedRegistry>) | undefined;
  /** A folder with manifests. */
  readonly manifests?: string | undefined;
  /** The persona as whom the manifests are seen. */
  readonly persona?: string | undefined;
  /** Loads the tools of all personas where none is named: to look at them, as a call needs one persona. */
  readonly everyone?: boolean | undefined;
}

/**
 * Loads the bundled tools, or those in the user's files and manifests.
 *
 * A file that fails is reported and the rest still loads. The same tool met again, through a file that re-exports it,
 * counts once; another tool of the same name is reported, and so is a pattern that brings no tools.
 */
export async function loadRegistry(
  { mcp, ...places }: ToolPlaces,
  cwd: string,
  options: LoadOptions = {},
): Promise<LoadedRegistry> {
  if (mcp === undefined) return loadLocal(places, cwd, options);
  const served = await mcp();
  if (places.patterns === undefined && places.manifests === undefined) return served;
  const local = await loadLocal(places, cwd, options);
  const completed = [...local.registry]
    .map(({ definition }) => served.complete?.(definition) ?? definition)
    .filter((each) => local.registry.get(each.name)?.definition !== each);
  local.registry.registerAll(completed, { replace: true });
  const { close, relayTo } = served;
  return { ...joined(local, served), ...(close && { close }), ...(relayTo && { relayTo }) };
}

async function loadLocal(
  { patterns, manifests, persona, everyone }: Omit<ToolPlaces, 'mcp'>,
  cwd: string,
  options: LoadOptions,
): Promise<LoadedRegistry> {
  const fromManifests =
    manifests === undefined
      ? undefined
      : () => loadManifestTools(manifests, persona, everyone === true, cwd);
  if (fromManifests !== undefined && patterns === undefined)
    return { ...(await fromManifests()), again: fromManifests };
  if (fromManifests === undefined && patterns === undefined && persona !== undefined)
    throw wrongUsage('--persona together with --manifests, --tools or --mcp', 'it alone');
  // Imported on use: a command starts sooner without what it does not need.
  if (patterns === undefined) {
    const { createDefaultTools } = await import('../../../tools/index.js');
    return {
      registry: registryOf(createDefaultTools({ root: cwd })),
      problems: [],
      fileOf: new Map(),
    };
  }
  const { loadTools } = await import('../../load/load-tools.js');
  const { tools, problems, fileOf } = await loadTools(patterns, { ...options, cwd });
  const code = () => ({ registry: registryOf(tools), problems, fileOf });
  if (fromManifests === undefined) return code();
  const again = async () => joined(code(), await fromManifests());
  return { ...(await again()), again };
}

function registryOf(tools: Iterable<ToolSource>): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return registry;
}

/** Tools of code win over tools that manifests only describe, and both over those of servers. */
function joined(code: LoadedRegistry, manifests: LoadedRegistry): LoadedRegistry {
  const fileOf = new Map(code.fileOf);
  for (const entry of manifests.registry) {
    if ([entry.name, ...entry.aliases].some((name) => code.registry.has(name))) continue;
    code.registry.register(entry.definition);
    fileOf.set(entry.name, manifests.fileOf.get(entry.name)!);
  }
  const { leftOut = code.leftOut, owned = code.owned, warnings = code.warnings } = manifests;
  return {
    registry: code.registry,
    problems: [...code.problems, ...manifests.problems],
    fileOf,
    ...(leftOut && { leftOut }),
    ...(owned && { owned }),
    ...(warnings !== undefined && { warnings }),
  };
}

/** Returns the path of the folder that an option names. @throws ToolError `INVALID_ARGUMENT` when there is none. */
export function existingFolder(option: string, name: string, cwd: string): string {
  const folder = resolve(cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw invalidArgument(`${option} as a folder that exists`, name);
  return folder;
}

/** The place of an entry, at the beginning of a JSON pointer into its manifest. */
const ENTRY = /^(?:\/[^/]+)?\/\d+(?:\/|$)/;

/** Loads the tools of a folder of manifests, as a persona sees them or those of all; what is wrong is left out and reported. */
async function loadManifestTools(
  folder: string,
  persona: string | undefined,
  everyone: boolean,
  cwd: string,
): Promise<LoadedRegistry> {
  const root = existingFolder('--manifests', folder, cwd);
  const { CapabilityRegistry } = await import('../../capability/capability-registry.js');
  const capabilities = await CapabilityRegistry.load({ root });
  const known = capabilities.personas;
  if (
    persona !== undefined &&
    !known.some((name) => name.toLowerCase() === persona.trim().toLowerCase())
  ) {
    throw invalidArgument(
      `--persona as one of ${known.join(', ') || 'none: the manifests name no persona'}`,
      persona,
    );
  }
  const shown = (file: string) => relative(cwd, resolve(root, file)).split(sep).join('/') || '.';
  const problems = capabilities.findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, entryName, path, message }) => ({
      ...(line === null
        ? { file }
        : { file: shown(file), line, ...(column !== null && { column }) }),
      reason: [
        ...(entryName === undefined
          ? [path]
          : [JSON.stringify(entryName), path.replace(ENTRY, '').replaceAll('/', '.')]
        ).filter((part) => part !== ''),
        message,
      ].join(': '),
    }));
  const warnings = capabilities.findings.filter(({ severity }) => severity === 'warning').length;
  if (everyone && persona === undefined)
    return { ...registryOfAll(capabilities.tools(), shown), problems, warnings };
  const registry = capabilities.registryFor(persona);
  const fileOf = new Map(
    [...registry].map(({ name }) => [name, shown(capabilities.tool(name, persona)?.source ?? '.')]),
  );
  const others = capabilities
    .tools()
    .filter(({ owner, entry }) =>
      owner === null
        ? !registry.has(entry.name)
        : owner.toLowerCase() !== persona?.trim().toLowerCase(),
    );
  const personas = [
    ...new Set(others.flatMap(({ owner, entry }) => owner ?? entry.personaAllowlist ?? [])),
  ].sort();
  return { registry, problems, fileOf, leftOut: { tools: others.length, personas }, warnings };
}

/** Registers the tools of all personas; the persona's name stands before the name of a tool that several have. */
function registryOfAll(
  tools: readonly CapabilityTool[],
  shown: (file: string) => string,
): Pick<LoadedRegistry, 'registry' | 'fileOf' | 'owned'> {
  const registry = new ToolMetadataRegistry();
  const [fileOf, owned] = [new Map<string, string>(), new Map<string, OwnedTool>()];
  for (const { name, owner, entry, source } of tools) {
    const isTaken = [name, ...entry.aliases].some((each) => registry.has(each));
    const prefix = isTaken ? `${(owner ?? 'shared').replace(/[^\w-]+/g, '_')}_` : '';
    registry.register(entry.definition, { prefix });
    fileOf.set(prefix + name, shown(source));
    if (owner !== null) owned.set(prefix + name, { persona: owner, name });
  }
  return { registry, fileOf, owned };
}
