import { ToolError } from '../core/errors.js';
import { canonicalJson, describeValue, type Json } from '../core/plain-data.js';
import { issueAt, type SchemaIssue } from './schema-issues.js';

/**
 * The maximum number of steps in one check. Checking one value against one schema counts as a step,
 * and so does each member, each item, and every sixteen characters.
 *
 * Even with a large schema, an input of 256 KiB takes only a few hundred thousand steps. A check
 * exceeds the maximum only if references multiply exponentially.
 */
const MAX_STEPS = 2_000_000;
/**
 * The maximum number of steps for reporting issues. Reporting can stop early, because the value is
 * already known to be invalid.
 */
const MAX_TELLING_STEPS = 1_000_000;
/** The number of steps charged for reporting one issue. */
const ISSUE = 50;
/**
 * The maximum nesting of schemas, summed over all levels of a value. Each level of nesting takes a
 * few levels of recursion.
 */
const MAX_DEPTH = 1_000;
/** The maximum number of issues reported. */
const MAX_TOLD = 200;

/** Checks a value against one keyword, or against several related keywords. */
export type Check<T = Json> = (value: T, run: CheckRun, seen: Evaluated | undefined) => boolean;

/** A schema in a document. */
export interface SchemaNode {
  readonly checks: Check[];
  /**
   * The checks of `unevaluatedProperties` and `unevaluatedItems`, which run after all other checks.
   */
  readonly late: Check[];
  /** The subschemas that apply to the same value, such as the subschemas in `allOf`. */
  readonly inPlace: SchemaNode[];
  /** True for the schema `false`, which doesn't accept any value. */
  readonly isFalse: boolean;
}

/**
 * The result of checking a value against a schema. `maybe` means that the result depends on a
 * pattern that isn't checked here.
 */
type Answer = 'yes' | 'no' | 'maybe';

/** The members and items of a value that schemas have already evaluated. */
class Evaluated {
  readonly names = new Set<string>();
  /** The number of items evaluated, counted from the first. */
  items = 0;
  readonly places = new Set<number>();

  add(other: Evaluated): void {
    for (const name of other.names) this.names.add(name);
    for (const place of other.places) this.places.add(place);
    this.items = Math.max(this.items, other.items);
  }
}

/** A check of one value. The check counts its steps and stops at a limit. */
export class CheckRun {
  /** Becomes true once a value was accepted because of an unchecked pattern. */
  unsure = false;
  /** True while the strings being checked are member names. */
  isName = false;
  readonly path: (string | number)[] = [];
  #issues: SchemaIssue[] | undefined;
  readonly #maxSteps: number;
  #steps = 0;
  #depth = 0;

  /** @param issues Receives the issues. Without this list, the check ends at the first failure. */
  constructor(issues?: SchemaIssue[]) {
    this.#issues = issues;
    this.#maxSteps = issues === undefined ? MAX_STEPS : MAX_TELLING_STEPS;
  }

  /** True if further issues should be reported. */
  get isTelling(): boolean {
    return this.#issues !== undefined && this.#issues.length < MAX_TOLD;
  }

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#maxSteps)
      throw new ToolError(
        'LIMIT_EXCEEDED',
        `Checking this input takes more than ${MAX_STEPS} steps. Send shorter text and lists.`,
        { details: { maxSteps: MAX_STEPS } },
      );
  }

  /** Returns a string that is the same for equal values. */
  keyOf(value: Json): string {
    const key = canonicalJson(value);
    this.spend(key.length); // Sixteen characters count as one step, like a visit.
    return key;
  }

  visit(node: SchemaNode, value: Json, seen: Evaluated | undefined): boolean {
    this.spend(1);
    if (++this.#depth > MAX_DEPTH)
      throw new ToolError(
        'LIMIT_EXCEEDED',
        `Checking this input takes more than ${MAX_DEPTH} nested schemas. Flatten it.`,
        { details: { maxDepth: MAX_DEPTH } },
      );
    const own = node.late.length > 0 ? new Evaluated() : seen;
    let fits = this.all(node.checks, (check) => check(value, this, own));
    // If the value is already invalid, its unevaluated members aren't worth reporting.
    for (const check of node.late) fits &&= check(value, this, own);
    if (own !== seen && seen !== undefined) seen.add(own!);
    this.#depth--;
    return fits;
  }

  /** Returns true if all parts fit. After a failure, looks at the others only to report them. */
  all<T>(parts: readonly T[], fits: (part: T, index: number) => boolean): boolean {
    let isFitting = true;
    for (let index = 0; index < parts.length; index++) {
      if (fits(parts[index]!, index)) continue;
      isFitting = false;
      if (!this.isTelling) break;
    }
    return isFitting;
  }

  visitPart(key: string | number, node: SchemaNode, value: Json): boolean {
    this.path.push(key);
    const fits = this.visit(node, value, undefined);
    this.path.pop();
    return fits;
  }

  /**
   * Checks a value against a schema that doesn't have to match. If the schema doesn't match, the
   * value's parts don't count as evaluated. @param told Receives the issues.
   */
  ask(node: SchemaNode, value: Json, seen: Evaluated | undefined, told?: SchemaIssue[][]): Answer {
    const { unsure } = this;
    const issues = this.#issues;
    const own = seen === undefined ? undefined : new Evaluated();
    this.#issues = told === undefined || !this.isTelling ? undefined : [];
    this.unsure = false;
    const fits = this.visit(node, value, own);
    const answer: Answer = !fits ? 'no' : this.unsure ? 'maybe' : 'yes';
    if (!fits && this.#issues !== undefined) told?.push(this.#issues);
    this.#issues = issues;
    this.unsure = unsure;
    if (fits && own !== undefined) {
      this.spend(own.names.size + own.places.size);
      seen!.add(own);
    }
    return answer;
  }

  /** Reports that a value is invalid and what was expected. Always returns false. */
  fail(expected: string, value: Json, after = ''): false {
    if (!this.isTelling) return false;
    this.spend(ISSUE + this.path.length);
    const shown = this.isName ? describeValue(value) : undefined;
    this.#issues!.push(issueAt([...this.path], expected, value, after, shown));
    return false;
  }

  tell(...issues: readonly SchemaIssue[]): false {
    if (this.isTelling) this.#issues!.push(...issues);
    return false;
  }
}
