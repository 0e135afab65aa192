import type { z } from 'zod';
import { dangerRank } from '../../core/enum-order.js';
import type { DangerLevel } from '../../core/enums.js';
import { issuesOf, isToolError } from '../../core/errors.js';
import { suggestNames, toIssues } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { compileJsonSchema } from '../../json-schema/compile-json-schema.js';
import type { EntryFinding, Path } from './json-text.js';
import { KNOWN_KEYS, manifestEntrySchema } from './manifest-entry.js';
import { requiredWords } from './manifest-issue.js';

type Fields = Readonly<Record<string, unknown>>;

/** Returns all problems within an entry: wrong values, unsafe schemas, unknown keys. */
export function checkEntry(fields: Fields, suggest: Suggester): readonly EntryFinding[] {
  return [
    ...wrongValues(fields),
    ...missingParameters(fields),
    ...schemaFaults(fields, 'parameters'),
    ...schemaFaults(fields, 'output_schema'),
    ...lowDanger(fields),
    ...unknownKeys(fields, suggest),
  ];
}

function error(path: Path, message: string): EntryFinding {
  return { path, message, severity: 'error' };
}

function wrongValues(fields: Fields): readonly EntryFinding[] {
  const parsed = manifestEntrySchema.safeParse(fields);
  if (parsed.success) return [];
  const issues = parsed.error.issues.flatMap(branchesOf);
  return toIssues({ issues } as unknown as z.ZodError, fields).map(({ path, message }) =>
    error(path, requiredWords(message)),
  );
}

/**
 * Returns the issues of a choice. If one branch fits except deeper inside, returns only that
 * branch's issues.
 */
function branchesOf(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const fitting = issue.errors.filter(
    (branch) => branch.length > 0 && branch.every(({ path }) => path.length > 0),
  );
  return fitting.length === 1
    ? fitting[0]!.flatMap((each) => branchesOf({ ...each, path: [...issue.path, ...each.path] }))
    : [issue];
}

function missingParameters({ parameters, providers }: Fields): readonly EntryFinding[] {
  // An MCP server describes the input of tools that wrap its own.
  const standsForMcp =
    Array.isArray(providers) &&
    providers.some((each) => isPlainObject(each) && each['name'] === 'mcp');
  if (parameters !== undefined || standsForMcp) return [];
  return [
    error(
      ['parameters'],
      'parameters is missing. It must be a JSON Schema of the input; use {"type": "object", "properties": {}} for a tool without input.',
    ),
  ];
}

/** Reports a value that isn't a JSON Schema or can't be enforced, with its place in the file. */
function schemaFaults(fields: Fields, key: string): readonly EntryFinding[] {
  const schema = fields[key];
  if (!isPlainObject(schema)) return [];
  try {
    compileJsonSchema(schema);
    return [];
  } catch (refusal) {
    if (!isToolError(refusal, 'INVALID_INPUT_SCHEMA')) throw refusal;
    return issuesOf(refusal).map(({ path, message }) => error([key, ...path], message));
  }
}

/** Reports contradicting danger and safety levels, because the lower one would silently win. */
function lowDanger({
  danger_level: danger,
  safety_level: safety,
}: Fields): readonly EntryFinding[] {
  const rank = dangerRank(danger as DangerLevel);
  if (rank < 0 || rank >= dangerRank(safety as DangerLevel)) return [];
  return [
    error(
      ['danger_level'],
      `danger_level ${describeValue(danger)} is below the safety level ${describeValue(safety)}. Raise it, or leave it out.`,
    ),
  ];
}

/** Returns warnings about unknown keys in an entry, its `auth` and its providers. */
function unknownKeys(fields: Fields, suggest: Suggester): readonly EntryFinding[] {
  const { auth, providers } = fields;
  return [
    ...unknownIn(fields, KNOWN_KEYS.entry, [], suggest),
    ...unknownIn(auth, KNOWN_KEYS.auth, ['auth'], suggest),
    ...(Array.isArray(providers) ? providers : []).flatMap((each, index) =>
      unknownIn(each, KNOWN_KEYS.provider, ['providers', index], suggest),
    ),
  ];
}

function unknownIn(
  value: unknown,
  known: readonly string[],
  path: Path,
  suggest: Suggester,
): readonly EntryFinding[] {
  const unknown = isPlainObject(value)
    ? Object.keys(value).filter((key) => !known.includes(key))
    : [];
  return unknown.slice(0, MOST_UNKNOWN).map((key) => {
    const hint = suggest(key, known);
    const advice = hint === undefined ? 'It is kept but has no effect.' : `Did you mean ${hint}?`;
    const message = `Unknown key ${describeValue(key)}. ${advice}`;
    return { path: [...path, key], message, severity: 'warning' };
  });
}

/** Maximum unknown keys that are named per object. */
const MOST_UNKNOWN = 20;

/** Returns the known key that an unknown one probably means. */
type Suggester = (key: string, known: readonly string[]) => string | undefined;

/**
 * Maximum look-ups per file, because each takes a fraction of a millisecond. More unknown keys
 * aren't typos.
 */
const MOST_LOOKED_UP = 100;

/** Other common names of keys. */
const KNOWN_AS: Readonly<Record<string, string>> = {
  input_schema: 'parameters',
  schema: 'parameters',
  timeout: 'default_timeout',
  timeout_seconds: 'default_timeout',
  timeout_ms: 'default_timeout',
  tags: 'capabilities',
  cost: 'cost_per_call',
  consent: 'requires_consent',
  authentication: 'auth',
};

/** Creates a look-up for one file, with a cache and a limit. */
export function createSuggester(): Suggester {
  const answers = new Map<string, string | undefined>();
  return (key, known) => {
    const place = `${known.length} ${key}`;
    if (!answers.has(place) && answers.size < MOST_LOOKED_UP) {
      const snake = key
        .slice(0, 64)
        .replace(/\B[A-Z]|[\s-]+/g, (found) => `_${found.trim().replace('-', '')}`)
        .toLowerCase();
      answers.set(
        place,
        [snake, KNOWN_AS[snake] ?? '', ...suggestNames(key, known)].find((candidate) =>
          known.includes(candidate),
        ),
      );
    }
    return answers.get(place);
  };
}
