import { DangerLevel } from '../core/enums.js';
import { DANGER_LEVELS, dangerRank, isDangerous, isWriting } from '../core/enum-order.js';
import { expectedGot } from '../core/issues.js';
import { allowsPersona } from '../core/persona.js';
import { describeValue, ignoreRejection } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { POLICY_MODES, type CallContext, type PolicyMode } from './calls.js';
import { matchesPattern } from './name-pattern.js';
import { flagsOfCall } from './required-flags.js';

/** A call, and what the checks compare it with. */
interface CheckedCall {
  readonly entry: ToolEntry;
  readonly danger: EffectiveDanger;
  readonly context: CallContext;
  /** The input as parsed by the tool's schema. */
  readonly input: unknown;
  readonly modes: readonly PolicyMode[];
  readonly allow: readonly string[];
  readonly env: Environment;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A refusal: the name of the check, which becomes `Decision.rule`, and the reason. */
interface Refused {
  readonly rule: string;
  readonly reason: string;
}

/** Returns the refusal of the first check that fails. Rules can't override this refusal. */
export function refusedByCheck(call: CheckedCall): Refused | undefined {
  return (
    personaCheck(call) ??
    // If the tool has several providers, the router decides, because one of them may work without
    // credentials.
    (call.entry.providers.length > 0 ? undefined : missingCredentials(call.entry, call.env)) ??
    scopesCheck(call) ??
    flagsCheck(call) ??
    allowListCheck(call) ??
    readOnlyCheck(call)
  );
}

function personaCheck({ entry, context: { persona } }: CheckedCall): Refused | undefined {
  const { name, personaAllowlist = [] } = entry;
  if (allowsPersona(entry.personaAllowlist, persona)) return undefined;
  const who =
    persona === undefined ? 'the call has no persona' : `the persona is ${describeValue(persona)}`;
  return {
    rule: 'persona-allowlist',
    reason: `${name} is only for ${personaAllowlist.join(', ') || 'no persona'}, and ${who}`,
  };
}

/** Returns a refusal if environment variables that the tool's `auth` requires aren't set. */
export function missingCredentials(entry: ToolEntry, env: Environment): Refused | undefined {
  if (entry.auth?.required !== true) return undefined;
  const missing = Object.entries(entry.auth.env ?? {}).filter(
    ([name, need]) => need === 'required' && !(Object.hasOwn(env, name) && env[name]),
  );
  if (missing.length === 0) return undefined;
  const where = entry.auth.docs === undefined ? '' : `; see ${entry.auth.docs}`;
  return {
    rule: 'missing-credentials',
    reason: `${entry.name} needs ${missing.map(([name]) => name).join(', ')} in the environment${where}`,
  };
}

function scopesCheck({ entry, context }: CheckedCall): Refused | undefined {
  const { scopes = [] } = context;
  if (entry.auth?.required !== true) return undefined;
  const missing = (entry.auth.scopes ?? []).filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return undefined;
  return {
    rule: 'missing-scopes',
    reason: `${entry.name} needs the scopes ${missing.join(', ')}, which the caller lacks`,
  };
}

function flagsCheck({ entry, context, input }: CheckedCall): Refused | undefined {
  const { flags = [] } = context;
  const needed = entry.metadata === undefined ? [] : flagsOfCall(entry, input);
  if (needed === 'malformed')
    return {
      rule: 'missing-flags',
      reason: `requires_flags of ${entry.name} is neither a list of flags nor an object with a list per operation`,
    };
  const missing = needed.filter((flag) => !flags.includes(flag));
  if (missing.length === 0) return undefined;
  return {
    rule: 'missing-flags',
    reason: `${entry.name} needs the flags ${missing.join(', ')}, which aren't set. Pass them as the call's flags (on the command line: --flags ${missing.join(',')})`,
  };
}

function allowListCheck({ entry, modes, allow }: CheckedCall): Refused | undefined {
  if (!modes.includes('allow-list') || allow.some((pattern) => matchesPattern(pattern, entry.name)))
    return undefined;
  return { rule: 'allow-list', reason: `${entry.name} isn't on the allowlist` };
}

function readOnlyCheck({ entry, danger, modes }: CheckedCall): Refused | undefined {
  if (!modes.includes('read-only')) return undefined;
  const why = isWriting(entry.accessMode)
    ? `${entry.name} ${canChange(entry)}`
    : isDangerous(danger.level)
      ? `this call to ${entry.name} has danger ${danger.level}${danger.raised === undefined ? '' : ` (${danger.raised})`}`
      : undefined;
  return why === undefined
    ? undefined
    : { rule: 'read-only', reason: `${why}, and the mode is read-only` };
}

/** Says that a tool writes, and whether it declares so. */
export function canChange({ accessMode, inferred }: ToolEntry): string {
  const how = inferred.includes('accessMode') ? ', inferred' : '';
  return `can change something (access ${accessMode}${how})`;
}

/** The danger of one call. */
export interface EffectiveDanger {
  readonly level: DangerLevel;
  /**
   * The reason why the danger is higher than the tool's own level. Missing if the danger isn't
   * higher.
   */
  readonly raised?: string;
}

/**
 * Returns the danger of one call: the tool's level, or the higher level that `dangerFor` returns
 * for the arguments.
 *
 * If `dangerFor` throws or doesn't return a danger level, the call counts as critical.
 */
export function effectiveDanger(entry: ToolEntry, input: unknown): EffectiveDanger {
  if (entry.dangerFor === undefined) return { level: entry.dangerLevel };
  let level: unknown;
  let why = "didn't return a danger level";
  try {
    level = ignoreRejection(entry.dangerFor(input));
  } catch {
    why = 'threw';
  }
  if (!isDangerLevel(level))
    return {
      level: DangerLevel.CRITICAL,
      raised: `the danger of these arguments is unknown, because dangerFor ${why}`,
    };
  if (dangerRank(level) <= dangerRank(entry.dangerLevel)) return { level: entry.dangerLevel };
  return {
    level,
    raised: `these arguments raise its danger from ${entry.dangerLevel} to ${level}`,
  };
}

function isDangerLevel(value: unknown): value is DangerLevel {
  return (DANGER_LEVELS as readonly unknown[]).includes(value);
}

const TEXTS = ['principal', 'persona', 'conversationId'] as const;
const LISTS = ['scopes', 'flags'] as const;
/** Refuses a single string of scopes, because each of its substrings would seem to be a scope. */
const areTexts = (value: unknown) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** Returns what's wrong with a context, or `undefined` if it's valid. */
export function wrongContext(context: CallContext): string | undefined {
  const wrong = (field: keyof CallContext, what: string) =>
    expectedGot(`the context's ${field} as ${what}`, describeValue(context[field]));
  for (const field of TEXTS)
    if (context[field] !== undefined && typeof context[field] !== 'string')
      return wrong(field, 'a string');
  for (const field of LISTS)
    if (context[field] !== undefined && !areTexts(context[field]))
      return wrong(field, 'a list of strings');
  return context.mode === undefined || POLICY_MODES.includes(context.mode)
    ? undefined
    : wrong('mode', `one of ${POLICY_MODES.join(', ')}`);
}
