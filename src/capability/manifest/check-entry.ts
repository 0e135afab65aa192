import type { z } from 'zod';
import { toIssues } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { EntryFinding } from './json-text.js';
import { KNOWN_KEYS, manifestEntrySchema } from './manifest-entry.js';
import { didYouMean, requiredWords } from './manifest-issue.js';

/** Returns all problems in an entry: invalid values as errors, unknown keys as warnings. */
export function checkEntry(fields: Readonly<Record<string, unknown>>): readonly EntryFinding[] {
  const { error } = manifestEntrySchema.safeParse(fields);
  if (error === undefined) return missingParameters(fields);
  const issues = error.issues.filter(({ code }) => code !== 'unrecognized_keys');
  const wrong = toIssues({ issues } as z.ZodError, fields).map(
    ({ path, message }): EntryFinding => ({
      path,
      message: requiredWords(message),
      severity: 'error',
    }),
  );
  const warnings = [...unknownKeys(error)].slice(0, MOST_UNKNOWN).map(warningOf);
  return [...wrong, ...missingParameters(fields), ...warnings];
}

type Path = readonly PropertyKey[];

/** Returns the path of each unknown key. */
function* unknownKeys({ issues }: z.ZodError): Iterable<Path> {
  for (const issue of issues)
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) yield [...issue.path, key];
}

function warningOf(path: Path): EntryFinding {
  const key = path.at(-1);
  const keys = KNOWN_KEYS[(path.length > 1 ? path[0] : 'entry') as keyof typeof KNOWN_KEYS];
  const advice = didYouMean(String(key), keys);
  const message = `Unknown key ${describeValue(key)}.${advice || ' It is kept but has no effect.'}`;
  return { path: path as string[], message, severity: 'warning' };
}

/**
 * Maximum number of unknown keys reported per entry. Each report includes a suggestion, which takes
 * time.
 */
const MOST_UNKNOWN = 20;

function missingParameters({
  parameters,
  providers,
}: Readonly<Record<string, unknown>>): readonly EntryFinding[] {
  // If a tool wraps a tool of an MCP server, the server describes the input.
  const standsForMcp =
    Array.isArray(providers) &&
    providers.some((each) => isPlainObject(each) && each['name'] === 'mcp');
  if (parameters !== undefined || standsForMcp) return [];
  const message =
    'Expected a JSON Schema of the input, got none. Use {"type": "object", "properties": {}} for a tool without input.';
  return [{ path: ['parameters'], message, severity: 'error' }];
}
