import { z } from 'zod';
import { DangerLevel } from '../core/enums.js';
import { dangerRank, isWriting } from '../core/enum-order.js';
import type { Issue } from '../core/errors.js';
import { cloneFrozen, isPlainObject } from '../core/plain-data.js';
import type { Verdict } from '../core/tool-event.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import { expectedGot, refusal } from '../core/issues.js';
import { aFunction, checkOptions, once } from '../core/options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Touches } from '../tool/touches.js';
import { ignoreRejection } from './built-in-checks.js';
import { canonicalPattern, expectedPattern, matchesPattern, matchKey } from './name-pattern.js';
import type { CallContext, ToolCall } from './calls.js';

/**
 * One rule of a policy. A call matches if all given conditions hold; a missing condition matches
 * every call.
 *
 * An empty list matches nothing. A condition set to `undefined` is refused, because ignoring it
 * would widen the rule.
 */
export interface PolicyRule {
  /**
   * The rule's name in decisions. It can't be the name of a built-in rule (`axes`,
   * `flow-influenced`, `flow-leak`, `grant`).
   * @default "rule 1", "rule 2", …
   */
  readonly name?: string;
  /** The decision about calls that match the rule. */
  readonly verdict: Verdict;
  /**
   * Tool names, with `*` for any characters. At least one must match.
   *
   * A rule that confirms or denies also matches aliases, so it works whichever name its author
   * knew. A rule that allows doesn't: a tool could otherwise take an alias to get allowed.
   */
  readonly tools?: string | readonly string[];
  /** The tool's metadata: category, axes, capabilities and so on. */
  readonly filter?: ToolFilter;
  /**
   * Conditions on arguments: each named field must be present and match. Strings are compared by
   * pattern (`*` for any characters, `\*` for a star), everything else by equality.
   *
   * A pattern compares text: `src/*` also matches `src/../secret`, and `npm test*` also matches
   * `npm test; rm -rf src`. If that matters, write the whole text, or use `touches` or `when`.
   */
  readonly input?: Readonly<
    Record<string, string | number | boolean | null | readonly (string | number | boolean | null)[]>
  >;
  /**
   * Conditions on what the call touches, whatever the arguments are called. `write:*.lock` matches
   * calls that write such a file, and `read:secrets/` matches calls that read below that folder.
   *
   * The patterns work as for `input` and are compared with the keys from the tool's `conflictKeys`.
   * You can omit the kind of a key (`file:`), and a trailing `/` covers everything below. Patterns
   * and keys are normalized (`./src//a` is `src/a`). A pattern that no key can match (`**`, `?`,
   * `{a,b}`, an absolute path) is refused.
   *
   * A rule that confirms or denies matches a call as soon as one key matches. If it's unclear
   * whether a key matches, the call needs approval, whatever later rules allow. That's so if a key
   * covers more than the pattern (a moved folder may contain a `.lock`). It's also so if the tool
   * doesn't say what it touches, unless the tool is readonly and the rule is about writes.
   *
   * A rule that allows matches only if everything the call writes matches, and everything it reads
   * if the rule names reads. It never matches a call that doesn't say what it touches.
   */
  readonly touches?: string | readonly string[];
  /**
   * The call's principal, with `*` for any characters. At least one pattern must match. Calls
   * without a principal never match.
   */
  readonly principals?: string | readonly string[];
  /** The lowest danger to match, given the call's arguments. */
  readonly minDanger?: DangerLevel;
  /** Any other condition. If it throws, it counts as true, unless the rule would allow the call. */
  readonly when?: (call: ToolCall, entry: ToolEntry, context: CallContext) => boolean;
  /**
   * The highest danger that a rule of verdict `allow` lets through. More dangerous calls go on to
   * the next rule.
   *
   * The default keeps a rule written for harmless arguments from covering `rm -rf /`.
   *
   * @default the tool's own danger level
   */
  readonly upTo?: DangerLevel;
  /** The reason, for the user who is asked or the model that is refused. */
  readonly reason?: string;
}

/** A rule, checked and ready to use. */
export interface CompiledRule {
  readonly name: string;
  readonly verdict: Verdict;
  readonly reason: string;
  /** Returns true if the rule matches a call. `doubt` explains why the match is uncertain. */
  meets(
    call: ToolCall,
    entry: ToolEntry,
    context: CallContext,
    danger: DangerLevel,
    touches: () => Touches | undefined,
  ): RuleMatch;
}

type RuleMatch =
  { readonly meets: boolean } | { readonly meets: 'possibly'; readonly doubt: string };

/** Default reasons of rules. */
const REASONS: Readonly<Record<Verdict, string>> = Object.freeze({
  allow: 'the policy allows it',
  confirm: 'the policy requires approval',
  deny: 'the policy forbids it',
});
const CONDITIONS = Object.freeze([
  'tools',
  'filter',
  'input',
  'touches',
  'principals',
  'minDanger',
  'when',
] as const);

const oneOrMore = (text: z.ZodType<string, string> = z.string()) => z.union([text, z.array(text)]);
/**
 * Schema of a pattern for tool names. No tool name contains another wildcard, so a rule with one
 * would match nothing.
 */
const toolPattern = () =>
  z
    .string()
    .regex(
      /^[^?{}[\]]*$/,
      'a pattern of tool names in which only "*" is special (write several patterns for several names)',
    );
/** The start of a `touches` condition. The key pattern follows it. */
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
 * Schema of `input`. Not `z.record`, which silently drops a key called `__proto__`, and the
 * condition with it.
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

const ruleSchema = once(() =>
  z
    .strictObject({
      // A grant for a built-in question mustn't answer any other question.
      name: z
        .string()
        .min(1)
        .regex(/^(?!(?:axes|flow-influenced|flow-leak|grant)$)/, 'a name that no built-in rule has')
        .optional(),
      verdict: z.enum(['allow', 'confirm', 'deny']),
      tools: oneOrMore(toolPattern()).optional(),
      filter: filterCondition().optional(),
      input: inputCondition().optional(),
      touches: z.union([touchesCondition(), z.array(touchesCondition())]).optional(),
      principals: oneOrMore().optional(),
      minDanger: z.enum(DangerLevel).optional(),
      when: aFunction<NonNullable<PolicyRule['when']>>().optional(),
      upTo: z.enum(DangerLevel).optional(),
      reason: z.string().optional(),
    })
    .refine((rule) => rule.upTo === undefined || rule.verdict === 'allow', {
      path: ['upTo'],
      message: 'a rule that allows (rules that confirm or deny cover every danger)',
    }),
);

/**
 * @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions: ignoring them would let
 * calls through.
 */
export function compileRule(rule: PolicyRule, position: number): CompiledRule {
  const name = `rule ${position + 1}`;
  const what = `fields of policy ${name}`;
  const {
    tools,
    filter,
    input,
    touches,
    principals,
    minDanger,
    when,
    upTo,
    verdict,
    reason,
    name: givenName,
  } = checkOptions(ruleSchema, rule ?? null, what);
  const issues = undefinedConditions(rule);
  if (issues.length > 0) throw refusal(`The ${what} are refused`, issues);
  const patterns = touches === undefined ? undefined : patternsIn(listOf(touches));
  const tests: ((
    call: ToolCall,
    entry: ToolEntry,
    context: CallContext,
    danger: DangerLevel,
  ) => boolean)[] = [];
  if (tools !== undefined)
    tests.push((_, entry) =>
      namesOf(entry, verdict).some((each) =>
        listOf(tools).some((pattern) => matchesPattern(pattern, each)),
      ),
    );
  if (filter !== undefined) {
    const passes = compileFilter(filter);
    tests.push((_, entry) => passes(entry));
  }
  if (principals !== undefined)
    tests.push(
      (_, __, { principal }) =>
        principal !== undefined &&
        listOf(principals).some((pattern) => matchesPattern(pattern, principal)),
    );
  if (minDanger !== undefined)
    tests.push((_, __, ___, danger) => dangerRank(danger) >= dangerRank(minDanger));
  if (input !== undefined)
    for (const [field, values] of Object.entries(cloneFrozen(input)))
      tests.push((call) => fieldMatches(call.input, field, listOf(values)));
  if (when !== undefined)
    tests.push((call, entry, context) => holds(when, verdict, call, entry, context));
  if (verdict === 'allow')
    tests.push(
      (_, entry, __, danger) => dangerRank(danger) <= dangerRank(upTo ?? entry.dangerLevel),
    );
  const ruleName = givenName ?? name;
  return {
    name: ruleName,
    verdict,
    // Models read the reason, so it doesn't contain the rule's name.
    reason: reason ?? REASONS[verdict],
    meets(call, entry, context, danger, touchesOfCall) {
      if (!tests.every((test) => test(call, entry, context, danger))) return { meets: false };
      return patterns === undefined
        ? { meets: true }
        : meetsTouched(patterns, verdict, entry, touchesOfCall());
    },
  };
}

interface TouchPatterns {
  readonly read: readonly string[];
  readonly written: readonly string[];
}

/** Returns a rule's `touches` patterns in the canonical form of keys. */
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
      ? { meets: 'possibly', doubt: `${entry.name} doesn't say what it touches` }
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

/**
 * Reports conditions that are `undefined`. Without this, `{ verdict: 'allow', tools: settings.tools
 * }` with no such setting would allow every tool.
 */
function undefinedConditions(rule: PolicyRule): readonly Issue[] {
  return CONDITIONS.filter(
    (condition) => Object.hasOwn(rule, condition) && rule[condition] === undefined,
  ).map((condition) => ({
    path: [condition],
    message: expectedGot(
      'a condition',
      'undefined',
      'Leave the condition out, or give it a value.',
    ),
  }));
}

function namesOf({ name, aliases }: ToolEntry, verdict: Verdict): readonly string[] {
  return verdict === 'allow' ? [name] : [name, ...aliases];
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

/**
 * Returns true if a condition holds. A condition that throws must never be the reason that a call
 * runs.
 */
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
