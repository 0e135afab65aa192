import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { isToolError } from '../core/errors.js';
import { createDefaultTools } from '../../tools/index.js';
import { findToolFiles } from './find-tool-files.js';
import { importModules } from './import-modules.js';
import { toolsOfModule } from './tools-of-module.js';

/** A file that could not be used, and why. */
export interface LoadProblem {
  readonly file: string;
  readonly reason: string;
}

/** The tools a command works on. */
export interface LoadedRegistry {
  readonly registry: ToolMetadataRegistry;
  readonly problems: readonly LoadProblem[];
  /** In which file each tool was found; empty for the bundled tools. */
  readonly fileOf: ReadonlyMap<string, string>;
}

/**
 * The bundled tools, or those in the user's files.
 *
 * A file that fails is reported and the rest still loads. The same tool met again, through a file that re-exports it,
 * counts once.
 */
export async function loadRegistry(patterns: readonly string[] | undefined, cwd: string): Promise<LoadedRegistry> {
  const registry = new ToolMetadataRegistry();
  const problems: LoadProblem[] = [];
  const fileOf = new Map<string, string>();
  if (patterns === undefined) {
    registry.registerAll(createDefaultTools({ root: cwd }));
    return { registry, problems, fileOf };
  }
  const { files, unmatched } = await findToolFiles(patterns, cwd);
  for (const pattern of unmatched) problems.push({ file: pattern, reason: 'expected a file, folder or glob that matches TypeScript or JavaScript files, found none' });
  for await (const { file, module, error } of importModules(files, cwd)) {
    try {
      if (module === undefined) throw error;
      const fresh = toolsOfModule(module).filter(({ name, digest }) => registry.get(name)?.digest !== digest);
      registry.registerAll(fresh.map(({ definition }) => definition));
      for (const { name } of fresh) fileOf.set(name, file);
    } catch (cause) {
      problems.push({ file, reason: reasonOf(cause) });
    }
  }
  return { registry, problems, fileOf };
}

function reasonOf(cause: unknown): string {
  if (isToolError(cause)) return cause.message;
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return String(cause);
}
