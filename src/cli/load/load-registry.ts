import { existsSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { withSlashes } from '../../host/shown-path.js';
import type { CapabilityFinding } from '../../capability/manifest/manifest-issue.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { ToolError } from '../../core/errors.js';
import type { LoadedTools, LoadProblem } from '../../load/load-tools.js';
import type { OnElicit } from '../../mcp/connection/elicitation.js';
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
import { hintsFileFor, toolPlacesFor } from './lint-settings.js';
import type { LoadedRegistry } from './loaded-registry.js';
import { withProgress } from './with-progress.js';

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
  { everyone = false, onElicit, resolve, bundled }: LoadChoice = {},
): Promise<LoadedRegistry> {
  const places = bundled === 'only' ? options : await placesOf(options, cwd);
  const { tools: patterns, manifests, mcp, openapi, root } = places;
  const isBundled = !namesPlace(places);
  if (isBundled && bundled === 'never')
    throw wrongUsage(
      'Expected tools of yours, got none. Name their files with --tools "src/tools/**/*.ts", or as "tools" in tooldex.config.json.',
    );
  const own = await loadHints(options.hints, cwd);
  const hints = isBundled
    ? { ...(await import('../../../tools/index.js')).defaultToolHints, ...own }
    : own;
  const registry = new ToolMetadataRegistry({ hints });
  const problems: LoadProblem[] = [];
  const fileOf = new Map<string, string>();
  const add = (part: LoadedTools) => {
    problems.push(...part.problems);
    for (const tool of part.tools) {
      const { name, aliases } = tool;
      if ([name, ...(aliases ?? [])].some((each) => registry.has(each))) continue;
      registry.register(tool);
      if (part.fileOf.has(name)) fileOf.set(name, part.fileOf.get(name)!);
    }
  };
  const loaded = {
    ...{ registry, problems, fileOf, owned: new Map<string, never>() },
    close: () => Promise.resolve(),
  };
  // Imports modules on use, so that commands start faster.
  if (isBundled) {
    const { createDefaultTools } = await import('../../../tools/index.js');
    const folder = root === undefined ? cwd : existingFolder('--root', root, cwd);
    registry.registerAll(createDefaultTools({ root: folder }));
    return loaded;
  }
  if (patterns !== undefined) {
    const { loadTools } = await import('../../load/load-tools.js');
    add(
      await withProgress(
        terminal,
        patterns.join(' '),
        loadTools(patterns, { ...imports, cwd, resolve }),
      ),
    );
  }
  const described =
    manifests === undefined
      ? undefined
      : await manifestTools(
          existingFolder('--manifests', manifests, cwd),
          options.persona,
          everyone,
          cwd,
        );
  if (described !== undefined) add(described);
  if (openapi !== undefined) {
    const { loadOpenApiTools } = await import('./load-openapi-tools.js');
    add(
      await withProgress(
        terminal,
        openapi,
        loadOpenApiTools({ ...options, openapi, terminal, cwd }),
      ),
    );
  }
  if (mcp === undefined) return { ...loaded, ...described, problems, fileOf };
  const { loadMcpTools } = await import('./load-mcp-tools.js');
  const { discovery, ...served } = await withProgress(
    terminal,
    `the servers in ${mcp}`,
    loadMcpTools({ terminal, cwd, options: { mcp } }, onElicit),
  );
  discovery.follow(registry);
  problems.push(...served.problems);
  return { ...loaded, ...described, problems, fileOf, discovery, close: () => discovery.close() };
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
  const places = namesPlace(options) ? options : { ...options, ...(await toolPlacesFor(cwd)) };
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
  root: string,
  persona: string | undefined,
  everyone: boolean,
  cwd: string,
): Promise<LoadedTools & Omit<LoadedRegistry, 'registry' | 'close'>> {
  const { CapabilityRegistry } = await import('../../capability/capability-registry.js');
  const capabilities = await CapabilityRegistry.load({ root });
  const { personas: known, findings } = capabilities;
  const isPersona = (name: string) => name.toLowerCase() === persona?.trim().toLowerCase();
  if (persona !== undefined && !known.some(isPersona))
    throw wrongUsage(
      `Unknown persona: ${JSON.stringify(persona)}. ${known.length === 0 ? 'The manifests contain no personas.' : `The personas are ${known.join(', ')}.`}`,
    );
  const shown = (file: string) => withSlashes(relative(cwd, resolve(root, file))) || '.';
  const problems = findings
    .filter(({ severity }) => severity === 'error')
    .map((finding): LoadProblem => {
      const { file, line, column } = finding;
      const reason = problemText(finding);
      return line === null
        ? { file, reason }
        : { file: shown(file), line, column: column ?? 1, reason };
    });
  const view = everyone && persona === undefined ? undefined : capabilities.registryFor(persona);
  const registry = new ToolMetadataRegistry();
  const fileOf = new Map<string, string>();
  const owned = new Map<string, { persona: string; name: string }>();
  const left: CapabilityTool[] = [];
  for (const tool of capabilities.tools()) {
    const { name, owner, entry, source } = tool;
    if (view !== undefined) {
      if (view.get(name)?.definition === entry.definition) fileOf.set(name, shown(source));
      else if (owner !== null || !view.has(name)) left.push(tool);
      continue;
    }
    // If several personas have the same tool name, adds the persona's name in front.
    const isTaken = [name, ...entry.aliases].some((each) => registry.has(each));
    const prefix = isTaken ? `${(owner ?? 'shared').replace(/[^\w-]+/g, '_')}_` : '';
    registry.register(entry.definition, { prefix });
    fileOf.set(prefix + name, shown(source));
    if (owner !== null) owned.set(prefix + name, { persona: owner, name });
  }
  const personas = left.flatMap(({ owner, entry }) => owner ?? entry.personaAllowlist ?? []);
  const whose = [...new Set(personas)].sort().join(', ') || 'no persona';
  return {
    tools: [...(view ?? registry)].map(({ definition }) => definition),
    ...{ problems, fileOf, owned },
    ...(left.length > 0 && { leftOut: `${amountOf(left.length, 'tool')} of ${whose}` }),
  };
}
