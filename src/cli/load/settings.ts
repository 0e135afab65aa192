import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { withSlashes } from '../../host/shown-path.js';
import type { AuditKnowledge } from '../../audit/known/known-calls.js';
import { isToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { HINTS_FILE } from '../../registry/read-hints.js';
import { checkLintOptions, type LintRules } from '../../registry/lint/lint-tools.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { parseJsonc } from './read-json.js';

/** The settings file, JSON with comments. */
const FILE = 'tooldex.config.json';

/** Returns the schema of a settings file. Places are relative to its folder, which is relative to `cwd`. */
function schemaIn(folder: string) {
  const place = z.string().transform((path) => (/^https?:/.test(path) ? path : join(folder, path)));
  return z
    .strictObject({
      tools: z.union([place.transform((one) => [one]), z.array(place)]).optional(),
      manifests: place.optional(),
      mcp: place.optional(),
      openapi: place.optional(),
      lint: z.strictObject({ rules: z.record(z.string(), z.unknown()).optional() }).default({}),
      // The audit checks its knowledge itself, so that other commands don't load the audit.
      audit: z
        .strictObject({
          tools: z.array(z.string()).optional(),
          known: z.custom<AuditKnowledge>().optional(),
        })
        .default({}),
    })
    .transform(({ lint, audit, ...places }) => ({
      folder,
      places,
      rules: checkLintOptions(lint).rules ?? {},
      audit,
    }));
}

/**
 * Returns the settings in the nearest `tooldex.config.json`, looking from `cwd` up to the repository
 * root: the places of tools, which commands use if the command line names no place, the severities of
 * lint rules, and what `tooldex audit` needs.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown rule or setting. The message includes the
 * file name.
 */
export async function settingsFor(cwd: string): Promise<z.output<ReturnType<typeof schemaIn>>> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, FILE);
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) return settingsIn(text, withSlashes(relative(cwd, path)));
    // In a linked work tree, `.git` is a file.
    if (folder === dirname(folder) || existsSync(join(folder, '.git')))
      return settingsIn('{}', FILE);
  }
}

function settingsIn(text: string, name: string) {
  const value = parseJsonc(text, name);
  try {
    return checkOptions(schemaIn(dirname(name)), value, 'settings');
  } catch (error) {
    throw isToolError(error) ? wrongUsage(`${name}: ${error.message}`, error) : error;
  }
}

/** Returns the severities of lint rules. Rules on the command line override the file's rules. */
export async function lintRulesFor(cwd: string, asked: readonly string[] = []): Promise<LintRules> {
  const pairs = asked.map((text) => {
    const [name, severity] = text.split('=');
    if (name === '' || severity === undefined)
      throw wrongUsage(
        `Expected --rule to be name=off, name=warning or name=error, got ${JSON.stringify(text)}.`,
      );
    return [name!, severity] as const;
  });
  const { rules } = await settingsFor(cwd);
  return { ...rules, ...checkLintOptions({ rules: Object.fromEntries(pairs) }).rules };
}

/** Returns the path of the hints: the given file, or the usual one next to `tooldex.config.json`. */
export async function hintsFileFor(file: string | undefined, cwd: string): Promise<string> {
  if (file !== undefined) return resolve(cwd, file);
  return resolve(cwd, (await settingsFor(cwd)).folder, HINTS_FILE);
}
