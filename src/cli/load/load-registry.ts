import { existsSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { withSlashes } from '../../host/shown-path.js';
import type { CapabilityFinding } from '../../capability/manifest/manifest-issue.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { ToolError } from '../../core/errors.js';
import type { LoadedTools, LoadProblem } from '../../load/load-tools.js';
import type { OnElicit } from '../../mcp/connection/elicitation.js';
import type { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { readHints } from '../../registry/read-hints.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { CheckedHints } from '../../search/tool-hints.js';
import type { Context } from '../command/command.js';
import type { ToolPlaces } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import { paint, placeText, plainLine, report, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import type { ResolveInstance } from '../../tool/find-definitions.js';
import type { ToolDefinition, ToolEntry } from '../../tool/tool-definition.js';
import { hintsFileFor, settingsFor } from './settings.js';
import { withProgress } from './with-progress.js';

/** The tools that a command works on. */
export interface LoadedRegistry extends Pick<LoadedTools, 'problems' | 'fileOf'> {
  readonly registry: ToolMetadataRegistry;
  /**
   * Describes the tools in the manifests that only other personas have: their number, and the
   * personas' names.
   */
  readonly leftOut?: string;
  /**
   * The persona of each tool that only one persona has, and the tool's name in that persona's
   * manifest.
   */
  readonly owned: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** The MCP servers that tools come from. The registry follows them. */
  readonly discovery?: McpDiscovery;
  /** Closes the tools' connections. */
  readonly close: () => Promise<void>;
}

interface LoadChoice {
  /**
   * Loads the tools of all personas if no persona is selected. Set `everyone` only for commands
   * that inspect tools, because a call needs one persona.
   */
  readonly everyone?: boolean;
  /**
   * Returns the instances of classes whose constructor takes arguments. Set `resolve` only for
   * commands that run no tools.
   */
  readonly resolve?: ResolveInstance;
  /** Answers questions from MCP servers. */
  readonly onElicit?: OnElicit;
  /**
   * `only` loads the bundled tools. `never` requires tools of the user's. By default, the bundled
   * tools are loaded if the user names no others.
   */
  readonly bundled?: 'only' | 'never';
  /** Reads the hints, which change only the order of search results. @default true */
  readonly isRanked?: boolean;
}

type LoadContext = Pick<Context<ToolPlaces>, 'terminal' | 'cwd' | 'imports' | 'options'>;

/**
 * Loads the tools, runs `work` with them, and closes them. Reports everything that didn't load or was
 * skipped.
 *
 * @param choice With `canWait`, there may be no tools yet, because MCP servers may come up later.
 */
export async function withTools(
  context: LoadContext,
  { canWait = false, ...choice }: LoadChoice & { readonly canWait?: boolean },
  work: (loaded: LoadedRegistry) => number | void | Promise<number | void>,
): Promise<number> {
  const { terminal } = context;
  const loaded = await loadRegistry(context, choice);
  const { registry, problems, leftOut, close } = loaded;
  try {
    reportProblems(terminal, problems);
    if (registry.size === 0 && !(canWait && loaded.discovery?.status().length))
      throw new ToolError('NOT_A_TOOL', 'No tools were loaded.');
    if (leftOut !== undefined)
      terminal.err(paint('dim', plainLine(`skipped: ${leftOut} (to include them, use --persona)`)));
    return (await work(loaded)) ?? EXIT.ok;
  } finally {
    await close();
  }
}

/** Maximum number of problems printed before a command's output. */
const MOST_LISTED = 5;

/** Reports files and tools that didn't load. */
export function reportProblems(terminal: Terminal, problems: readonly LoadProblem[]): void {
  const tell = (text: string) => report(terminal, 'red', 'not loaded', text);
  for (const problem of problems.slice(0, MOST_LISTED))
    tell(`${placeText(problem)}: ${problem.reason}`);
  const more = problems.length - MOST_LISTED;
  if (more > 0) tell(`${more} more, which tooldex lint lists`);
}

/**
 * Loads the tools in the user's files, manifests, OpenAPI document and MCP servers, as named on the
 * command line or else in `tooldex.config.json`. If nothing is named, loads the bundled tools. If two
 * tools have the same name, the first tool in this order is used.
 */
export async function loadRegistry(
  { terminal, cwd, imports, options }: LoadContext,
  { everyone = false, onElicit, resolve, bundled, isRanked = true }: LoadChoice = {},
): Promise<LoadedRegistry> {
  const places = bundled === 'only' ? options : await placesOf(options, cwd);
  const { tools, manifests, mcp, openapi, root } = places;
  const hints = isRanked ? await loadHints(options.hints, cwd) : undefined;
  if (!namesPlace(places)) {
    if (bundled !== 'never') return bundledTools(hints, root, cwd);
    throw wrongUsage(
      'Expected tools of yours, got none. Name their files with --tools "src/tools/**/*.ts", or as "tools" in tooldex.config.json.',
    );
  }
  const loaded = emptyRegistry(hints);
  const wait = <T>(what: string, work: Promise<T>) => withProgress(terminal, what, work);
  // Imports modules on use, so that commands start faster.
  if (tools !== undefined) {
    const { loadTools } = await import('../../load/load-tools.js');
    addTools(loaded, await wait(tools.join(' '), loadTools(tools, { ...imports, cwd, resolve })));
  }
  const described = manifests && (await manifestTools(manifests, options.persona, everyone, cwd));
  if (described) addTools(loaded, described);
  if (openapi !== undefined) {
    const { loadOpenApiTools } = await import('./load-openapi-tools.js');
    const place = { ...options, openapi, terminal, cwd };
    addTools(loaded, await wait(openapi, loadOpenApiTools(place)));
  }
  const { problems, fileOf } = loaded;
  if (mcp === undefined) return { ...loaded, ...described, problems, fileOf };
  const { loadMcpTools } = await import('./load-mcp-tools.js');
  const loading = loadMcpTools({ terminal, cwd, options: { mcp } }, onElicit);
  const { discovery, ...served } = await wait(`the servers in ${mcp}`, loading);
  discovery.follow(loaded.registry);
  problems.push(...served.problems);
  return { ...loaded, ...described, problems, fileOf, discovery, close: () => discovery.close() };
}

function emptyRegistry(hints: CheckedHints = {}) {
  return {
    registry: new ToolMetadataRegistry({ hints }),
    problems: [] as LoadProblem[],
    fileOf: new Map<string, string>(),
    owned: new Map<string, never>(),
    close: () => Promise.resolve(),
  };
}

/** Adds tools whose names aren't taken, and what is known about them. */
function addTools(
  { registry, problems, fileOf }: ReturnType<typeof emptyRegistry>,
  part: LoadedTools,
): void {
  problems.push(...part.problems);
  for (const tool of part.tools) {
    const { name, aliases } = tool;
    if ([name, ...(aliases ?? [])].some((each) => registry.has(each))) continue;
    registry.register(tool);
    if (part.fileOf.has(name)) fileOf.set(name, part.fileOf.get(name)!);
  }
}

async function bundledTools(
  own: CheckedHints | undefined,
  root: string | undefined,
  cwd: string,
): Promise<LoadedRegistry> {
  const { createDefaultTools, defaultToolHints } = await import('../../../tools/index.js');
  const loaded = emptyRegistry(own && ({ ...defaultToolHints, ...own } as CheckedHints));
  const folder = root === undefined ? cwd : existingFolder('--root', root, cwd);
  loaded.registry.registerAll(createDefaultTools({ root: folder }));
  return loaded;
}

/** Reads the hints. The usual file may be missing, but a given one must exist. */
async function loadHints(file: string | undefined, cwd: string): Promise<CheckedHints> {
  const path = await hintsFileFor(file, cwd);
  return file === undefined && !existsSync(path) ? {} : readHints(path);
}

/**
 * Returns the options with the places in `tooldex.config.json`, unless the command line names one.
 *
 * @throws ToolError `INVALID_ARGUMENT` if an option belongs to a place that isn't named.
 */
export async function placesOf<O extends ToolPlaces>(options: O, cwd: string): Promise<O> {
  const places = namesPlace(options) ? options : { ...options, ...(await settingsFor(cwd)).places };
  const { baseUrl, auth, persona, openapi, manifests, tools, mcp } = places;
  const needs = (option: string, others: string) =>
    wrongUsage(`${option} only works with ${others}.`);
  if (baseUrl !== undefined && openapi === undefined) throw needs('--base-url', '--openapi');
  if (auth !== undefined && openapi === undefined) throw needs('--auth', '--openapi');
  if (persona !== undefined && [manifests, tools, mcp].every((place) => place === undefined))
    throw needs('--persona', '--manifests or --tools or --mcp');
  return places;
}

function namesPlace({ tools, manifests, mcp, openapi }: ToolPlaces): boolean {
  return [tools, manifests, mcp, openapi].some((place) => place !== undefined);
}

/**
 * Returns the path of the folder passed with an option. @throws ToolError `INVALID_ARGUMENT` if the
 * folder doesn't exist.
 */
export function existingFolder(option: string, name: string, cwd: string): string {
  const folder = resolve(cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw wrongUsage(`There's no folder for ${option} at ${name}.`);
  return folder;
}

/**
 * Describes what is wrong with a manifest entry, with the entry's name and the place in the file.
 */
export function problemText({
  entryName,
  path,
  message,
}: Pick<CapabilityFinding, 'entryName' | 'path' | 'message'>): string {
  const who = `${entryName === undefined ? '' : JSON.stringify(entryName)} ${path}`.trim();
  return plainLine(who === '' ? message : `${who}: ${message}`);
}

/**
 * Loads the tools in a folder of manifests: either the tools that one persona sees, or the tools of
 * all personas. Broken entries are reported.
 */
async function manifestTools(
  manifests: string,
  persona: string | undefined,
  everyone: boolean,
  cwd: string,
): Promise<LoadedTools & Omit<LoadedRegistry, 'registry' | 'close'>> {
  const root = existingFolder('--manifests', manifests, cwd);
  const { CapabilityRegistry } = await import('../../capability/capability-registry.js');
  const capabilities = await CapabilityRegistry.load({ root });
  assertPersona(persona, capabilities.personas);
  const shown = (file: string) => withSlashes(relative(cwd, resolve(root, file))) || '.';
  const all = capabilities.tools();
  const problems: LoadProblem[] = [];
  for (const finding of capabilities.findings)
    if (finding.severity === 'error') problems.push(manifestProblem(finding, shown));
  if (everyone && persona === undefined) return { ...ofEveryone(all, shown), problems };
  const view = capabilities.registryFor(persona);
  const left: CapabilityTool[] = [];
  const fileOf = new Map<string, string>();
  for (const tool of all) {
    const { name, entry, owner, source } = tool;
    const seen = view.get(name);
    if (seen?.definition === entry.definition) fileOf.set(name, shown(source));
    else if (owner !== null || seen === undefined) left.push(tool);
  }
  const tools = definitionsOf(view);
  const leftOut = left.length > 0 && { leftOut: leftOutText(left) };
  return { tools, fileOf, owned: new Map(), problems, ...leftOut };
}

export function definitionsOf(registry: Iterable<ToolEntry>): readonly ToolDefinition[] {
  return [...registry].map(({ definition }) => definition);
}

function assertPersona(persona: string | undefined, personas: readonly string[]): void {
  const asked = persona?.trim().toLowerCase();
  if (persona === undefined || personas.some((name) => name.toLowerCase() === asked)) return;
  throw wrongUsage(
    `Unknown persona: ${JSON.stringify(persona)}. ${personas.length === 0 ? 'The manifests contain no personas.' : `The personas are ${personas.join(', ')}.`}`,
  );
}

function manifestProblem(finding: CapabilityFinding, shown: (file: string) => string): LoadProblem {
  const { file, line, column } = finding;
  const reason = problemText(finding);
  if (line === null) return { file, reason };
  return { file: shown(file), line, column: column ?? 1, reason };
}

/** Returns the tools of all personas. If a name is taken, adds the persona's name in front. */
function ofEveryone(all: readonly CapabilityTool[], shown: (file: string) => string) {
  const registry = new ToolMetadataRegistry();
  const fileOf = new Map<string, string>();
  const owned = new Map<string, { persona: string; name: string }>();
  for (const { name, owner, entry, source } of all) {
    const isTaken = [name, ...entry.aliases].some((each) => registry.has(each));
    const prefix = isTaken ? `${(owner ?? 'shared').replace(/[^\w-]+/g, '_')}_` : '';
    registry.register(entry.definition, { prefix });
    fileOf.set(prefix + name, shown(source));
    if (owner !== null) owned.set(prefix + name, { persona: owner, name });
  }
  return { tools: definitionsOf(registry), fileOf, owned };
}

/** Describes the tools that only other personas have. */
function leftOutText(left: readonly CapabilityTool[]): string {
  const personas = left.flatMap(({ owner, entry }) => owner ?? entry.personaAllowlist ?? []);
  const whose = [...new Set(personas)].sort().join(', ') || 'no persona';
  return `${amountOf(left.length, 'tool')} of ${whose}`;
}
