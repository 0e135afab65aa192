import { z } from 'zod';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isToolError, ToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { checkLintOptions, type LintRules } from '../../registry/lint/lint-tools.js';
import { parseJsonc } from './read-json.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The file of settings, JSON with comments; a package.json has the same under `tooldex`. */
const FILE = 'tooldex.config.json';
const schema = z.strictObject({
  lint: z
    .strictObject({ rules: z.record(z.string(), z.unknown()).default({}) })
    .default({ rules: {} }),
});

/**
 * Returns the severities of lint rules: those of `tooldex.config.json`, or of `tooldex` in package.json, in the nearest
 * folder that has either, from `cwd` up to the root of the repository; then those of the command line.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a rule or setting that does not exist, naming the file.
 */
export async function lintRulesFor(cwd: string, asked: readonly string[] = []): Promise<LintRules> {
  const pairs = asked.map((text) => {
    const at = text.indexOf('=');
    if (at < 1)
      throw wrongUsage('--rule as name=off, name=warning or name=error', JSON.stringify(text));
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  const settings = await settingsAbove(cwd);
  const declared =
    settings === undefined
      ? {}
      : inFile(
          settings.name,
          () =>
            checkLintOptions({ rules: checkOptions(schema, settings.value, 'settings').lint.rules })
              .rules,
        );
  return { ...declared, ...checkLintOptions({ rules: Object.fromEntries(pairs) }).rules };
}

interface Settings {
  readonly name: string;
  readonly value: unknown;
}

async function settingsAbove(cwd: string): Promise<Settings | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const own = await settingsIn(FILE, folder, cwd);
    // A damaged package.json stops nothing where the file of settings is beside it.
    const ofPackage = await settingsIn('package.json', folder, cwd).catch((error: unknown) => {
      if (own === undefined) throw error;
      return undefined;
    });
    const inPackage =
      isPlainObject(ofPackage?.value) && Object.hasOwn(ofPackage.value, 'tooldex')
        ? { name: `"tooldex" in ${ofPackage.name}`, value: ofPackage.value['tooldex'] }
        : undefined;
    if (own !== undefined && inPackage !== undefined)
      throw wrongUsage(
        'settings in one place',
        `${own.name} and ${inPackage.name}`,
        'Keep one of them.',
      );
    const found = own ?? inPackage;
    if (found !== undefined || folder === dirname(folder) || existsSync(join(folder, '.git')))
      return found; // A folder, or a file in a work tree.
  }
}

async function settingsIn(
  file: string,
  folder: string,
  cwd: string,
): Promise<Settings | undefined> {
  const text = await readFile(join(folder, file), 'utf8').catch(() => undefined);
  const name = relative(cwd, join(folder, file));
  return text === undefined ? undefined : { name, value: parseJsonc(text, name) };
}

/** Does something with settings, and names their file in what is refused. */
function inFile<T>(name: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!isToolError(error)) throw error;
    throw new ToolError(error.code, `${name}: ${error.message}`, {
      details: error.details,
      cause: error,
    });
  }
}
