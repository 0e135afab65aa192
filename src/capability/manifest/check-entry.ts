import type { z } from 'zod';
import { dangerRank } from '../../core/enum-order.js';
import type { DangerLevel } from '../../core/enums.js';
import { issuesOf, isToolError } from '../../core/errors.js';
import { suggestNames, toIssues } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { compileJsonSchema } from '../../json-schema/compile-json-schema.js';
import type { EntryFinding, Path } from './json-text.js';
import { KNOWN_KEYS, manifestEntrySchema } from './manifest-entry.js';

type Fields = Readonly<Record<string, unknown>>;

/** The unknown keys of one object that are named one by one. */
const MOST_UNKNOWN = 20;

/** Returns all problems of an entry by itself: wrong values, unsafe schemas, unknown keys. */
export function checkEntry(fields: Fields, suggest: Suggester): readonly EntryFinding[] {
  return [
    ...wrongValues(fields),
    ...missingParameters(fields),
    ...schemaFaults(fields, 'parameters'),
    ...schemaFaults(fields, 'output_schema'),
    ...lowDanger(fields),
    ...contradictedNeeds(fields),
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
    error(
      path,
      message
        .replace(/ \(it is required\)/, '')
        .replace(/got undefined\.$/, 'got nothing (it is required).'),
    ),
  );
}

/** Returns the issues of a choice; if one branch fits but for something further inside, only those of that branch. */
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
  // An MCP server describes the input of the tools that stand for its own.
  const standsForMcp =
    Array.isArray(providers) &&
    providers.some((each) => isPlainObject(each) && each['name'] === 'mcp');
  if (parameters !== undefined || standsForMcp) return [];
  return [
    error(
      ['parameters'],
      'Expected a JSON Schema of the input, got nothing (it is required). Use {"type": "object", "properties": {}} for a tool without input.',
    ),
  ];
}

/** Refuses a value that is no JSON Schema, or one that cannot be enforced, with its place in the file. */
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

/** Refuses two statements about the same thing: the lower one would win silently. */
function lowDanger({
  danger_level: danger,
  safety_level: safety,
}: Fields): readonly EntryFinding[] {
  const rank = dangerRank(danger as DangerLevel);
  if (rank < 0 || rank >= dangerRank(safety as DangerLevel)) return [];
  return [
    error(
      ['danger_level'],
      `Expected a danger level not below the safety level ${describeValue(safety)}, got ${describeValue(danger)}. Raise it, or leave it out.`,
    ),
  ];
}

function contradictedNeeds({ auth }: Fields): readonly EntryFinding[] {
  if (!isPlainObject(auth) || !isPlainObject(auth['envs'])) return [];
  return Object.entries(auth['envs'])
    .filter(
      ([, need]) =>
        isPlainObject(need) &&
        typeof need['required'] === 'boolean' &&
        need['required'] === need['optional'],
    )
    .map(([variable]) =>
      error(
        ['auth', 'envs', variable],
        'Expected "required" or "optional", got both with the same value. Leave one out.',
      ),
    );
}

function unknownKeys(fields: Fields, suggest: Suggester): readonly EntryFinding[] {
  const { auth, providers, idempotency_key: key } = fields;
  return [
    ...unknownIn(fields, KNOWN_KEYS.entry, [], suggest),
    ...unknownIn(auth, KNOWN_KEYS.auth, ['auth'], suggest),
    ...unknownIn(key, KNOWN_KEYS.idempotencyKey, ['idempotency_key'], suggest),
    ...(Array.isArray(providers)
      ? providers.flatMap((each, index) =>
          unknownIn(each, KNOWN_KEYS.provider, ['providers', index], suggest),
        )
      : []),
  ];
}

function unknownIn(
  value: unknown,
  known: readonly string[],
  path: Path,
  suggest: Suggester,
): readonly EntryFinding[] {
  if (!isPlainObject(value)) return [];
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  const findings = unknown.slice(0, MOST_UNKNOWN).map((key): EntryFinding => {
    const hint = suggest(key, known);
    return {
      path: [...path, key],
      message: `Expected a known key, got ${describeValue(key)}. ${hint === undefined ? 'It is only carried along.' : `Did you mean ${hint}?`}`,
      severity: 'warning',
    };
  });
  if (unknown.length > MOST_UNKNOWN)
    findings.push({
      path,
      message: `Expected known keys, got ${unknown.length - MOST_UNKNOWN} more that are unknown.`,
      severity: 'warning',
    });
  return findings;
}

/** Returns the known key that was probably meant by an unknown one. */
type Suggester = (key: string, known: readonly string[]) => string | undefined;

/** The keys looked up in one file: more are no misspellings, and each takes a fraction of a millisecond. */
const MOST_LOOKED_UP = 100;

/** The names that others use for a key. */
const KNOWN_AS: ReadonlyMap<string, string> = new Map([
  ['input_schema', 'parameters'],
  ['schema', 'parameters'],
  ['timeout', 'default_timeout'],
  ['timeout_seconds', 'default_timeout'],
  ['timeout_ms', 'default_timeout'],
  ['tags', 'capabilities'],
  ['cache_ttl_ms', 'cache_ttl'],
  ['cost', 'cost_per_call'],
  ['consent', 'requires_consent'],
  ['authentication', 'auth'],
]);

/** Creates a look-up with a memory and a bound, for one file. */
export function createSuggester(): Suggester {
  const answers = new Map<string, string | undefined>();
  return (key, known) => {
    const place = `${known.length} ${key}`;
    if (!answers.has(place)) {
      if (answers.size >= MOST_LOOKED_UP) return undefined;
      const snake = key
        .slice(0, 64)
        .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        .replace(/[\s-]+/g, '_')
        .toLowerCase();
      const candidates = [snake, KNOWN_AS.get(snake), ...suggestNames(key, known)];
      answers.set(
        place,
        candidates.find((candidate) => candidate !== undefined && known.includes(candidate)),
      );
    }
    return answers.get(place);
  };
}
