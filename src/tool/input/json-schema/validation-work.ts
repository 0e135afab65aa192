import { isPlainObject, type Json } from '../../../core/plain-data.js';
import { stepsOf, type PatternCost } from '../pattern/safe-pattern.js';
import { nodeWork, type NodeWork } from './node-work.js';
import type { ScreenedSchema } from './schema-node.js';

/**
 * The work that one check may take, in nanoseconds as they were measured on an idle core: 7 ms, and less for most.
 *
 * The weights here and in node-work.ts are for the worst input that is known of each kind of work, from @cfworker/json-schema
 * 4.1 on Node 20. Honest inputs take some ten thousand.
 */
const MAX_WORK = 7_000_000;
/** An error is copied at each level of the schema that it is handed up. */
const LEVEL = 20;
/** Names of an object are listed at each visit; above some hundred the engine keeps them in a hash table. */
const LARGE_OBJECT = 128;
const LISTED = { small: 10, large: 45 };
/** A member that is checked, and kept as evaluated. */
const MEMBER = { small: 150, large: 800 };
/** A member or item that was evaluated in a branch is copied. */
const COPIED = { small: 150, large: 600 };
/** A character of a name is encoded for the place of an error. */
const ENCODED = 8;
const COUNTED = 1;
const ITEM = 10;
/** A pair of plain values, a character of texts, an item and a member that are compared. */
const PAIR = 3;
const COMPARED_CHARACTER = 0.05;
const COMPARED_PART = 20;
const COMPARED_MEMBER = { small: 20, large: 150 };
const ALLOWED = 15;
/** A step of the pattern matcher; the engine compiles patterns for longer texts and interprets them for others. */
const LONG_TEXT = 1_000;
const STEP = { interpreted: 0.5, compiled: 0.08 };
/** A pattern that was compiled before. */
const PATTERN = 350;
/** What a pattern takes when it is first used, twice: for the interpreter and for the processor. */
const COMPILED = 8_000;
const COMPILED_CHARACTER = 150;
/** Unicode properties are hundreds of ranges, and are written out for surrogate pairs. */
const COMPILED_PROPERTY = 250_000;

/**
 * Finds out whether checking values against a schema takes bounded time, by walking both as the validator will.
 *
 * The validator tries every branch of every combination. A schema that refers to itself from two branches, a list of
 * thousands of unique objects, or a quadratic pattern on a long text take minutes although schema and input are small.
 */
export class ValidationWork {
  readonly #root: NodeWork;
  readonly #patterns: ReadonlyMap<string, PatternCost>;

  constructor(schema: ScreenedSchema) {
    this.#root = nodeWork(schema.root, schema.targets);
    this.#patterns = schema.patterns;
  }

  /** Whether a value can be checked in about ten milliseconds. */
  isBounded(value: Json): boolean {
    const counter = new WorkCounter(this.#patterns);
    counter.count(this.#root, value, 0);
    return counter.work <= MAX_WORK;
  }
}

class WorkCounter {
  /** Grows until soon after the bound is passed. */
  work = 0;
  readonly #patterns: ReadonlyMap<string, PatternCost>;
  readonly #compiled = new Set<string>();

  constructor(patterns: ReadonlyMap<string, PatternCost>) {
    this.#patterns = patterns;
  }

  count(node: NodeWork, value: Json, level: number): void {
    this.work += node.visit + level * LEVEL;
    if (this.work > MAX_WORK) return;
    for (const each of node.sharing) this.count(each, value, level + 1);
    for (const each of node.branches) this.count(each, value, level + 1);
    if (typeof value === 'string') this.#countText(node, value);
    else if (Array.isArray(value)) this.#countList(node, value as readonly Json[], level + 1);
    else if (isPlainObject(value)) this.#countObject(node, value, level + 1);
  }

  #countText(node: NodeWork, text: string): void {
    if (node.countsCharacters) this.work += text.length * COUNTED;
    this.work += node.allowed * text.length * COMPARED_CHARACTER;
    if (node.pattern !== undefined) this.#countMatching(node.pattern, text);
  }

  #countMatching(pattern: string, text: string): void {
    if (!this.#compiled.has(pattern)) {
      this.#compiled.add(pattern);
      this.work += COMPILED + pattern.length * COMPILED_CHARACTER + (pattern.split(/\\p/i).length - 1) * COMPILED_PROPERTY;
    }
    const cost = this.#patterns.get(pattern);
    this.work += cost === undefined ? Infinity : PATTERN + stepsOf(cost, text.length) * (text.length > LONG_TEXT ? STEP.compiled : STEP.interpreted);
  }

  #countList(node: NodeWork, list: readonly Json[], level: number): void {
    if (node.allowed > 0) this.work += node.allowed * (ALLOWED + comparisonOf(list));
    // Every item is compared with every other.
    if (node.isUnique) this.work += list.length * list.reduce<number>((sum, item) => sum + comparisonOf(item), 0);
    this.work += list.length * node.branches.length * COPIED.small;
    node.firstItems.slice(0, list.length).forEach((schema, index) => this.count(schema, list[index]!, level));
    for (const schema of node.items) {
      this.work += list.length * ITEM;
      for (const item of list) {
        if (this.work > MAX_WORK) return;
        this.count(schema, item, level);
      }
    }
  }

  #countObject(node: NodeWork, object: Readonly<Record<string, Json>>, level: number): void {
    const names = Object.keys(object);
    const size = sizeOf(names.length);
    this.work += names.length * (LISTED[size] + node.branches.length * COPIED[size]);
    if (node.allowed > 0) this.work += node.allowed * (ALLOWED + comparisonOf(object));
    for (const [name, schema] of node.dependents) if (Object.hasOwn(object, name)) this.count(schema, object, level);
    for (const [name, schema] of node.properties) if (Object.hasOwn(object, name)) this.#countMember(schema, name, object[name]!, size, level);
    if (node.names.length === 0 && node.patternProperties.length === 0 && node.otherMembers.length === 0) return;
    for (const name of names) {
      if (this.work > MAX_WORK) return;
      for (const schema of node.names) this.#countMember(schema, name, name, size, level);
      for (const [pattern, schema] of node.patternProperties) {
        this.#countMatching(pattern, name);
        this.#countMember(schema, name, object[name]!, size, level);
      }
      // How many of them a pattern covers is not known here: as if none.
      if (!node.known.has(name)) for (const schema of node.otherMembers) this.#countMember(schema, name, object[name]!, size, level);
    }
  }

  #countMember(schema: NodeWork, name: string, value: Json, size: 'small' | 'large', level: number): void {
    this.work += MEMBER[size] + name.length * ENCODED;
    this.count(schema, value, level);
  }
}

/** What it takes at most to compare a value with another one. */
function comparisonOf(value: Json): number {
  if (typeof value === 'string') return PAIR + value.length * COMPARED_CHARACTER;
  if (typeof value !== 'object' || value === null) return PAIR;
  const parts = Object.values<Json>(value);
  let work = COMPARED_PART + parts.length * (Array.isArray(value) ? COMPARED_PART : COMPARED_MEMBER[sizeOf(parts.length)]);
  for (const part of parts) work += comparisonOf(part);
  return work;
}

function sizeOf(members: number): 'small' | 'large' {
  return members > LARGE_OBJECT ? 'large' : 'small';
}
