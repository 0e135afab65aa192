import { isToolError, ToolError, type Issue } from '../core/errors.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { CheckRun, type Check, type SchemaNode } from './check-run.js';
import { DIALECT, modernSchema } from './modern-schema.js';
import {
  SchemaDocument,
  SUBSCHEMAS,
  type Path,
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
  isList,
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
const TYPES: ReadonlySet<unknown> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);
type Allowed = readonly [expected: string, is: (value: Json) => boolean];
const A_NUMBER: Allowed = ['a number', (value) => typeof value === 'number'];
const A_COUNT: Allowed = [
  'a whole number from 0',
  (value) => Number.isInteger(value) && (value as number) >= 0,
];
/**
 * The values allowed for keywords that don't contain schemas. Keywords that aren't listed here are
 * annotations, including `format` and `default` (2020-12, Validation § 7 and § 9.2).
 */
const DATA: ReadonlyMap<string, Allowed> = new Map<string, Allowed>([
  [
    'type',
    [
      `a type (${[...TYPES].join(', ')}) or a list of them`,
      (value) => (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type)),
    ],
  ],
  ['enum', ['a list of values', isList]],
  ['required', ['a list of names', isNames]],
  [
    'dependentRequired',
    [
      'an object of lists of names',
      (value) => isObject(value) && Object.values(value).every(isNames),
    ],
  ],
  ['uniqueItems', ['true or false', (value) => typeof value === 'boolean']],
  ['multipleOf', ['a number above 0', (value) => typeof value === 'number' && value > 0]],
  ['pattern', ['a string', (value) => typeof value === 'string']],
  ...[...BOUNDS.map(([keyword]) => keyword), 'minContains', 'maxContains']
    .filter((keyword) => keyword !== 'multipleOf')
    .map((keyword) => [keyword, /imum$/i.test(keyword) ? A_NUMBER : A_COUNT] as const),
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
  readonly path: Path;
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
  let known = compiled.get(schema);
  if (known === undefined) compiled.set(schema, (known = compile(schema)));
  return known;
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

  #refuse(path: Path, expected: string, value: unknown, advice?: string): undefined {
    if (this.#refused.length < MAX_REFUSED)
      this.#refused.push({
        path,
        message: `Expected ${expected}, got ${describeValue(value)}.${advice === undefined ? '' : ` ${advice}.`}`,
      });
  }

  /** Returns a schema's node. The node's checks are added later. */
  #node(source: Json, path: Path, home: Resource): SchemaNode {
    if (typeof source === 'boolean')
      return {
        checks: source ? [] : [(value, run) => run.fail('no value', value)],
        late: [],
        inPlace: [],
        isFalse: !source,
      };
    if (!isPlainObject(source)) {
      this.#refuse(path, 'a schema', source);
      return EMPTY;
    }
    const known = this.#nodes.get(source);
    if (known !== undefined) return known;
    const resource = this.#document.resourceOf(source, home);
    const node: SchemaNode = {
      checks: [],
      late: [],
      inPlace: [],
      isFalse: false,
    };
    this.#nodes.set(source, node);
    this.#waiting.push(() => this.#fill(node, source, path, resource));
    return node;
  }

  #fill(node: SchemaNode, source: Plain, path: Path, home: Resource): void {
    const keywords = this.#sound(source, path);
    const at = (keyword: string) => [...path, keyword];
    const one = (keyword: string): SchemaNode | undefined =>
      keywords[keyword] === undefined
        ? undefined
        : this.#node(keywords[keyword], at(keyword), home);
    const list = (keyword: string) =>
      (keywords[keyword] as readonly Json[] | undefined)?.map((each, index) =>
        this.#node(each, [...at(keyword), index], home),
      );
    const map = (keyword: string) =>
      keywords[keyword] === undefined
        ? []
        : Object.entries(keywords[keyword] as Plain).map(
            ([name, each]) => [name, this.#node(each, [...at(keyword), name], home)] as const,
          );
    const here = <T extends SchemaNode | undefined>(each: T): T => {
      if (each !== undefined) node.inPlace.push(each);
      return each;
    };
    const add = (check: Check | undefined) => check !== undefined && node.checks.push(check);
    const number = (keyword: string) => keywords[keyword] as number | undefined;

    const { type, enum: values, required, dependentRequired, $ref, pattern } = keywords;
    for (const keyword of ['$dynamicRef', '$recursiveRef'])
      if (keywords[keyword] !== undefined) this.#refuse(at(keyword), 'a $ref', keywords[keyword]);
    if ($ref !== undefined) add(references(here(this.#reference($ref, at('$ref'), home))));
    if (type !== undefined)
      add(hasType((Array.isArray(type) ? type : [type]) as readonly string[]));
    if (values !== undefined) add(isOneOf(values as readonly Json[]));
    if (Object.hasOwn(keywords, 'const')) add(isOneOf([keywords['const']!]));
    for (const each of BOUNDS)
      if (keywords[each[0]] !== undefined) add(bounded(each, keywords[each[0]] as number));
    if (pattern !== undefined) {
      const matcher = this.#matcher(pattern as string, at('pattern'));
      add(matches(pattern as string, matcher, number('maxLength')));
    }
    // Formats aren't checked, so it's open which of two branches with a format matches.
    if (keywords['format'] !== undefined) add((_, run) => (run.unsure = true));
    if (required !== undefined) add(requires(required as readonly string[]));
    for (const [name, needs] of Object.entries(
      (dependentRequired ?? {}) as Readonly<Record<string, readonly string[]>>,
    ))
      add(whenPresent(name, requires(needs)));
    for (const [name, each] of map('dependentSchemas'))
      add(whenPresent(name, references(here(each))!));
    const patterns = map('patternProperties').map(
      ([name, each]) => [this.#matcher(name, [...at('patternProperties'), name]), each] as const,
    );
    add(members(map('properties'), patterns, one('additionalProperties')));
    const nameNode = one('propertyNames');
    if (nameNode !== undefined) add(memberNames(nameNode));
    add(items(list('prefixItems') ?? [], one('items')));
    const contained = one('contains');
    if (contained !== undefined)
      add(contains(contained, number('minContains') ?? 1, number('maxContains')));
    if (keywords['uniqueItems'] === true) add(hasUniqueItems);
    for (const each of list('allOf') ?? []) add(references(here(each)));
    add(fitsOne(list('anyOf')?.map(here), false));
    add(fitsOne(list('oneOf')?.map(here), true));
    const refused = here(one('not'));
    if (refused !== undefined) add(fitsNot(refused));
    const condition = here(one('if'));
    if (condition !== undefined) add(conditional(condition, here(one('then')), here(one('else'))));
    const restItems = one('unevaluatedItems');
    if (restItems !== undefined) node.late.push(leftItems(restItems));
    const restMembers = one('unevaluatedProperties');
    if (restMembers !== undefined) node.late.push(leftMembers(restMembers));
  }

  /** Returns a schema's keywords without those with invalid values. */
  #sound(source: Plain, path: Path): Plain {
    // Without a prototype, a name such as `constructor` isn't mistaken for a keyword.
    const keywords = Object.assign(Object.create(null), source) as Record<string, Json>;
    const { $schema } = keywords;
    if ($schema !== undefined && $schema !== DIALECT && (path.length === 0 || '$id' in keywords))
      this.#refuse(
        [...path, '$schema'],
        'a known draft (4, 6, 7, 2019-09 or 2020-12)',
        $schema,
        'Leave $schema out',
      );
    for (const [keyword, value] of Object.entries(keywords)) {
      const expected = expectedValueOf(keyword, value);
      if (expected === undefined) continue;
      this.#refuse([...path, keyword], expected, value);
      delete keywords[keyword];
    }
    return keywords;
  }

  #reference(reference: Json, path: Path, home: Resource): SchemaNode | undefined {
    const target =
      typeof reference === 'string' ? this.#document.resolve(reference, home) : undefined;
    return target === undefined
      ? this.#refuse(
          path,
          `a reference to a schema in the same document ('#/$defs/…')`,
          reference,
          "External schemas aren't loaded: copy the parts that you need into $defs",
        )
      : this.#node(target.source, target.path, target.resource);
  }

  #matcher(pattern: string, path: Path): Matcher {
    try {
      const matcher = this.#matcherOf(pattern);
      if (matcher === undefined) this.#unchecked.set(JSON.stringify(path), { path, pattern });
      return matcher;
    } catch {
      return this.#refuse(path, 'a regular expression', pattern);
    }
  }
}

const EMPTY: SchemaNode = {
  checks: [],
  late: [],
  inPlace: [],
  isFalse: false,
};

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
