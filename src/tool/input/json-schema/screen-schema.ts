import type { Issue } from '../../../core/errors.js';
import { describeValue, isPlainObject, type Json } from '../../../core/plain-data.js';
import { MAX_ISSUES, type Path } from '../input-error.js';
import { MAX_PATTERN_LENGTH, safePatternCost, type PatternCost } from '../pattern/safe-pattern.js';
import { ReferenceResolver } from './reference-resolver.js';
import { expectedData, isNames, KEYWORDS, REFUSED_KEYWORDS, type KeywordKind } from './schema-keywords.js';
import type { SchemaNode, ScreenedSchema } from './schema-node.js';
import { structureIssues } from './schema-structure.js';

const MAX_SCHEMA_DEPTH = 32;
const MAX_PROPERTIES = 256;
const MAX_ENUM = 256;
/** Different schemas that are referred to. */
const MAX_TARGETS = 256;
/** Schemas in one document; those that are referred to count again. Large honest ones have some hundred. */
const MAX_SCHEMAS = 2_000;
/** Characters of all different patterns of a document: to judge one takes microseconds per character. */
const MAX_PATTERN_CHARACTERS = 2_048;
/** Findings that are told. */
const MAX_DROPPED = 100;
const EXCLUSIVE = [['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']] as const;

export interface Screening {
  readonly schema: ScreenedSchema;
  /** Why the schema is refused; empty when it is good. */
  readonly refused: readonly Issue[];
  /** What of the schema is not checked; the rest is. */
  readonly dropped: readonly Issue[];
}

/**
 * Rebuilds a JSON Schema from what is known and safe, so that the validator meets nothing else.
 *
 * Refused are keywords of a wrong type, external and dynamic references, schemas nested more than 32 deep, with more than
 * 256 properties or enum values in one place, 256 schemas referred to, 2,000 schemas or 2,048 characters of patterns in
 * all, and what `structureIssues` finds; it ends after 20 refusals. A `pattern` that is not known to be safe is dropped:
 * the check then accepts more than the author wanted, as if the pattern were a comment. Where that would make it accept
 * something else instead of more (inside `not`, `if`, `oneOf` …), the schema is refused.
 *
 * @param source frozen plain data.
 */
export function screenSchema(source: Json): Screening {
  const screener = new Screener(source);
  return screener.screen();
}

/** Ends a screening that has found enough. */
class EnoughRefused extends Error {}

class Screener {
  readonly #source: Json;
  readonly #refused: Issue[] = [];
  readonly #dropped: Issue[] = [];
  readonly #patterns = new Map<string, PatternCost>();
  /** Patterns that are not known to be safe. */
  readonly #unsafe = new Set<string>();
  #patternCharacters = 0;
  #schemas = 0;
  /** Nodes of which a pattern was dropped. */
  readonly #weakened = new Set<SchemaNode>();
  readonly #targets = Object.create(null) as Record<string, SchemaNode>;
  /** The ids of references by what they refer to. */
  readonly #ids = new Map<unknown, string>();
  /** Referenced schemas that are still to be rebuilt. */
  readonly #references: ReferenceResolver;
  readonly #waiting: { readonly id: string; readonly source: Json; readonly path: Path }[] = [];

  constructor(source: Json) {
    this.#source = source;
    this.#references = new ReferenceResolver(source);
  }

  screen(): Screening {
    const root = this.#rebuilt();
    const dialect = isPlainObject(this.#source) ? this.#source['$schema'] : undefined;
    const draft = typeof dialect === 'string' && /draft-0[3-7]/.test(dialect) ? '7' : '2020-12';
    const schema: ScreenedSchema = { root, targets: this.#targets, patterns: this.#patterns, draft };
    // References of a refused schema may lead nowhere.
    if (this.#refused.length === 0) this.#refused.push(...structureIssues(schema, this.#weakened));
    return { schema, refused: withoutRepeats(this.#refused), dropped: withoutRepeats(this.#dropped) };
  }

  #rebuilt(): SchemaNode {
    try {
      const root = this.#node(this.#source, [], 0);
      for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) this.#targets[next.id] = this.#node(next.source, next.path, 0);
      return root;
    } catch (error) {
      if (error instanceof EnoughRefused) return {};
      throw error;
    }
  }

  #refuse(path: Path, message: string): void {
    this.#refused.push({ path, message });
    if (this.#refused.length >= MAX_ISSUES) throw new EnoughRefused();
  }

  /** For refusals after which all that follows would be refused for the same reason. */
  #refuseAll(message: string): never {
    this.#refused.push({ path: [], message });
    throw new EnoughRefused();
  }

  #node(source: unknown, path: Path, depth: number): SchemaNode {
    if (source === true) return {};
    if (source === false) return { not: {} };
    if (depth > MAX_SCHEMA_DEPTH) {
      this.#refuse(path.slice(0, 8), `expected schemas nested at most ${MAX_SCHEMA_DEPTH} deep, found more`);
      return {};
    }
    if (!isPlainObject(source)) {
      this.#refuse(path, `expected a schema, found ${describeValue(source)}`);
      return {};
    }
    if (++this.#schemas > MAX_SCHEMAS) this.#refuseAll(`expected at most ${MAX_SCHEMAS} schemas in a document, found more`);
    const node: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(source)) {
      const place = [...path, keyword];
      const kind = KEYWORDS.get(keyword);
      if (REFUSED_KEYWORDS.includes(keyword)) this.#refuse(place, `expected references that say where they lead ($ref: '#/$defs/…'), found ${keyword}`);
      else if (keyword === '$ref') node['$ref'] = this.#reference(value, place);
      else if (keyword === '$id' && path.length > 0 && typeof value === 'string') this.#refuse(place, 'expected an $id only at the top, found one inside; references would mean something else below it');
      else if (keyword === 'pattern') this.#pattern(node, value, place);
      else if (keyword === 'patternProperties') this.#patternProperties(node, value, place, depth);
      else if (kind === undefined) continue;
      else if ('schemas' in kind) node[keyword] = this.#subschemas(kind, value, place, depth);
      else {
        const bound = EXCLUSIVE.find(([exclusive]) => exclusive === keyword)?.[1];
        if (typeof value === 'boolean' && bound !== undefined) this.#exclusive(node, source, keyword, bound);
        else if (this.#isData(kind.data, value, place)) node[keyword] = keyword === 'enum' ? unwritten(value as readonly unknown[]) : value;
      }
    }
    return node;
  }

  /** Draft 4 and OpenAPI 3.0 write `{minimum: 0, exclusiveMinimum: true}`. */
  #exclusive(node: Record<string, unknown>, source: Readonly<Record<string, unknown>>, keyword: string, bound: string): void {
    if (source[keyword] === true && typeof source[bound] === 'number') node[keyword] = source[bound];
  }

  #isData(kind: Extract<KeywordKind, { data: unknown }>['data'], value: unknown, path: Path): boolean {
    const expected = expectedData(kind, value, MAX_ENUM);
    if (expected !== undefined) this.#refuse(path, `expected ${expected}`);
    return expected === undefined;
  }

  #subschemas(kind: Extract<KeywordKind, { schemas: unknown }>, value: unknown, path: Path, depth: number): unknown {
    const { schemas } = kind;
    if (schemas === 'list' || (schemas === 'one-or-list' && Array.isArray(value))) {
      if (Array.isArray(value)) return value.map((each, index) => this.#node(each, [...path, index], depth + 1));
      this.#refuse(path, `expected a list of schemas, found ${describeValue(value)}`);
      return [];
    }
    if (schemas === 'one' || schemas === 'one-or-list') return this.#node(value, path, depth + 1);
    return this.#map(value, path, (each, place) => (schemas === 'map-or-names' && isNames(each) ? each : this.#node(each, place, depth + 1)));
  }

  #map(value: unknown, path: Path, rebuild: (value: unknown, path: Path) => unknown): Record<string, unknown> {
    // Without a prototype: `__proto__` and `constructor` are names like any other.
    const map = Object.create(null) as Record<string, unknown>;
    if (!isPlainObject(value)) {
      this.#refuse(path, `expected an object of schemas, found ${describeValue(value)}`);
      return map;
    }
    const entries = Object.entries(value);
    if (entries.length > MAX_PROPERTIES) this.#refuse(path, `expected at most ${MAX_PROPERTIES} entries, found ${entries.length}`);
    for (const [name, each] of entries.slice(0, MAX_PROPERTIES)) map[name] = rebuild(each, [...path, name]);
    return map;
  }

  #pattern(node: Record<string, unknown>, value: unknown, path: Path): void {
    if (!this.#isData('text', value, path)) return;
    if (this.#isSafe(value as string, path)) node['pattern'] = value;
    else this.#weakened.add(node);
  }

  #patternProperties(node: Record<string, unknown>, value: unknown, path: Path, depth: number): void {
    let weakened = false;
    const map = this.#map(value, path, (each, place) => {
      const schema = this.#node(each, place, depth + 1);
      if (this.#isSafe(place.at(-1) as string, place)) return schema;
      weakened = true;
      return undefined;
    });
    const kept = Object.entries(map).filter(([, schema]) => schema !== undefined);
    // Any name may be one of the dropped pattern's: it counts as known, lest `additionalProperties` refuses it.
    if (weakened) kept.push(['', {}]);
    if (weakened) this.#patterns.set('', { degree: 0, factor: 1 });
    if (weakened) this.#weakened.add(node);
    node['patternProperties'] = Object.fromEntries(kept);
  }

  #isSafe(pattern: string, path: Path): boolean {
    if (!this.#patterns.has(pattern) && !this.#unsafe.has(pattern)) this.#judge(pattern);
    if (this.#patterns.has(pattern)) return true;
    if (this.#dropped.length < MAX_DROPPED) this.#dropped.push({ path, message: `expected a pattern that is known to end soon (at most 128 characters, no look-around, no back references, no repetitions inside repetitions that overlap), found ${describeValue(pattern)}; it is not checked` });
    return false;
  }

  #judge(pattern: string): void {
    this.#patternCharacters += Math.min(pattern.length, MAX_PATTERN_LENGTH);
    if (this.#patternCharacters > MAX_PATTERN_CHARACTERS) this.#refuseAll(`expected different patterns of at most ${MAX_PATTERN_CHARACTERS} characters in all, found more`);
    const cost = safePatternCost(pattern);
    if (cost === undefined) this.#unsafe.add(pattern);
    else this.#patterns.set(pattern, cost);
  }

  #reference(value: unknown, path: Path): string {
    const target = this.#references.resolve(value);
    if (target === undefined) {
      this.#refuse(path, `expected a reference to a schema in the same document ('#/$defs/…'), found ${describeValue(value)}`);
      return '';
    }
    const known = this.#ids.get(target.source);
    if (known !== undefined) return known;
    if (this.#ids.size >= MAX_TARGETS) {
      this.#refuseAll(`expected references to at most ${MAX_TARGETS} schemas, found more`);
    }
    const id = `r${this.#ids.size}`;
    // Booleans are not one object: each gets its own id.
    this.#ids.set(typeof target.source === 'object' ? target.source : Symbol(id), id);
    this.#waiting.push({ id, ...target });
    return id;
  }
}

/** The validator writes all allowed values into each error of an enum, which nobody reads and took most of its time. */
function unwritten(values: readonly unknown[]): readonly unknown[] {
  return Object.defineProperty([...values], 'toJSON', { value: () => '…' });
}

/** A schema that is also referred to is rebuilt in both places. */
function withoutRepeats(issues: readonly Issue[]): readonly Issue[] {
  return [...new Map(issues.map((issue) => [JSON.stringify(issue), issue])).values()];
}
