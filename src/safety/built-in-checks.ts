import { isDangerous, isWriting } from '../core/enum-order.js';
import { describeValue } from '../core/plain-data.js';
import { matchesPattern } from './name-pattern.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { EffectiveDanger } from './effective-danger.js';
import type { CallContext, PolicyMode } from './calls.js';
import { flagsOfCall } from './required-flags.js';

/** What the checks know beside the call. */
export interface CheckFrame {
  /** Of the call, as the tool's schema gives it. */
  readonly input: unknown;
  readonly modes: readonly PolicyMode[];
  readonly allow: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A check that refused: its name as `Decision.rule`, and the reason. */
export interface Refused {
  readonly rule: string;
  readonly reason: string;
}

type Check = (entry: ToolEntry, danger: EffectiveDanger, context: CallContext, frame: CheckFrame) => Refused | undefined;

/** What no rule can loosen, in the order in which it is asked. */
const CHECKS: readonly Check[] = [personaCheck, credentialsCheck, scopesCheck, flagsCheck, allowListCheck, readOnlyCheck];

/** The first reason for which a call is refused whatever the rules say. */
export function refusedByCheck(...facts: Parameters<Check>): Refused | undefined {
  for (const check of CHECKS) {
    const refused = check(...facts);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function personaCheck(entry: ToolEntry, _: EffectiveDanger, { persona }: CallContext): Refused | undefined {
  if (entry.personaAllowlist === undefined) return undefined;
  if (persona !== undefined && entry.personaAllowlist.some((allowed) => allowed.toLowerCase() === persona.toLowerCase())) return undefined;
  const who = persona === undefined ? 'the call names no persona' : `the persona is ${describeValue(persona)}`;
  return { rule: 'persona-allowlist', reason: `${entry.name} is only for ${entry.personaAllowlist.join(', ') || 'no persona'}, and ${who}` };
}

function credentialsCheck(entry: ToolEntry, _: EffectiveDanger, __: CallContext, { env }: CheckFrame): Refused | undefined {
  // Of a tool with several providers one may do without: the router knows which.
  return entry.providers.length > 0 ? undefined : missingCredentials(entry, env);
}

/** Why a tool cannot work: variables that its `auth` requires are not set. */
export function missingCredentials(entry: ToolEntry, env: CheckFrame['env']): Refused | undefined {
  if (entry.auth?.required !== true) return undefined;
  const missing = Object.entries(entry.auth.env ?? {}).filter(([name, need]) => need === 'required' && !(Object.hasOwn(env, name) && env[name]));
  if (missing.length === 0) return undefined;
  const where = entry.auth.docs === undefined ? '' : `; see ${entry.auth.docs}`;
  return { rule: 'missing-credentials', reason: `${entry.name} needs ${missing.map(([name]) => name).join(', ')} in the environment${where}` };
}

function scopesCheck(entry: ToolEntry, _: EffectiveDanger, { scopes = [] }: CallContext): Refused | undefined {
  if (entry.auth?.required !== true) return undefined;
  const missing = (entry.auth.scopes ?? []).filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return undefined;
  return { rule: 'missing-scopes', reason: `${entry.name} needs the scopes ${missing.join(', ')}, which the call's context does not have` };
}

function flagsCheck(entry: ToolEntry, _: EffectiveDanger, { flags = [] }: CallContext, { input }: CheckFrame): Refused | undefined {
  const needed = flagsOfCall(entry, input);
  if (needed === 'malformed') return { rule: 'missing-flags', reason: `what ${entry.name} says under requires_flags is neither a list of flags nor one for each operation` };
  const missing = needed.filter((flag) => !flags.includes(flag));
  if (missing.length === 0) return undefined;
  return { rule: 'missing-flags', reason: `${entry.name} needs the flags ${missing.join(', ')}, which the call's context does not have; whoever makes the call gives those that are on as its flags (on the command line: --flags ${missing.join(',')})` };
}

function allowListCheck(entry: ToolEntry, _: EffectiveDanger, __: CallContext, { modes, allow }: CheckFrame): Refused | undefined {
  if (!modes.includes('allow-list') || allow.some((pattern) => matchesPattern(pattern, entry.name))) return undefined;
  return { rule: 'allow-list', reason: `${entry.name} is not on the allow-list` };
}

function readOnlyCheck(entry: ToolEntry, danger: EffectiveDanger, _: CallContext, { modes }: CheckFrame): Refused | undefined {
  if (!modes.includes('read-only')) return undefined;
  if (isWriting(entry.accessMode)) return { rule: 'read-only', reason: `${entry.name} can change something (access ${entry.accessMode}${entry.inferred.includes('accessMode') ? ', inferred' : ''}), and the mode is read-only` };
  if (isDangerous(danger.level)) return { rule: 'read-only', reason: `this call of ${entry.name} has danger ${danger.level}${danger.raised === undefined ? '' : ` (${danger.raised})`}, and the mode is read-only` };
  return undefined;
}
