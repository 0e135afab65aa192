import { AccessMode, DangerLevel, type SideEffect } from '../../core/enums.js';
import type { Issue } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';
import { contradictionsIn } from '../../tool/metadata/infer-metadata.js';
import { FieldReader, type Parsed } from './field-reader.js';
import type { McpServerAuth, McpServerSettings, McpToolOverrides } from './mcp-settings.js';
import { readTransport } from './read-transport.js';
import { duration, effects, flag, flagOrNeed, label, names, oneOf, scopes } from './value-parsers.js';

/** What a server's settings fall back to. */
export interface ServerDefaults {
  readonly timeoutMs: number;
  readonly healthCheckIntervalMs: number;
  readonly overrides: McpToolOverrides;
}

/** One server's settings before its signature; `undefined` for one that is switched off or not usable. */
export function readServer(name: string, given: unknown, defaults: ServerDefaults, path: Issue['path'], issues: Issue[]): Omit<McpServerSettings, 'signature'> | undefined {
  const fields = new FieldReader(given, path, issues);
  if (!isPlainObject(given)) return undefined;
  const enabled = fields.read({ enabled: flag });
  const disabled = fields.read({ disabled: flag });
  const transport = readTransport(fields);
  const times = readTimes(fields);
  const { allowTools, denyTools = [] } = readFilters(fields);
  const persona = fields.read({ persona: label });
  const personaAllowlist = fields.read({ persona_allowlist: names, personaAllowlist: names });
  const trusted = fields.read({ trusted: flag }) ?? false;
  const overrides = { ...defaults.overrides, ...readOverrides(fields), ...without({ idempotencyKey: fields.read({ idempotency_key: flagOrNeed, idempotencyKey: flagOrNeed }) }) };
  for (const contradiction of contradictionsIn({ name, description: name, ...overrides, sideEffects: effectsOf(overrides) })) fields.fault(contradiction);
  const auth = readAuth(fields, path, issues);
  fields.refuseUnknown();
  if (transport === undefined || enabled === false || disabled === true) return undefined;
  return {
    name,
    transport,
    timeoutMs: times.timeoutMs ?? defaults.timeoutMs,
    healthCheckIntervalMs: times.healthCheckIntervalMs ?? defaults.healthCheckIntervalMs,
    ...without({ allowTools }),
    denyTools,
    ...without({ persona, personaAllowlist }),
    trusted,
    overrides,
    ...without({ auth }),
  };
}

export function readTimes(fields: FieldReader) {
  const [seconds, milliseconds] = [duration('seconds'), duration('milliseconds')];
  return {
    timeoutMs: fields.read({ timeout_seconds: seconds, timeoutSeconds: seconds, timeout: seconds, timeoutMs: milliseconds }),
    healthCheckIntervalMs: fields.read({ health_check_interval: seconds, healthCheckInterval: seconds, healthCheckIntervalMs: milliseconds }),
  };
}

export function readFilters(fields: FieldReader) {
  return { allowTools: fields.read({ allow_tools: names, allowTools: names }), denyTools: fields.read({ deny_tools: names, denyTools: names }) };
}

/** What may be said of the tools of one server, and of those of all. */
export function readOverrides(fields: FieldReader): McpToolOverrides {
  const access = oneOf(Object.values(AccessMode));
  const danger = oneOf(Object.values(DangerLevel));
  return without({
    sideEffects: fields.read({ side_effects: effects, sideEffects: effects }),
    accessMode: fields.read({ access_mode: access, accessMode: access }),
    dangerLevel: fields.read({ danger_level: danger, dangerLevel: danger }),
    allowParallel: fields.read({ allow_parallel: flag, allowParallel: flag }),
    requiresConsent: fields.read({ requires_consent: flag, requiresConsent: flag }),
    version: fields.read({ version: label }),
    category: fields.read({ category: label }),
  });
}

/** Credentials may be described in an `auth` of their own, beside it, or both; scopes of both count. */
function readAuth(fields: FieldReader, path: Issue['path'], issues: Issue[]): McpServerAuth | undefined {
  const own = fields.raw('auth', 'authentication');
  const beside = {
    required: fields.read({ auth_required: flag, authRequired: flag }),
    type: fields.read({ auth_type: label, authType: label }),
    scopes: fields.read({ scopes, scope: scopes }),
    env: fields.readSecret({ auth_env: variableNames, authEnv: variableNames }),
  };
  const inner = new FieldReader(own === undefined ? {} : own.value, [...path, own?.name ?? 'auth'], issues);
  const required = inner.read({ required: flag }) ?? beside.required;
  const type = inner.read({ type: label, scheme: label }) ?? beside.type;
  const allScopes = [...new Set([...(inner.read({ scopes, scope: scopes }) ?? []), ...(beside.scopes ?? [])])];
  const env = inner.readSecret({ env: variableNames }) ?? beside.env ?? {};
  inner.refuseUnknown();
  if (required === undefined && type === undefined && allScopes.length === 0 && Object.keys(env).length === 0) return undefined;
  return { ...without({ required, type }), scopes: allScopes, env };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;

/** Variables that hold credentials. Only names: somebody may have written the credential itself, which must not travel. */
function variableNames(value: unknown): Parsed<Readonly<Record<string, string>>> {
  const named = typeof value === 'string' ? { [value.trim()]: value.trim() } : value;
  const fits = isPlainObject(named) && Object.entries(named).every(([name, variable]) => VARIABLE.test(name) && typeof variable === 'string' && VARIABLE.test(variable.trim()));
  if (!fits) return { expected: 'the name of a variable, or an object {"label": "VARIABLE"}' };
  return { value: Object.fromEntries(Object.entries(named).map(([name, variable]) => [name, (variable as string).trim()])) };
}

function effectsOf({ sideEffects = [] }: McpToolOverrides): SideEffect[] {
  return typeof sideEffects === 'string' ? [sideEffects] : [...sideEffects];
}

type Without<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

function without<T extends object>(object: T): Without<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Without<T>;
}
