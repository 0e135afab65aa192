import { z } from 'zod';
import { DangerLevel } from '../core/enums.js';
import { dangerRank, isWriting } from '../core/enum-order.js';
import { cloneFrozen, ignoreRejection, isPlainObject } from '../core/plain-data.js';
import type { Verdict } from '../core/tool-event.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import { aFunction, checkOptions, once } from '../core/options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { touchesOf, type Touches } from '../tool/touches.js';
import { canonicalPattern, expectedPattern, matchesPattern, matchKey } from './name-pattern.js';
import type { CallContext, ToolCall } from './calls.js';

/**
 * A rule of a policy. A call matches if all conditions are met. A missing condition matches every
 * call.
 *
 * An empty list matches nothing. A condition that is explicitly `undefined` is refused, because
 * ignoring it would widen the rule.
 */
export interface PolicyRule {
  /**
   * The rule's name in decisions. The name can't be the name of a built-in rule (`axes`,
   * `flow-influenced`, `flow-leak`, `grant`).
   * @default "rule 1", "rule 2", …
   */
  readonly name?: string;
  /** The decision about matching calls. */
  readonly verdict: Verdict;
  /**
   * Tool names, in which `*` matches any characters. At least one name must match.
   *
   * A `confirm` or `deny` rule also matches aliases, so the rule works whichever name its author
   * used. An `allow` rule matches only the tool's own name. If an `allow` rule matched aliases, a
   * tool could choose an alias that is allowed.
   */
  readonly tools?: string | readonly string[];
  /** A filter on the tool's metadata, such as category, axes, or capabilities. */
  readonly filter?: ToolFilter;
  /**
   * Conditions on arguments: each listed field must be present and match. Strings are compared as
   * patterns (`*` matches any characters, `\*` matches a star), and all other values must be equal.
   *
   * Patterns compare text: `src/*` also matches `src/../secret`, and `npm test*` also matches `npm
   * test; rm -rf src`. To rule out such matches, write the exact text, or use `touches` or `when`.
   */
  readonly input?: Readonly<
    Record<string, string | number | boolean | null | readonly (string | number | boolean | null)[]>
  >;
  /**
   * Conditions on the resources that the call touches, independent of argument names.
   * `write:*.lock` matches calls that write a `.lock` file, and `read:secrets/` matches calls that
   * read anything below `secrets/`.
   *
   * Patterns work as in `input`, and are compared with the keys from the tool's `conflictKeys`. You
   * can omit the key's kind (`file:`), and a trailing `/` covers everything below. Patterns and
   * keys are normalized (`./src//a` is `src/a`). A pattern that can't match any key (`**`, `?`,
   * `{a,b}`, an absolute path) is refused.
   *
   * A `confirm` or `deny` rule matches if at least one key matches. If it's uncertain whether a key
   * matches, the call needs approval, even if later rules allow it. A match is uncertain if a key
   * covers more than the pattern. For example, a moved folder may contain a `.lock` file. A match
   * is also uncertain if the tool doesn't declare what it touches. A readonly tool that doesn't
   * declare what it touches never matches a `write:` pattern.
   *
   * An `allow` rule matches only if everything that the call writes matches. If the rule has
   * `read:` patterns, everything that the call reads must match as well. An `allow` rule never
   * matches a tool that doesn't declare what it touches.
   */
  readonly touches?: string | readonly string[];
  /**
   * The call's principal, as patterns in which `*` matches any characters. At least one pattern
   * must match. Calls without a principal never match.
   */
  readonly principals?: string | readonly string[];
  /** The minimum danger of the call, based on its arguments. */
  readonly minDanger?: DangerLevel;
  /**
   * A custom condition. If the function throws, a `confirm` or `deny` rule matches, and an `allow`
   * rule doesn't.
   */
  readonly when?: (call: ToolCall, entry: ToolEntry, context: CallContext) => boolean;
  /**
   * The maximum danger of calls that a rule with the verdict `allow` covers. More dangerous calls
   * are passed to the next rule.
   *
   * With the default, a rule written for harmless arguments doesn't cover `rm -rf /`.
   *
   * @default the tool's own danger level
   */
  readonly upTo?: DangerLevel;
  /** The reason, for the user who is asked for approval or for the model whose call is denied. */
  readonly reason?: string;
}

/** A call that rules are compared with, and its danger, which depends on its arguments. */
interface RuledCall {
  readonly call: ToolCall;
  readonly entry: ToolEntry;
  readonly context: CallContext;
  readonly danger: DangerLevel;
}

type RuleMatch =
  | { readonly meets: true }
  /** `allowsUpTo` is the highest danger that the rule allows, if only the danger doesn't match. */
  | { readonly meets: false; readonly allowsUpTo?: DangerLevel }
  | { readonly meets: 'possibly'; readonly doubt: string };

/** The default reasons of rules. */
const REASONS: Readonly<Record<Verdict, string>> = Object.freeze({
  allow: 'the policy allows it',
  confirm: 'the policy requires approval',
  deny: 'the policy forbids it',
});
const oneOrMore = (text: z.ZodType<string, string> = z.string()) => z.union([text, z.array(text)]);
/**
 * Returns the schema of a tool name pattern. Other wildcards are refused: tool names can't contain
 * these characters, so a rule with them would never match.
 */
const toolPattern = () =>
  z
    .string()
    .regex(
      /^[^?{}[\]]*$/,
      'a pattern of tool names in which only "*" is special (write several patterns for several names)',
    );
/** The prefix of a `touches` condition, before its key pattern. */
const TOUCHED = /^(?:read|write):(?=.)/s;
const touchesCondition = () =>
  z
    .string()
    .regex(TOUCHED, "'read:' or 'write:' and a pattern")
    .superRefine((condition, context) => {
      const message = expectedPattern(condition.replace(TOUCHED, ''));
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    });
const wanted = () => z.union([z.string(), z.number(), z.boolean(), z.null()]);
const wantedOrMore = once(() => z.union([wanted(), z.array(wanted())]));

const filterCondition = () =>
  z.custom<ToolFilter>(
    (value) => isPlainObject(value) && !Object.values(value).includes(undefined),
    'a filter object whose conditions all have values',
  );
/**
 * Returns the schema of `input`. `z.record` isn't used, because it would silently drop a key named
 * `__proto__` and with it the condition.
 */
const inputCondition = () =>
  z
    .custom<NonNullable<PolicyRule['input']>>(isPlainObject, 'an object of arguments')
    .superRefine((fields, context) => {
      for (const [field, value] of Object.entries(fields)) {
        if (!wantedOrMore().safeParse(value).success)
          context.addIssue({
            code: 'custom',
            path: [field],
            message: 'text, a number, true, false, null, or a list of these',
          });
      }
    });

/**
 * The schema of a rule. A condition can't be `undefined`: if it could, `{ verdict: 'allow', tools:
 * settings.tools }` would allow every tool if the setting didn't exist.
 */
const ruleSchema = once(() =>
  z
    .strictObject({
      // Refuses built-in names: a grant for a built-in rule would also cover this rule's calls.
      name: z
        .string()
        .min(1)
        .regex(/^(?!(?:axes|flow-influenced|flow-leak|grant)$)/, 'a name no built-in rule has')
        .optional(),
      verdict: z.enum(['allow', 'confirm', 'deny']),
      tools: oneOrMore(toolPattern()).exactOptional(),
      filter: filterCondition().exactOptional(),
      input: inputCondition().exactOptional(),
      touches: oneOrMore(touchesCondition()).exactOptional(),
      principals: oneOrMore().exactOptional(),
      minDanger: z.enum(DangerLevel).exactOptional(),
      when: aFunction<NonNullable<PolicyRule['when']>>().exactOptional(),
      upTo: z.enum(DangerLevel).optional(),
      reason: z.string().optional(),
    })
    .refine((rule) => rule.upTo === undefined || rule.verdict === 'allow', {
      path: ['upTo'],
      message: 'a rule that allows (rules that confirm or deny cover all danger levels)',
    }),
);

/** A validated rule, ready to use. */
export class CompiledRule {
  readonly name: string;
  readonly verdict: Verdict;
  /** Models can read the reason, so it doesn't contain the rule's name. */
  readonly reason: string;
  readonly #rule: z.output<ReturnType<typeof ruleSchema>>;
  readonly #passesFilter: (entry: ToolEntry) => boolean;
  readonly #input: readonly (readonly [field: string, values: readonly unknown[]])[];
  readonly #touches: TouchPatterns | undefined;

  /**
   * @throws ToolError `INVALID_ARGUMENT` for unknown or invalid conditions, because ignoring them
   * would let calls through.
   */
  constructor(rule: PolicyRule, position: number) {
    const ownName = `rule ${position + 1}`;
    const checked = (this.#rule = checkOptions(
      ruleSchema,
      rule ?? null,
      `fields of policy ${ownName}`,
    ));
    const { name = ownName, verdict, reason = REASONS[verdict], input = {}, touches } = checked;
    this.name = name;
    this.verdict = verdict;
    this.reason = reason;
    this.#passesFilter = compileFilter(checked.filter ?? {});
    this.#input = Object.entries(cloneFrozen(input)).map(([field, values]) => [
      field,
      listOf(values),
    ]);
    this.#touches = touches === undefined ? undefined : patternsIn(listOf(touches));
  }

  /** Returns whether the rule covers a call. `doubt` explains why the match is uncertain. */
  match(asked: RuledCall): RuleMatch {
    if (!this.#matchesFacts(asked)) return { meets: false };
    const { entry, call, danger } = asked;
    const match: RuleMatch = this.#touches
      ? meetsTouched(this.#touches, this.verdict, entry, touchesOf(entry, call.input))
      : { meets: true };
    const allowsUpTo = this.#rule.upTo ?? entry.dangerLevel;
    return this.verdict === 'allow' &&
      match.meets !== false &&
      dangerRank(danger) > dangerRank(allowsUpTo)
      ? { meets: false, allowsUpTo }
      : match;
  }

  #matchesFacts({ call, entry, context, danger }: RuledCall): boolean {
    const { tools, principals, minDanger, when } = this.#rule;
    const { verdict } = this;
    return (
      (tools === undefined || matchesOneOf(tools, ...namesOf(entry, verdict))) &&
      this.#passesFilter(entry) &&
      (principals === undefined || matchesOneOf(principals, context.principal)) &&
      (minDanger === undefined || dangerRank(danger) >= dangerRank(minDanger)) &&
      this.#input.every(([field, values]) => fieldMatches(call.input, field, values)) &&
      (when === undefined || holds(when, verdict, call, entry, context))
    );
  }
}

interface TouchPatterns {
  readonly read: readonly string[];
  readonly written: readonly string[];
}

/** Returns the patterns of a rule's `touches` in canonical form. */
function patternsIn(conditions: readonly string[]): TouchPatterns {
  const of = (start: string) =>
    conditions
      .filter((each) => each.startsWith(start))
      .map((each) => canonicalPattern(each.slice(start.length)));
  return { read: of('read:'), written: of('write:') };
}

function meetsTouched(
  { read, written }: TouchPatterns,
  verdict: Verdict,
  entry: ToolEntry,
  touched: Touches | undefined,
): RuleMatch {
  if (touched === undefined) {
    const unsaid =
      verdict !== 'allow' &&
      (read.length > 0 || (written.length > 0 && isWriting(entry.accessMode)));
    return unsaid
      ? { meets: 'possibly', doubt: `${entry.name} doesn't declare what it touches` }
      : { meets: false };
  }
  const loosely = verdict !== 'allow';
  const matches = (wanted: readonly string[], keys: readonly string[]) =>
    keys.map((key) => wanted.map((pattern) => matchKey(pattern, key, { loosely })));
  const [writes, reads] = [matches(written, touched.writes), matches(read, touched.reads)];
  if (verdict === 'allow') {
    const needed = read.length === 0 ? writes : [...writes, ...reads];
    return { meets: needed.length > 0 && needed.every((each) => each.includes('all')) };
  }
  const found = [...writes, ...reads].flat();
  if (found.includes('all') || found.includes('some')) return { meets: true };
  return found.includes('possible')
    ? { meets: 'possibly', doubt: `${entry.name} may touch it` }
    : { meets: false };
}

function namesOf({ name, aliases }: ToolEntry, verdict: Verdict): readonly string[] {
  return verdict === 'allow' ? [name] : [name, ...aliases];
}

/** Returns true if at least one text matches at least one pattern. */
function matchesOneOf(
  patterns: string | readonly string[],
  ...texts: readonly (string | undefined)[]
): boolean {
  return texts.some(
    (text) =>
      text !== undefined && listOf(patterns).some((pattern) => matchesPattern(pattern, text)),
  );
}

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

function fieldMatches(input: unknown, field: string, values: readonly unknown[]): boolean {
  if (!isPlainObject(input) || !Object.hasOwn(input, field)) return false;
  const value = input[field];
  return values.some((each) =>
    typeof each === 'string' && typeof value === 'string'
      ? matchesPattern(each, value)
      : each === value,
  );
}

/** Returns true if a `when` condition is met. A condition that throws never lets a call run. */
function holds(
  when: NonNullable<PolicyRule['when']>,
  verdict: Verdict,
  call: ToolCall,
  entry: ToolEntry,
  context: CallContext,
): boolean {
  try {
    const answer: unknown = ignoreRejection(when(call, entry, context));
    return verdict === 'allow' ? answer === true : answer !== false;
  } catch {
    return verdict !== 'allow';
  }
}
