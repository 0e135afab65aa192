import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel, Priority, SideEffect } from '../../core/enums.js';
import { FLOW_LABELS, FLOW_TARGETS } from '../../core/flow.js';
import { LIMITS } from '../../core/limits.js';
import { once, secret, wholeBetween } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';

// The settings of MCP, under the spellings that `spelled` gives them. Files may hold numbers and flags as texts.

const WORDS = new Map<unknown, boolean>([
  ...[1, 'true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...[0, 'false', 'no', 'off', '0'].map((word) => [word, false] as const),
]);
const lower = (value: unknown) => (typeof value === 'string' ? value.trim().toLowerCase() : value);
/** Reads a value that is there; a missing one stays missing. */
const reading = <S extends z.ZodType>(read: (value: unknown) => unknown, schema: S) =>
  z.preprocess((value) => (value === undefined ? value : read(value)), schema.optional());
const flag = () => reading((value) => WORDS.get(lower(value)) ?? value, z.boolean());
const numeric = (value: unknown) =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : value;

/** A text on one line whose value messages don't repeat: it may hold a secret. */
const line = () =>
  secret<string>(
    `a text that is not blank, of at most ${LIMITS.sentenceLength} characters`,
    (value) =>
      typeof value === 'string' && value.trim() !== '' && value.length <= LIMITS.sentenceLength,
  )
    .transform((value) => value.trim())
    .optional();
const label = () => z.string().trim().min(1).max(LIMITS.labelLength).optional();

const listOf = (between: RegExp) =>
  reading(
    (value) => (typeof value === 'string' ? value.split(between) : value),
    z
      .array(z.string().trim().max(LIMITS.labelLength))
      .max(LIMITS.listLength)
      .transform((list) => [...new Set(list)].filter((each) => each !== '')),
  );
const names = () => listOf(/,/);
const scopes = () => listOf(/\s+/);

/** The most seconds of a `timeout`; a larger number comes from clients that count in milliseconds. */
const MOST_SECONDS = 3_600;
/** A time in seconds, which comes out as milliseconds; 0 means not set. */
const seconds = () =>
  reading(
    numeric,
    z
      .number()
      .min(0)
      .max(LIMITS.timerMs / 1_000)
      .transform((value) => Math.round(value > MOST_SECONDS ? value : value * 1_000) || undefined),
  );
const milliseconds = () =>
  reading(
    numeric,
    z
      .number()
      .min(0)
      .max(LIMITS.timerMs)
      .transform((value) => Math.round(value) || undefined),
  );

const textsByName = (name: RegExp, what: string) =>
  secret<Readonly<Record<string, unknown>>>(
    `an object of ${what}, each a text on one line`,
    (value) =>
      isPlainObject(value) &&
      Object.entries(value).every(
        ([key, item]) =>
          name.test(key) &&
          ['string', 'number', 'boolean'].includes(typeof item) &&
          // Line breaks and null bytes would end a header or a variable and begin another.
          !/[\r\n\0]/.test(String(item)),
      ),
  )
    .transform((texts) =>
      Object.fromEntries(Object.entries(texts).map(([key, item]) => [key, String(item)])),
    )
    .optional();

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;
const variable = () =>
  secret<string>(
    'the name of a variable',
    (value) => typeof value === 'string' && VARIABLE.test(value.trim()),
  )
    .transform((name) => name.trim())
    .optional();
/** Variables that hold credentials. Only names: the credential itself may stand there, which must not travel. */
const variableNames = () =>
  secret<string | Readonly<Record<string, string>>>(
    'the name of a variable, or an object {"label": "VARIABLE"}',
    (value) =>
      (typeof value === 'string' && VARIABLE.test(value.trim())) ||
      (isPlainObject(value) &&
        Object.entries(value).every(
          ([name, each]) =>
            VARIABLE.test(name) && typeof each === 'string' && VARIABLE.test(each.trim()),
        )),
  )
    .transform((named) =>
      typeof named === 'string'
        ? { [named.trim()]: named.trim() }
        : Object.fromEntries(Object.entries(named).map(([name, each]) => [name, each.trim()])),
    )
    .optional();

const limits = () => ({
  timeoutSeconds: seconds(),
  timeoutMs: milliseconds(),
  startupTimeoutSeconds: seconds(),
  startupTimeoutMs: milliseconds(),
  healthCheckSeconds: seconds(),
  healthCheckMs: milliseconds(),
  maxTools: reading(numeric, wholeBetween(1, 100_000)),
});
const filters = () => ({ allowTools: names(), denyTools: names() });

/** Overrides by the operator, which win over what the server says. */
const overrides = () => ({
  sideEffects: reading(
    (value) => (typeof value === 'string' ? [value] : value),
    z
      .array(z.enum(SideEffect))
      .min(1)
      .refine(
        (effects) => effects.length === 1 || !effects.includes(SideEffect.NONE),
        'a list of side effects without "none"',
      ),
  ),
  accessMode: z.enum(AccessMode).optional(),
  dangerLevel: z.enum(DangerLevel).optional(),
  allowParallel: flag(),
  requiresConsent: flag(),
  reads: z.array(z.enum(FLOW_LABELS)).optional(),
  sends: z.enum(FLOW_TARGETS).optional(),
  idempotencyKey: reading((value) => (isPlainObject(value) ? value['required'] : value), flag()),
  version: label(),
  category: label(),
});

/** The settings of the tools whose names match a pattern. */
const toolSchema = once(() =>
  z.strictObject({
    ...overrides(),
    disabled: flag(),
    enabled: flag(),
    timeoutSeconds: seconds(),
    timeoutMs: milliseconds(),
    personaAllowlist: names(),
    keywords: names(),
    stages: names(),
    taskTypes: names(),
    priority: reading(
      (value) =>
        typeof value === 'string'
          ? ((Priority as Readonly<Record<string, Priority>>)[value.toUpperCase()] ?? value)
          : value,
      z.enum(Priority),
    ),
    costTier: z.enum(CostTier).optional(),
  }),
);

const webAddress = () => z.url({ protocol: /^https?$/, error: 'an http or https address' });

/** The settings of a login at a server. */
const loginSchema = once(() =>
  z
    .strictObject({
      grant: z.enum(['authorization_code', 'client_credentials']).default('authorization_code'),
      clientId: label(),
      clientSecretEnv: variable(),
      clientMetadataUrl: webAddress().optional(),
      issuer: webAddress().optional(),
      scopes: scopes().transform((list) => list ?? []),
      callbackPort: reading(numeric, wholeBetween(1, 65_535)),
    })
    .refine(
      ({ clientSecretEnv, issuer }) => clientSecretEnv === undefined || issuer !== undefined,
      {
        path: ['issuer'],
        error: 'an issuer beside client_secret_env',
        params: { advice: 'Name the authorization server that may get the secret.' },
      },
    )
    .refine(
      ({ clientSecretEnv, clientId }) => clientSecretEnv === undefined || clientId !== undefined,
      { path: ['clientId'], error: 'a client_id beside client_secret_env' },
    )
    .refine(
      ({ grant, clientSecretEnv }) =>
        grant !== 'client_credentials' || clientSecretEnv !== undefined,
      {
        path: ['clientSecretEnv'],
        error: 'client_secret_env with the grant client_credentials',
      },
    ),
);

const TRANSPORTS: Readonly<Record<string, 'stdio' | 'http' | 'sse' | 'websocket'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  https: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamablehttp: 'http',
  remote: 'http',
  sse: 'sse',
  websocket: 'websocket',
  ws: 'websocket',
  wss: 'websocket',
};
const transport = () =>
  z
    .custom<string>(
      (value) => Object.hasOwn(TRANSPORTS, String(lower(value))),
      'a transport: stdio, http, sse or websocket',
    )
    .transform((word) => TRANSPORTS[String(lower(word))]!)
    .optional();

/** Arguments of a program as a list, or as one text that is split at blanks outside of quotes. */
const programArguments = () =>
  secret<string | readonly string[]>(
    'a list of arguments, or one text with blanks between them and every quote closed',
    (value) =>
      (Array.isArray(value) && value.every((each) => typeof each === 'string')) ||
      (typeof value === 'string' && !/["']/.test(value.replace(/"[^"]*"|'[^']*'/g, ''))),
  )
    .transform((given) =>
      typeof given === 'string'
        ? (given.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) =>
            word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'),
          )
        : [...given],
    )
    .optional();

/** One server. */
export const serverSchema = once(() =>
  z.strictObject({
    transport: transport(),
    type: transport(),
    command: line(),
    args: programArguments(),
    env: textsByName(/^[^=\0]{1,200}$/, 'variables'),
    cwd: line(),
    envFile: line(),
    url: line(),
    // Names as RFC 9110 allows them (section 5.6.2).
    headers: textsByName(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'headers'),
    oauth: z.preprocess((value) => (value === false ? undefined : value), loginSchema().optional()),
    enabled: flag(),
    disabled: flag(),
    ...limits(),
    ...filters(),
    persona: label(),
    personaAllowlist: names(),
    trusted: flag(),
    resources: flag(),
    prompts: flag(),
    ...overrides(),
    tools: z
      .record(
        z.string().trim().min(1).max(LIMITS.labelLength),
        z.preprocess(
          (value) => (typeof value === 'boolean' ? { disabled: !value } : value),
          toolSchema(),
        ),
      )
      .refine(
        (tools) => Object.keys(tools).length <= LIMITS.listLength,
        `at most ${LIMITS.listLength} settings by names of tools or patterns`,
      )
      .optional(),
    autoApprove: reading((value) => {
      const all = WORDS.get(lower(value));
      return all === undefined ? value : all ? ['*'] : [];
    }, names()),
    trust: flag(),
    auth: z
      .strictObject({ required: flag(), type: label(), scopes: scopes(), env: variableNames() })
      .optional(),
    authRequired: flag(),
    authType: label(),
    authEnv: variableNames(),
    scopes: scopes(),
  }),
);

/** A settings file, and in it settings for all servers. Other programs keep more in such files, so other members are no fault here. */
export const globalSchema = once(() =>
  z.object({
    enabled: flag(),
    servers: z
      .custom<Readonly<Record<string, unknown>>>(isPlainObject, 'an object of servers by name')
      .optional(),
    inputs: z.unknown().optional(),
    defaultServer: z.string().trim().optional(),
    ...limits(),
    ...filters(),
    ...overrides(),
  }),
);

export type ServerValues = z.output<ReturnType<typeof serverSchema>>;
export type ToolValues = z.output<ReturnType<typeof toolSchema>>;
/** The names of some settings, by what they are about. */
export const OVERRIDES = once(
  () => Object.keys(overrides()) as (keyof ReturnType<typeof overrides>)[],
);
