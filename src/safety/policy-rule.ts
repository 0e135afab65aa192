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
 * One line of a policy. All conditions given must hold, and one left out meets every call.
 *
 * An empty list holds for nothing. A condition that is there but `undefined` is refused: dropped, it would widen the rule.
 */
export interface PolicyRule {
  /** The name of the rule in decisions; not that of a built-in one (`axes`, `flow-influenced`, `flow-leak`, `grant`). @default "rule 1", "rule 2", … */
  readonly name?: string;
  /** The decision about calls that the rule meets. */
  readonly verdict: Verdict;
  /**
   * Names of tools, with `*` for any characters; one must match.
   *
   * A rule that confirms or denies also matches aliases: it must not depend on which name its author knew. One that
   * allows does not, as a tool could take an alias to be allowed.
   */
  readonly tools?: string | readonly string[];
  /** The tool's metadata: category, axes, capabilities and so on. */
  readonly filter?: ToolFilter;
  /**
   * Arguments: each field named must be there and match, a text by a pattern with `*` (`\*` for a star itself), anything
   * else by equality.
   *
   * A pattern compares text: `src/*` also matches `src/../secret`, and `npm test*` also `npm test; rm -rf src`. Where that
   * matters name the whole text, or use `touches` or `when`.
   */
  readonly input?: Readonly<
    Record<string, string | number | boolean | null | readonly (string | number | boolean | null)[]>
  >;
  /**
   * The things that the call touches, whatever its tool's arguments are called: `write:*.lock` meets calls that write such a thing,
   * `read:secrets/` those that read there. Patterns as for `input`, compared with the keys that the tool's `conflictKeys` give;
   * the kind of the keys (`file:`) may be left out, and a trailing `/` stands for all below. Patterns and keys are compared in
   * one form (`./src//a` is `src/a`); a pattern that no key can have (`**`, `?`, `{a,b}`, an absolute path) is refused.
   *
   * A rule that confirms or denies meets a call as soon as one key matches. Where that cannot be told the call needs approval,
   * whatever later rules allow: a key covers more than the pattern (a folder that is moved may hold a `.lock`), or the tool
   * does not say what it touches (unless it is readonly and the rule is about writes). A rule that allows meets a call only
   * if all that it writes matches, and all that it reads when the rule names reads; never one that does not say.
   */
  readonly touches?: string | readonly string[];
  /** The principals of the call, with `*` for any characters; one must match, and calls for nobody do not. */
  readonly principals?: string | readonly string[];
  /** The least danger of the calls, arguments considered. */
  readonly minDanger?: DangerLevel;
  /** Any other condition. One that throws counts as met, unless the rule would allow the call. */
  readonly when?: (call: ToolCall, entry: ToolEntry, context: CallContext) => boolean;
  /**
   * The greatest danger of a call that a rule of verdict `allow` lets through; more dangerous ones go on to the next rule.
   *
   * The default keeps a rule that was written for harmless arguments from covering `rm -rf /`.
   *
   * @default the tool's own danger level
   */
  readonly upTo?: DangerLevel;
  /** The reason, for whoever is asked or refused. */
  readonly reason?: string;
}

/** A rule, checked and ready to be asked. */
export interface CompiledRule {
  readonly name: string;
  readonly verdict: Verdict;
  readonly reason: string;
  /** Tells whether the rule meets a call; `doubt` says why that is not sure. */
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

/** The reasons of rules that name none. */
const REASONS: Readonly<Record<Verdict, string>> = Object.freeze({
  allow: 'the policy allows it',
  confirm: 'the policy asks for approval',
  deny: 'the policy does not allow it',
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
/** A pattern of names of tools; other wildcards than `*` are in no name, and a rule with one would meet nothing. */
const toolPattern = () =>
  z
    .string()
    .regex(
      /^[^?{}[\]]*$/,
      'a pattern of names in which only "*" is special (list several patterns for several names)',
    );
/** The beginning of a condition: what its pattern of keys is of; the pattern follows. */
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
/** A record, but not `z.record`, which silently drops a key called `__proto__`, and with it the condition. */
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
      // A grant that answers a built-in question must answer no other.
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
      message: 'only in rules that allow; a rule that confirms or denies covers every danger',
    }),
);

/** @throws ToolError `INVALID_ARGUMENT` for a rule with unknown or wrong conditions: ignored, it would let calls through. */
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
    // Models read it: the name of the rule stays beside it.
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

/** The patterns of a rule's `touches`, in the form that keys have. */
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
      ? { meets: 'possibly', doubt: `${entry.name} does not say what it touches` }
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
    ? { meets: 'possibly', doubt: `what ${entry.name} touches may include that` }
    : { meets: false };
}

/** `{ verdict: 'allow', tools: settings.tools }` without such a setting would allow every tool. */
function undefinedConditions(rule: PolicyRule): readonly Issue[] {
  return CONDITIONS.filter(
    (condition) => Object.hasOwn(rule, condition) && rule[condition] === undefined,
  ).map((condition) => ({
    path: [condition],
    message: expectedGot('a condition', 'undefined', 'Leave it out if it should not be one.'),
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

/** A condition that fails must never be the reason that a call runs. */
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
