import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { withSlashes } from '../../host/shown-path.js';
import { knowledge } from '../../audit/known/known-calls.js';
import { isToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { without } from '../../core/plain-data.js';
import { HINTS_FILE } from '../../registry/read-hints.js';
import { checkLintOptions, type LintRules } from '../../registry/lint/lint-tools.js';
import type { ToolPlaces } from '../command/options.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { parseJsonc } from './read-json.js';

/** The settings file, JSON with comments. */
const FILE = 'tooldex.config.json';
const schema = z.strictObject({
  tools: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  manifests: z.string().optional(),
  mcp: z.string().optional(),
  openapi: z.string().optional(),
  lint: z
    .strictObject({ rules: z.record(z.string(), z.unknown()).default({}) })
    .default({ rules: {} }),
  audit: z
    .strictObject({ tools: z.array(z.string()).optional(), known: knowledge.optional() })
    .default({}),
});
type Settings = z.output<typeof schema>;

/**
 * Returns the severities of lint rules from the nearest `tooldex.config.json`, looking from `cwd`
 * up to the repository root. Rules set on the command line override the file's rules.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown rule or setting. The message includes the
 * file name.
 */
export async function lintRulesFor(cwd: string, asked: readonly string[] = []): Promise<LintRules> {
  const pairs = asked.map((text) => {
    const [name, severity] = text.split('=');
    if (name === '' || severity === undefined)
      throw wrongUsage(
        `Expected --rule to be name=off, name=warning or name=error, got ${JSON.stringify(text)}.`,
      );
    return [name!, severity] as const;
  });
  const settings = await settingsAbove(cwd);
  const declared = settings === undefined ? {} : rulesIn(...settings);
  return { ...declared, ...checkLintOptions({ rules: Object.fromEntries(pairs) }).rules };
}

/** Returns the path and text of the nearest settings file. */
async function settingsAbove(
  cwd: string,
): Promise<readonly [name: string, text: string] | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, FILE);
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) return [withSlashes(relative(cwd, path)), text];
    // In a linked work tree, `.git` is a file.
    if (folder === dirname(folder) || existsSync(join(folder, '.git'))) return undefined;
  }
}

/**
 * Returns the settings of `tooldex audit` from the nearest `tooldex.config.json`: the files of tools,
 * and what your own calls do.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown setting. The message includes the file name.
 */
export async function auditSettingsFor(cwd: string): Promise<Settings['audit']> {
  const settings = await settingsAbove(cwd);
  return settings === undefined ? {} : read(...settings, ({ audit }) => audit);
}

/**
 * Returns the places of tools in the nearest `tooldex.config.json`, relative to `cwd`. Commands use
 * them if the command line names no place.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown setting. The message includes the file name.
 */
export async function toolPlacesFor(cwd: string): Promise<ToolPlaces> {
  const settings = await settingsAbove(cwd);
  if (settings === undefined) return {};
  const { tools, manifests, mcp, openapi } = read(...settings, (all) => all);
  const folder = dirname(settings[0]);
  const here = (path: string) => (/^https?:/.test(path) ? path : join(folder, path));
  return without({
    tools: tools?.map(here),
    manifests: manifests && here(manifests),
    mcp: mcp && here(mcp),
    openapi: openapi && here(openapi),
  });
}

/** Returns the path of the hints: the given file, or the usual one next to `tooldex.config.json`. */
export async function hintsFileFor(file: string | undefined, cwd: string): Promise<string> {
  if (file !== undefined) return resolve(cwd, file);
  const [settings = ''] = (await settingsAbove(cwd)) ?? [];
  return join(cwd, dirname(settings), HINTS_FILE);
}

function rulesIn(name: string, text: string): LintRules {
  return read(name, text, ({ lint }) => checkLintOptions({ rules: lint.rules }).rules ?? {});
}

function read<T>(name: string, text: string, take: (settings: Settings) => T): T {
  const value = parseJsonc(text, name);
  try {
    return take(checkOptions(schema, value, 'settings'));
  } catch (error) {
    throw isToolError(error) ? wrongUsage(`${name}: ${error.message}`, error) : error;
  }
}
