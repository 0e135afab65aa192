import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { importModules, type ImportOptions } from '../../load/import-modules.js';

/** Returns the default export of the file that an option names. @throws ToolError `INVALID_ARGUMENT` for a file that cannot be imported. */
export async function importDefault(
  option: string,
  file: string,
  cwd: string,
  options: ImportOptions,
): Promise<unknown> {
  for await (const { module, error } of importModules([file], cwd, options)) {
    if (module !== undefined) return defaultOf(module);
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `${option} as a file that can be imported`,
        `from ${file}: ${error instanceof Error ? error.message : 'an error'}`,
      ),
      { cause: error },
    );
  }
  throw invalidArgument(`${option} as a file that can be imported`, file);
}

/** CommonJS that was compiled from ES modules has its default export one level deeper. */
function defaultOf(module: object): unknown {
  const first: unknown = Object.hasOwn(module, 'default')
    ? (module as { readonly default: unknown }).default
    : undefined;
  return isPlainObject(first) && Object.hasOwn(first, 'default') ? first['default'] : first;
}

/**
 * Returns what tools get as `context.context`: the default export of a file, or what it returns if it is a function.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a file without a default export, and for one that cannot be imported.
 */
export async function importContext(
  file: string,
  cwd: string,
  options: ImportOptions,
): Promise<unknown> {
  const exported = await importDefault('--context', file, cwd, options);
  if (exported === undefined)
    throw invalidArgument(
      `the context of the tools as the default export of ${file}`,
      exported,
      'Export it, or a function that makes it: export default { db }.',
    );
  return typeof exported === 'function' ? await (exported as () => unknown)() : exported;
}
