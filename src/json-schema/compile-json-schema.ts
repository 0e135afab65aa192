import { isToolError, ToolError, type Issue } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { CheckRun, type Check, type SchemaNode } from './check-run.js';
import { DIALECT, modernSchema } from './modern-schema.js';
import {
  SchemaDocument,
  SUBSCHEMAS,
  type SchemaPath,
  type Plain,
  type Resource,
} from './schema-document.js';
import { issueAt, type SchemaIssue } from './schema-issues.js';
import {
  bounded,
  BOUNDS,
  conditional,
  contains,
  fitsNot,
  fitsOne,
  hasType,
  hasUniqueItems,
  isObject,
  isOneOf,
  items,
  leftItems,
  leftMembers,
  matches,
  memberNames,
  members,
  references,
  requires,
  whenPresent,
  type Matcher,
} from './keyword-checks.js';

/** The maximum length of a schema's JSON, in characters. */
const MAX_SCHEMA = 262_144;

/** The maximum number of issues reported. */
const MAX_REFUSED = 20;
const TYPES = 'object, array, string, number, integer, boolean, null';
type Allowed = readonly [expected: string, is: (value: Json) => boolean];
const A_NUMBER: Allowed = ['a number', (value) => typeof value === 'number'];
const A_COUNT: Allowed = [
  'a whole number from 0',
  (value) => Number.isInteger(value) && (value as number) >= 0,
];
const A_REFERENCE: Allowed = ['a $ref', () => false];
/**
 * The values allowed for keywords that don't contain schemas. Keywords that aren't listed here are
 * annotations, including `format` and `default` (2020-12, Validation § 7 and § 9.2).
 */
const DATA: ReadonlyMap<string, Allowed> = new Map<string, Allowed>([
  ['$dynamicRef', A_REFERENCE],
  ['$recursiveRef', A_REFERENCE],
  [
    'type',
    [
      `a type (${TYPES}) or a list of them`,
      (value) => [value].flat().every((type) => TYPES.split(', ').includes(type as string)),
    ],
  ],
  ['enum', ['a list of values', Array.isArray]],
  ['required', ['a list of names', isNames]],
  [
    'dependentRequired',
    [
      'an object of lists of names',
      (value) => isObject(value) && Object.values(value).every(isNames),
    ],
  ],
  ['uniqueItems', ['true or false', (value) => typeof value === 'boolean']],
  ['pattern', ['a string', (value) => typeof value === 'string']],
  ['minContains', A_COUNT],
  ['maxContains', A_COUNT],
  ...BOUNDS.map(([keyword]) => [keyword, /imum$/i.test(keyword) ? A_NUMBER : A_COUNT] as const),
  ['multipleOf', ['a number above 0', (value) => typeof value === 'number' && value > 0]],
]);

/**
 * Compiles a pattern, for example with `(pattern) => new RE2(pattern, 'u')`. Throws if the pattern
 * is invalid.
 */
export type PatternEngine = (pattern: string) => { test(text: string): boolean };

/** A compiled JSON Schema that can check values. */
interface CompiledJsonSchema {
  /**
   * Returns the issues of a value, or an empty list if it matches the schema.
   *
   * @param value Plain data, at most 64 levels deep.
   * @throws ToolError `LIMIT_EXCEEDED` if the check takes more than 2,000,000 steps.
   */
  check(value: Json): readonly Issue[];
  /** The locations of the schema's unchecked patterns. */
  readonly unchecked: readonly UncheckedPattern[];
}

interface UncheckedPattern {
  readonly path: SchemaPath;
  readonly pattern: string;
}

/**
 * Marks schemas that this program didn't write. All loaded copies of the package share this mark.
 * The value of the mark is an engine or `null`.
 */
const FOREIGN = Symbol.for('tooldex/foreign-schema/v1');
const compiled = new WeakMap<object, CompiledJsonSchema>();

/**
 * Marks a schema that this program didn't write, such as the schema of an MCP tool. The schema's
 * patterns don't run here, because a pattern can be crafted to run for hours. The server has to
 * check its own patterns.
 *
 * @param engine An engine that runs the patterns. The engine must take linear time for every
 * pattern.
 */
export function foreignSchema<T extends object>(schema: T, engine?: PatternEngine): T {
  return Object.freeze(Object.defineProperty({ ...schema }, FOREIGN, { value: engine ?? null }));
}

/** Copies the mark from an original schema to its copy. */
export function withOriginOf<T extends object>(from: object, schema: T): T {
  return isForeign(from) ? foreignSchema(schema, engineOf(from)) : schema;
}

export function isForeign(schema: object): boolean {
  return Object.hasOwn(schema, FOREIGN);
}

/**
 * Returns the locations of unchecked patterns in a schema marked with `foreignSchema`. Lint reports
 * such patterns as `pattern-unchecked`. Returns an empty list for all other schemas.
 */
export function uncheckedPatterns(schema: object): readonly UncheckedPattern[] {
  return isForeign(schema) ? compile(schema).unchecked : [];
}

/**
 * Compiles a plain JSON Schema (drafts 4 to 2020-12, and OpenAPI 3.0). Doesn't generate code.
 *
 * All keywords are enforced except `format`, `default`, and the other annotations. Patterns run on
 * the platform's regular expression engine, so a slow pattern slows the check. The patterns of
 * schemas marked with `foreignSchema` don't run, so values that only these patterns would reject
 * are accepted. Each check counts its steps and stops at a limit.
 *
 * Each schema object is compiled only once. Later changes to the object have no effect.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` with up to 20 issues: invalid values of keywords,
 * invalid patterns, unknown drafts, schemas over 256 KiB, and references that are external,
 * dangling, or circular.
 */
export function compileJsonSchema(schema: object): CompiledJsonSchema {
  let cached = compiled.get(schema);
  if (cached === undefined) compiled.set(schema, (cached = compile(schema)));
  return cached;
}

/**
 * Checks that a schema can be compiled, and keeps nothing: most tools are never called, and a
 * compiled schema is larger than the schema itself. @throws ToolError like `compileJsonSchema`.
 */
export function checkJsonSchema(schema: object): void {
  compile(schema);
}

function compile(schema: object): CompiledJsonSchema {
  const builder = new Builder(
    copyOf(schema),
    isForeign(schema) ? engineMatcher(engineOf(schema)) : nativeMatcher,
  );
  const { root, refused, unchecked } = builder.build();
  if (refused.length > 0) throw refusal(refused);
  return Object.freeze({
    check: (value: Json) =>
      new CheckRun().visit(root, value, undefined) ? [] : issuesOf(root, value),
    unchecked,
  });
}

/** Repeats the check of an invalid value to collect its issues. */
function issuesOf(root: SchemaNode, value: Json): readonly Issue[] {
  const issues: SchemaIssue[] = [];
  try {
    new CheckRun(issues).visit(root, value, undefined);
  } catch (error) {
    if (!isToolError(error, 'LIMIT_EXCEEDED')) throw error;
  }
  return issues.length > 0
    ? issues.map(({ path, message }) => ({ path, message }))
    : [issueAt([], 'a value that matches the schema', value)];
}

function copyOf(schema: object): Json {
  try {
    const copy = cloneFrozen(schema) as Json;
    if (JSON.stringify(copy).length <= MAX_SCHEMA)
      return isPlainObject(copy) ? modernSchema(copy) : copy;
  } catch (error) {
    throw refusal([
      {
        path: [],
        message: `Expected ${error instanceof TypeError ? error.message : 'plain data'}.`,
      },
    ]);
  }
  throw refusal([
    {
      path: [],
      message: `The schema has more than ${MAX_SCHEMA} characters of JSON. Shorten it.`,
    },
  ]);
}

function refusal(issues: readonly Issue[]): ToolError {
  const lines = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  return new ToolError('INVALID_INPUT_SCHEMA', `Invalid schema:\n  ${lines.join('\n  ')}`, {
    details: { issues },
  });
}

function engineOf(schema: object): PatternEngine | undefined {
  return (schema as { readonly [FOREIGN]?: PatternEngine | null })[FOREIGN] ?? undefined;
}

/**
 * Compiles a pattern with the `u` flag, as the specification requires. Some patterns, such as `\\-`
 * and `\\_`, are valid only without this flag.
 */
function nativeMatcher(pattern: string): Matcher {
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, 'u');
  } catch {
    expression = new RegExp(pattern);
  }
  return (text) => expression.test(text);
}

/**
 * Returns a function that compiles patterns with an engine. Patterns that the engine rejects aren't
 * checked.
 */
function engineMatcher(engine: PatternEngine | undefined): (pattern: string) => Matcher {
  return (pattern) => {
    try {
      const expression = engine?.(pattern);
      return expression && ((text) => expression.test(text));
    } catch {
      return undefined;
    }
  };
}

/** Returns the checks of keywords. Gets their values, in which subschemas have become nodes. */
type ChecksOf = (...values: never[]) => Check | undefined | readonly (Check | undefined)[];
type Rule = readonly [keywords: readonly string[], checksOf: ChecksOf, isShared?: boolean];
type Parts = readonly SchemaNode[];
type NamedParts = readonly (readonly [name: string, SchemaNode])[];

/**
 * The checks in the order in which they run. The first keyword of a row has to be present, or any
 * of them if the keywords share a check.
 */
const CHECKS: readonly Rule[] = [
  [['$ref'], references],
  [['type'], (types: string | readonly string[]) => hasType([types].flat())],
  [['enum'], isOneOf],
  [['const'], (value: Json) => isOneOf([value])],
  ...BOUNDS.map((each): Rule => [[each[0]], (bound: number) => bounded(each, bound)]),
  [['pattern', 'maxLength'], matches],
  // Formats aren't checked, so it's open which of two branches with a format matches.
  [['format'], () => (_, run) => (run.unsure = true)],
  [['required'], requires],
  [
    ['dependentRequired'],
    (needs: Readonly<Record<string, readonly string[]>>) =>
      Object.entries(needs).map(([name, each]) => whenPresent(name, requires(each))),
  ],
  [
    ['dependentSchemas'],
    (parts: NamedParts) => parts.map(([name, each]) => whenPresent(name, references(each)!)),
  ],
  [['properties', 'patternProperties', 'additionalProperties'], members, true],
  [['propertyNames'], memberNames],
  [['prefixItems', 'items'], items, true],
  [['contains', 'minContains', 'maxContains'], contains],
  [['uniqueItems'], (isUnique: boolean) => (isUnique ? hasUniqueItems : undefined)],
  [['allOf'], (parts: Parts) => parts.map(references)],
  [['anyOf'], (parts: Parts) => fitsOne(parts, false)],
  [['oneOf'], (parts: Parts) => fitsOne(parts, true)],
  [['not'], fitsNot],
  [['if', 'then', 'else'], conditional],
];
/** The checks that need to know what all others have evaluated. */
const LATE: readonly Rule[] = [
  [['unevaluatedItems'], leftItems],
  [['unevaluatedProperties'], leftMembers],
];
/** The keywords whose subschemas apply to the same value. */
const IN_PLACE = /^(?:\$ref|dependentSchemas|allOf|anyOf|oneOf|not|if|then|else)$/;

class Builder {
  readonly #document: SchemaDocument;
  readonly #matcherOf: (pattern: string) => Matcher;
  readonly #source: Json;
  readonly #refused: Issue[] = [];
  readonly #unchecked = new Map<string, UncheckedPattern>();
  readonly #nodes = new Map<object, SchemaNode>();
  /**
   * The schemas that haven't been built yet. A queue replaces recursion, because chains of
   * references can be longer than the maximum recursion depth.
   */
  readonly #waiting: (() => void)[] = [];

  constructor(source: Json, matcherOf: (pattern: string) => Matcher) {
    this.#source = source;
    this.#matcherOf = matcherOf;
    this.#document = new SchemaDocument(source);
  }

  build(): {
    readonly root: SchemaNode;
    readonly refused: readonly Issue[];
    readonly unchecked: readonly UncheckedPattern[];
  } {
    const root = this.#node(this.#source, [], this.#document.root);
    // The loop adds more schemas to the queue.
    for (const fill of this.#waiting) if (this.#refused.length < MAX_REFUSED) fill();
    if (this.#refused.length === 0 && hasCircle(this.#nodes.values()))
      this.#refused.push({
        path: [],
        message:
          'This `$ref` points back to itself without descending into the value, so validation would never finish. Remove it.',
      });
    return { root, refused: this.#refused, unchecked: [...this.#unchecked.values()] };
  }

  #refuse(path: SchemaPath, expected: string, value: unknown, advice?: string): undefined {
    if (this.#refused.length < MAX_REFUSED)
      this.#refused.push({ path, message: expectedGot(expected, describeValue(value), advice) });
  }

  /** Returns a schema's node. The node's checks are added later. */
  #node(source: Json, path: SchemaPath, home: Resource): SchemaNode {
    const cached = this.#nodes.get(source as object);
    if (cached !== undefined) return cached;
    const node: SchemaNode = { checks: [], late: [], inPlace: [], isFalse: source === false };
    if (source === false) node.checks.push((value, run) => run.fail('no value', value));
    else if (isPlainObject(source)) {
      this.#nodes.set(source, node);
      const resource = this.#document.resourceOf(source, home);
      this.#waiting.push(() => this.#fill(node, source, path, resource));
    } else if (source !== true) this.#refuse(path, 'a schema', source);
    return node;
  }

  #fill(node: SchemaNode, source: Plain, path: SchemaPath, home: Resource): void {
    const keywords = this.#sound(source, path);
    const isPresent = (keyword: string) => keywords[keyword] !== undefined;
    const partOf = (keyword: string) =>
      isPresent(keyword)
        ? this.#part(node, keyword, keywords[keyword]!, [...path, keyword], home)
        : undefined;
    const checksOf = (rules: readonly Rule[]) =>
      rules
        .filter(([names, , isShared]) => (isShared ? names.some(isPresent) : isPresent(names[0]!)))
        .flatMap(([names, make]) => make(...(names.map(partOf) as never[])))
        .filter((check) => check !== undefined);
    node.checks.push(...checksOf(CHECKS));
    node.late.push(...checksOf(LATE));
  }

  /** Returns a keyword's value with nodes instead of subschemas, and matchers of its patterns. */
  #part(node: SchemaNode, keyword: string, value: Json, path: SchemaPath, home: Resource): unknown {
    const add = <T extends SchemaNode | undefined>(part: T): T => {
      if (part !== undefined && IN_PLACE.test(keyword)) node.inPlace.push(part);
      return part;
    };
    const nodeOf = (each: Json, ...steps: SchemaPath) =>
      add(this.#node(each, [...path, ...steps], home));
    if (keyword === '$ref') return add(this.#target(value, path, home));
    if (keyword === 'pattern') return [value, this.#matcher(value as string, path)];
    switch (SUBSCHEMAS.get(keyword)) {
      case undefined:
        return value;
      case 'list':
        return (value as readonly Json[]).map((each, index) => nodeOf(each, index));
      case 'map':
        return Object.entries(value as Plain).map(([name, each]) => [
          keyword === 'patternProperties' ? this.#matcher(name, [...path, name]) : name,
          nodeOf(each, name),
        ]);
      default:
        return nodeOf(value);
    }
  }

  /** Returns a schema's keywords without those with invalid values. */
  #sound(source: Plain, path: SchemaPath): Plain {
    // Without a prototype, a name such as `constructor` isn't mistaken for a keyword.
    const keywords = Object.assign(Object.create(null), source) as Record<string, Json>;
    const { $schema } = keywords;
    if ($schema !== undefined && $schema !== DIALECT && (path.length === 0 || '$id' in keywords))
      this.#refuse(
        [...path, '$schema'],
        'a known draft (4, 6, 7, 2019-09 or 2020-12)',
        $schema,
        'Leave $schema out.',
      );
    for (const [keyword, value] of Object.entries(keywords)) {
      const expected = expectedValueOf(keyword, value);
      if (expected === undefined) continue;
      this.#refuse([...path, keyword], expected, value);
      delete keywords[keyword];
    }
    return keywords;
  }

  #target(reference: Json, path: SchemaPath, home: Resource): SchemaNode | undefined {
    const target =
      typeof reference === 'string' ? this.#document.resolve(reference, home) : undefined;
    return target === undefined
      ? this.#refuse(
          path,
          `a reference to a schema in the same document ('#/$defs/…')`,
          reference,
          "External schemas aren't loaded: copy the parts that you need into $defs.",
        )
      : this.#node(target.source, target.path, target.resource);
  }

  #matcher(pattern: string, path: SchemaPath): Matcher {
    try {
      const matcher = this.#matcherOf(pattern);
      if (matcher === undefined) this.#unchecked.set(JSON.stringify(path), { path, pattern });
      return matcher;
    } catch {
      return this.#refuse(path, 'a regular expression', pattern);
    }
  }
}

/**
 * Returns a description of a keyword's allowed values, or `undefined` if its value is valid. Nested
 * schemas are checked when they're built.
 */
function expectedValueOf(keyword: string, value: Json): string | undefined {
  const data = DATA.get(keyword);
  if (data !== undefined) return data[1](value) ? undefined : data[0];
  const kind = SUBSCHEMAS.get(keyword);
  if (kind === 'list' && !Array.isArray(value)) return 'a list of schemas';
  return kind === 'map' && !isPlainObject(value) ? 'an object of schemas' : undefined;
}

/** Returns true if a schema refers back to itself for the same value. */
function hasCircle(all: Iterable<SchemaNode>): boolean {
  const open = new Map<SchemaNode, number>();
  const nodes = [...all];
  for (const { inPlace } of nodes)
    for (const each of inPlace) open.set(each, (open.get(each) ?? 0) + 1);
  const ready = nodes.filter((node) => !open.has(node));
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    for (const each of node.inPlace) {
      const left = open.get(each)! - 1;
      if (left > 0) open.set(each, left);
      else {
        open.delete(each);
        ready.push(each);
      }
    }
  }
  return open.size > 0;
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}
