import { statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { ToolError } from '../../core/errors.js';
import type { LoadProblem } from '../../load/load-tools.js';
import type { LoadedRegistry } from './loaded-registry.js';
import type { OnElicit } from '../../mcp/connection/elicitation.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolSource } from '../../tool/find-definitions.js';
import type { Context } from '../command/command.js';
import type { ToolPlaces } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import { paint, placeText, plainLine, plainText, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

interface LoadChoice {
  /** Loads the tools of all personas if none is named. That suits commands that only look: a call needs one persona. */
  readonly everyone?: boolean;
  /** Answers the questions of MCP servers. */
  readonly onElicit?: OnElicit;
}

type LoadContext = Pick<Context<ToolPlaces>, 'terminal' | 'cwd' | 'imports' | 'options'>;

/**
 * Loads the tools, does work on them, and closes them.
 *
 * Everything that didn't load or was left out is reported. Then the exit code is 1, unless `exitsByResult` is set.
 */
export async function withTools(
  context: LoadContext,
  { exitsByResult = false, ...choice }: LoadChoice & { readonly exitsByResult?: boolean },
  work: (loaded: LoadedRegistry) => number | void | Promise<number | void>,
): Promise<number> {
  const { terminal } = context;
  const loaded = await loadRegistry(context, choice);
  try {
    reportProblems(terminal, loaded.problems);
    if (loaded.registry.size === 0) throw new ToolError('NOT_A_TOOL', 'No tools were loaded.');
    const { tools = 0, personas = [] } = loaded.leftOut ?? {};
    if (tools > 0)
      terminal.err(
        paint(
          terminal,
          'dim',
          `left out: ${amountOf(tools, 'tool')} of ${plainLine(personas.join(', ')) || 'no persona'} (--persona names one)`,
        ),
      );
    const code = (await work(loaded)) ?? EXIT.ok;
    return code === EXIT.ok && loaded.problems.length > 0 && !exitsByResult ? EXIT.findings : code;
  } finally {
    await loaded.close?.();
  }
}

/** Reports the files and tools that didn't load. */
export function reportProblems(terminal: Terminal, problems: readonly LoadProblem[]): void {
  for (const problem of problems)
    terminal.err(
      `${paint(terminal, 'red', 'not loaded')} ${placeText(problem)}: ${plainText(problem.reason)}`,
    );
}

/**
 * Loads the bundled tools, or those in the user's files, manifests, OpenAPI document and MCP servers. If two have the same
 * name, the first in this order counts.
 */
export async function loadRegistry(
  { terminal, cwd, imports, options }: LoadContext,
  { everyone = false, onElicit }: LoadChoice = {},
): Promise<LoadedRegistry> {
  const { tools: patterns, manifests, mcp, openapi, persona, trustAutoApprove = false } = options;
  const root = options.root === undefined ? cwd : existingFolder('--root', options.root, cwd);
  const none = { problems: [], fileOf: new Map<string, string>() };
  // Imported on use: a command starts sooner without the modules that it doesn't need.
  if ([patterns, manifests, mcp, openapi].every((place) => place === undefined)) {
    const { createDefaultTools } = await import('../../../tools/index.js');
    return { ...none, registry: registryOf(createDefaultTools({ root })) };
  }
  const described =
    manifests === undefined
      ? undefined
      : await loadManifestTools(
          existingFolder('--manifests', manifests, cwd),
          persona,
          everyone,
          cwd,
        );
  const served =
    mcp === undefined
      ? undefined
      : await (
          await import('./load-mcp-tools.js')
        ).loadMcpTools({ file: mcp, terminal, cwd, trustAutoApprove, onElicit });
  const api =
    openapi === undefined
      ? undefined
      : await (
          await import('./load-openapi-tools.js')
        ).loadOpenApiTools({ ...options, openapi, terminal, cwd });
  if (patterns === undefined && described === undefined && api === undefined) return served!;
  const code =
    patterns === undefined
      ? { ...none, tools: [] }
      : await (await import('../../load/load-tools.js')).loadTools(patterns, { ...imports, cwd });
  const registry = registryOf(code.tools);
  const fileOf = new Map(code.fileOf);
  const problems = [...code.problems];
  const add = (part: LoadedRegistry) => {
    problems.push(...part.problems);
    for (const { name, aliases, definition } of part.registry) {
      if ([name, ...aliases].some((each) => registry.has(each))) continue;
      registry.register(definition);
      fileOf.set(name, part.fileOf.get(name)!);
    }
  };
  if (described !== undefined) add(described);
  if (api !== undefined) add(api);
  if (served !== undefined) {
    const completed = [...registry].map(({ definition }) => served.complete(definition));
    registry.registerAll(completed, { replace: true });
    add(served);
  }
  return { ...served, ...described, registry, problems, fileOf };
}

function registryOf(tools: Iterable<ToolSource>): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return registry;
}

/** Returns the path of the folder that an option names. @throws ToolError `INVALID_ARGUMENT` if there is none. */
export function existingFolder(option: string, name: string, cwd: string): string {
  const folder = resolve(cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw wrongUsage(`${option} names no folder: ${name}.`);
  return folder;
}

/** The place of an entry, at the beginning of a JSON pointer into its manifest. */
const ENTRY = /^(?:\/[^/]+)?\/\d+(?:\/|$)/;

/** Loads the tools in a folder of manifests, as a persona sees them or of all personas. Broken entries are reported. */
async function loadManifestTools(
  root: string,
  persona: string | undefined,
  everyone: boolean,
  cwd: string,
): Promise<LoadedRegistry> {
  const { CapabilityRegistry } = await import('../../capability/capability-registry.js');
  const capabilities = await CapabilityRegistry.load({ root });
  const { personas: known, findings } = capabilities;
  const isPersona = (name: string) => name.toLowerCase() === persona?.trim().toLowerCase();
  if (persona !== undefined && !known.some(isPersona))
    throw wrongUsage(
      `Unknown persona: ${JSON.stringify(persona)}. ${known.length === 0 ? 'The manifests name no persona.' : `The personas are ${known.join(', ')}.`}`,
    );
  const shown = (file: string) => relative(cwd, resolve(root, file)).split(sep).join('/') || '.';
  const problems = findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, entryName, path, message }) => {
      const where = entryName === undefined ? path : path.replace(ENTRY, '').replaceAll('/', '.');
      const who = entryName === undefined ? '' : JSON.stringify(entryName);
      return {
        ...(line === null
          ? { file }
          : { file: shown(file), line, ...(column !== null && { column }) }),
        reason: [who, where, message].filter((part) => part !== '').join(': '),
      };
    });
  const warnings = findings.length - problems.length;
  const all = capabilities.tools();
  if (everyone && persona === undefined)
    return { ...registryOfAll(all, shown), problems, warnings };
  const registry = capabilities.registryFor(persona);
  const fileOf = new Map(
    [...registry].map(({ name }) => [name, shown(capabilities.tool(name, persona)?.source ?? '.')]),
  );
  const others = all.filter(({ owner, entry }) =>
    owner === null ? !registry.has(entry.name) : !isPersona(owner),
  );
  const personas = new Set(
    others.flatMap(({ owner, entry }) => owner ?? entry.personaAllowlist ?? []),
  );
  const leftOut = { tools: others.length, personas: [...personas].sort() };
  return { registry, problems, fileOf, leftOut, warnings };
}

/** Registers the tools of all personas. If several have a tool of the same name, the persona's name goes before it. */
function registryOfAll(
  tools: readonly CapabilityTool[],
  shown: (file: string) => string,
): Required<Pick<LoadedRegistry, 'registry' | 'fileOf' | 'owned'>> {
  const registry = new ToolMetadataRegistry();
  const fileOf = new Map<string, string>();
  const owned = new Map<string, { persona: string; name: string }>();
  for (const { name, owner, entry, source } of tools) {
    const isTaken = [name, ...entry.aliases].some((each) => registry.has(each));
    const prefix = isTaken ? `${(owner ?? 'shared').replace(/[^\w-]+/g, '_')}_` : '';
    registry.register(entry.definition, { prefix });
    fileOf.set(prefix + name, shown(source));
    if (owner !== null) owned.set(prefix + name, { persona: owner, name });
  }
  return { registry, fileOf, owned };
}
