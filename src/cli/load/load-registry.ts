import { glob } from 'tinyglobby';
import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { createDefaultTools } from '../../../tools/index.js';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import { IMPORT_DEADLINE_MS, importModules, withDeadline, type ImportOptions } from './import-modules.js';
import { isMade, isSameCode, isSameTool, toolsOfModule, type FoundTool, type RefusedClass } from './tools-of-module.js';

/** A file that could not be used, or a tool in it, and why. */
export interface LoadProblem {
  readonly file: string;
  readonly reason: string;
}

/** The tools a command works on. */
export interface LoadedRegistry {
  readonly registry: ToolMetadataRegistry;
  readonly problems: readonly LoadProblem[];
  /** The file of each tool; empty for the bundled tools. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** The number of tools of the manifests that are only for other personas, and these. */
  readonly leftOut?: { readonly tools: number; readonly personas: readonly string[] };
  /** Ends what the tools hold open. */
  readonly close?: () => Promise<void>;
  /** Joins a tool of another place with the one of these for which it stands. */
  readonly complete?: (definition: ToolDefinition) => ToolDefinition;
}

/** The places of tools; none means the bundled ones. */
export interface ToolPlaces {
  /** Files, folders and globs of code. */
  readonly patterns?: readonly string[] | undefined;
  /** Asks MCP servers. */
  readonly mcp?: (() => Promise<LoadedRegistry>) | undefined;
  /** A folder with manifests. */
  readonly manifests?: string | undefined;
  /** The persona as whom the manifests are seen. */
  readonly persona?: string | undefined;
}

/** A tool, and the file it comes from. */
interface Origin extends FoundTool {
  readonly file: string;
  readonly scope: string;
}

const NO_FILES = expectedGot('a file, folder or glob that matches TypeScript or JavaScript files', 'none');
const NO_TOOLS = expectedGot('exported tools', 'none', 'Export classes decorated with @tool, instances of them, results of defineTool, a registry, or a function like createTools that makes them.');

/**
 * Loads the bundled tools, or those in the user's files and manifests.
 *
 * A file that fails is reported and the rest still loads. The same tool met again, through a file that re-exports it,
 * counts once; another tool of the same name is reported, and so is a pattern that brings no tools.
 */
export async function loadRegistry({ mcp, ...places }: ToolPlaces, cwd: string, options: ImportOptions = {}): Promise<LoadedRegistry> {
  if (mcp === undefined) return loadLocal(places, cwd, options);
  const served = await mcp();
  if (places.patterns === undefined && places.manifests === undefined) return served;
  const local = await loadLocal(places, cwd, options);
  const joined = [...local.registry].map(({ definition }) => served.complete?.(definition) ?? definition).filter((each) => local.registry.get(each.name)?.definition !== each);
  local.registry.registerAll(joined, { replace: true });
  return { ...join(local, served), ...(served.close && { close: served.close }) };
}

async function loadLocal({ patterns, manifests, persona }: Omit<ToolPlaces, 'mcp'>, cwd: string, options: ImportOptions): Promise<LoadedRegistry> {
  const fromManifests = manifests === undefined ? undefined : await loadManifestTools(manifests, persona, cwd);
  if (fromManifests !== undefined && patterns === undefined) return fromManifests;
  if (fromManifests === undefined && persona !== undefined) throw new ToolError('INVALID_ARGUMENT', expectedGot('--persona together with --manifests', 'it alone'));
  const registry = new ToolMetadataRegistry();
  const problems: LoadProblem[] = [];
  if (patterns === undefined) {
    registry.registerAll(createDefaultTools({ root: cwd }));
    return { registry, problems, fileOf: new Map() };
  }
  const matches = await Promise.all(patterns.map(async (pattern) => ({ pattern, files: await filesOf(pattern, cwd) })));
  for (const { pattern, files } of matches) if (files.length === 0) problems.push({ file: pattern, reason: NO_FILES });

  const origins = new Map<string, Origin[]>();
  const withoutTools = new Set<string>();
  const refused = new Map<object, RefusedClass & LoadProblem>();
  for await (const { file, scope, module, error } of importModules([...new Set(matches.flatMap(({ files }) => files))].sort(), cwd, options)) {
    try {
      if (module === undefined) throw error;
      const exported = await withDeadline(toolsOfModule(module), options.deadlineMs ?? IMPORT_DEADLINE_MS);
      if (exported.tools.length + exported.refused.length === 0) withoutTools.add(file);
      for (const each of exported.refused) if (!refused.has(each.source)) refused.set(each.source, { ...each, file });
      for (const tool of exported.tools) {
        const reason = addTool(registry, origins, { ...tool, file, scope });
        if (reason !== undefined) problems.push({ file, reason });
      }
    } catch (cause) {
      problems.push({ file, reason: reasonOf(cause) });
    }
  }
  const all = [...origins.values()].flat();
  // Another file may export what this one could not make.
  for (const each of refused.values()) if (!isMade(each, all)) problems.push({ file: each.file, reason: each.reason });
  for (const { pattern, files } of matches) {
    if (files.length > 0 && files.every((file) => withoutTools.has(file))) problems.push({ file: pattern, reason: NO_TOOLS });
  }
  const fileOf = new Map([...origins].map(([name, [first]]) => [name, first!.file]));
  return fromManifests === undefined ? { registry, problems, fileOf } : join({ registry, problems, fileOf }, fromManifests);
}

/** Tools of code win over tools that manifests only describe, and both over those of servers. */
function join(code: LoadedRegistry, manifests: LoadedRegistry): LoadedRegistry {
  const fileOf = new Map(code.fileOf);
  for (const entry of manifests.registry) {
    if ([entry.name, ...entry.aliases].some((name) => code.registry.has(name))) continue;
    code.registry.register(entry.definition);
    fileOf.set(entry.name, manifests.fileOf.get(entry.name)!);
  }
  const { leftOut = code.leftOut } = manifests;
  return { registry: code.registry, problems: [...code.problems, ...manifests.problems], fileOf, ...(leftOut && { leftOut }) };
}

/** Adds a tool that is not there yet; returns why another one keeps its name. `origins` has the registered one first. */
function addTool(registry: ToolMetadataRegistry, origins: Map<string, Origin[]>, tool: Origin): string | undefined {
  const { entry, file, scope } = tool;
  const known = origins.get(entry.name) ?? [];
  if (known.some((other) => isSameTool(other, tool) || (other.scope !== scope && isSameCode(other, tool)))) return undefined;
  origins.set(entry.name, [...known, tool]);
  for (const name of [entry.name, ...entry.aliases]) {
    const owner = registry.get(name);
    if (owner === undefined) continue;
    const place = origins.get(owner.name)![0]!.file;
    const whose = name === entry.name ? `"${name}"` : `"${name}", an alias of "${entry.name}"`;
    const taken = owner.name === name ? 'is the name of another tool' : `is an alias of "${owner.name}"`;
    return expectedGot('a name that no other tool has', `${whose}, which ${taken} in ${place === file ? 'the same file' : place}`, 'Rename one of them.');
  }
  registry.register(entry.definition);
  return undefined;
}

function reasonOf(cause: unknown): string {
  if (isToolError(cause)) return cause.message;
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
}

/** Loads the tools of a folder of manifests, as a persona sees them; what is wrong is left out and reported. */
async function loadManifestTools(folder: string, persona: string | undefined, cwd: string): Promise<LoadedRegistry> {
  const capabilities = await CapabilityRegistry.load({ root: resolve(cwd, folder) });
  const known = capabilities.personas;
  if (persona !== undefined && !known.some((name) => name.toLowerCase() === persona.trim().toLowerCase())) {
    throw invalidArgument(`--persona as one of ${known.join(', ') || 'none: the manifests name no persona'}`, persona);
  }
  const registry = capabilities.registryFor(persona);
  const problems = capabilities.findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, entryName, message }) => ({ file: line === null ? file : `${file}:${line}:${column}`, reason: entryName === undefined ? message : `${JSON.stringify(entryName)}: ${message}` }));
  const fileOf = new Map([...registry].map(({ name }) => [name, capabilities.tool(name, persona)?.source ?? folder]));
  const others = capabilities.tools().filter(({ owner, entry }) => (owner === null ? !registry.has(entry.name) : owner.toLowerCase() !== persona?.trim().toLowerCase()));
  const personas = [...new Set(others.flatMap(({ owner, entry }) => owner ?? entry.personaAllowlist ?? []))].sort();
  return { registry, problems, fileOf, leftOut: { tools: others.length, personas } };
}

const EXTENSIONS = '{ts,mts,cts,js,mjs,cjs}';
const IGNORED = ['**/node_modules/**', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/*.{test,spec,bench,config}.*'];
/** Copies of the sources, unless they are asked for. */
const IGNORED_IN_FOLDERS = [...IGNORED, '**/dist/**'];

/** Returns the files that a path, folder or glob stands for, relative to `cwd` and sorted. */
async function filesOf(pattern: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, pattern);
  const status = await stat(path).catch(() => undefined);
  const files = status?.isFile()
    ? [path]
    : status?.isDirectory()
      ? await glob(`**/*.${EXTENSIONS}`, { cwd: path, absolute: true, ignore: IGNORED_IN_FOLDERS })
      : await glob(pattern, { cwd, absolute: true, ignore: IGNORED, expandDirectories: false });
  return files.map((file) => relative(cwd, file)).sort();
}
