import { isPlainObject } from '../../core/plain-data.js';
import { importModules, type ModuleOptions } from '../../load/import-modules.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/**
 * Returns the default export of a file passed with an option. @throws ToolError `INVALID_ARGUMENT`
 * if the file can't be imported.
 */
export async function importDefault(
  option: string,
  file: string,
  cwd: string,
  options: ModuleOptions,
): Promise<unknown> {
  for await (const { module, error } of importModules([file], cwd, options)) {
    if (module !== undefined) return defaultOf(module);
    const reason = error instanceof Error ? error.message : 'an unknown error';
    throw wrongUsage(`Could not import ${option} ${file}: ${reason}`, error);
  }
}

/** CommonJS compiled from ES modules nests the default export one level deeper. */
function defaultOf(module: object): unknown {
  const { default: first } = module as { readonly default?: unknown };
  return isPlainObject(first) && Object.hasOwn(first, 'default') ? first['default'] : first;
}

/**
 * Returns the value that tools get as `context.context`: the default export of a file, or its
 * result if it's a function.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the file can't be imported or has no default export.
 */
export async function importContext(
  file: string,
  cwd: string,
  options: ModuleOptions,
): Promise<unknown> {
  const exported = await importDefault('--context', file, cwd, options);
  if (exported === undefined)
    throw wrongUsage(
      `${file} has no default export for --context. Export the context, or a function that returns it: export default { db }.`,
    );
  return typeof exported === 'function' ? await (exported as () => unknown)() : exported;
}
