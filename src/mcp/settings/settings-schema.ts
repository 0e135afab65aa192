import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel, Priority, SideEffect } from '../../core/enums.js';
import { FLOW_LABELS, FLOW_TARGETS } from '../../core/flow.js';
import { LIMITS } from '../../core/limits.js';
import { once, secret, wholeBetween } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';

// The schemas here expect the names that `spelled` produces.
// Files may contain numbers, flags and lists as text.

/**
 * Returns an optional field. If its value is text, the text is parsed before the schema checks it.
 */
const reading = <S extends z.ZodType>(read: (text: string) => unknown, schema: S) =>
  z.preprocess((value) => (typeof value === 'string' ? read(value) : value), schema.optional());
const stringbool = once(() => z.stringbool());
const flag = () => reading((text) => stringbool().safeParse(text).data ?? text, z.boolean());
const number = <S extends z.ZodType>(schema: S) =>
  reading((text) => (text.trim() === '' ? text : Number(text)), schema);
const label = () => z.string().trim().min(1).max(LIMITS.labelLength).optional();
const listOf = (separator: RegExp) =>
  reading(
    (text) => text.split(separator),
    z
      .array(z.string().trim().max(LIMITS.labelLength))
      .max(LIMITS.listLength)
      .transform((list) => [...new Set(list)].filter((each) => each !== '')),
  );
const names = () => listOf(/,/);
const scopes = () => listOf(/\s+/);

/** Maximum time in seconds. A larger number is read as milliseconds, which some clients use. */
const MOST_SECONDS = 3_600;
/**
 * Returns a field for a time in seconds. The time is converted to milliseconds, and 0 to
 * `undefined`.
 */
const seconds = () =>
  number(
    z
      .number()
      .min(0)
      .max(LIMITS.timerMs / 1_000)
      .transform((value) => Math.round(value > MOST_SECONDS ? value : value * 1_000) || undefined),
  );

/**
 * Returns a field that may contain a secret, so messages don't repeat it. `read` returns
 * `undefined` for an invalid value.
 */
const unseen = <T>(what: string, read: (value: unknown) => T | undefined) =>
  secret<unknown>(what, (value) => read(value) !== undefined)
    .transform((value) => read(value) as T)
    .optional();
const line = () =>
  unseen(`non-blank text of at most ${LIMITS.sentenceLength} characters`, (value) =>
    typeof value === 'string' && value.length <= LIMITS.sentenceLength
      ? value.trim() || undefined
      : undefined,
  );
/**
 * Returns a field for strings by name. Line breaks and null bytes are refused, because they would
 * end a header or variable and start another.
 */
const textsByName = (name: RegExp, what: string) =>
  unseen(`an object of ${what}, each a string on one line`, (value) =>
    isPlainObject(value) &&
    Object.entries(value).every(
      ([key, item]) =>
        name.test(key) &&
        ['string', 'number', 'boolean'].includes(typeof item) &&
        !/[\r\n\0]/.test(String(item)),
    )
      ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item)]))
      : undefined,
  );
const variableOf = (value: unknown) =>
  typeof value === 'string' ? /^\s*([A-Za-z_][A-Za-z0-9_]{0,199})\s*$/.exec(value)?.[1] : undefined;
/**
 * Returns a field for the names of the variables that contain credentials, by purpose. The settings
 * themselves mustn't contain credentials.
 */
const variableNames = () =>
  unseen('the name of a variable, or an object {"label": "VARIABLE"}', (value) => {
    const named = Object.entries(isPlainObject(value) ? value : { [String(value)]: value });
    const read = named.map(([key, each]) => [variableOf(key), variableOf(each)] as const);
    return read.flat().includes(undefined)
      ? undefined
      : (Object.fromEntries(read) as Readonly<Record<string, string>>);
  });
/**
 * Returns a field for a program's arguments, as a list or as one string that is split at spaces
 * outside quotes.
 */
const programArguments = () =>
  unseen(
    'a list of arguments, or one string with spaces between them and every quote closed',
    (value) => {
      if (Array.isArray(value))
        return value.every((each) => typeof each === 'string') ? [...value] : undefined;
      if (typeof value !== 'string' || /["']/.test(value.replace(/"[^"]*"|'[^']*'/g, '')))
        return undefined;
      const words = value.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
      return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
    },
  );

const limits = () => ({
  timeout: seconds(),
  startupTimeout: seconds(),
  healthCheckInterval: seconds(),
  maxTools: number(wholeBetween(1, 100_000)).default(1_000),
});
const filters = () => ({ allowTools: names(), denyTools: names().default([]) });

/** The operator's settings for tools, which override what the server says about them. */
const overrides = () => ({
  sideEffects: reading(
    (text) => [text],
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
  idempotencyKey: z.preprocess(
    (value) => (isPlainObject(value) ? value['required'] : value),
    flag(),
  ),
  version: label(),
  category: label(),
});

const toolSchema = once(() =>
  z.strictObject({
    ...overrides(),
    disabled: flag(),
    timeout: seconds(),
    personaAllowlist: names(),
    keywords: names(),
    stages: names(),
    taskTypes: names(),
    priority: reading(
      (text) => (Priority as Readonly<Record<string, Priority>>)[text.toUpperCase()] ?? text,
      z.enum(Priority),
    ),
    costTier: z.enum(CostTier).optional(),
    name: label(),
    description: z.string().trim().min(1).max(LIMITS.sentenceLength).optional(),
  }),
);

const webAddress = () => z.url({ protocol: /^https?$/, error: 'an http or https address' });

/** The schema of `oauth`, without the rules between its fields. */
export const loginFields = once(() =>
  z.strictObject({
    grant: z.enum(['authorization_code', 'client_credentials']).default('authorization_code'),
    clientId: label(),
    clientSecretEnv: unseen('the name of a variable', variableOf),
    clientKeyEnv: unseen('the name of a variable', variableOf),
    signingAlgorithm: label(),
    clientMetadataUrl: webAddress().optional(),
    issuer: webAddress().optional(),
    scopes: scopes().transform((list) => list ?? []),
    callbackPort: number(wholeBetween(1, 65_535)),
  }),
);

const loginSchema = once(() =>
  loginFields()
    // The settings must name the issuer that gets the secret.
    // Otherwise the MCP server could send the secret anywhere.
    .refine(
      ({ clientSecretEnv, clientKeyEnv, issuer, clientId }) =>
        (clientSecretEnv ?? clientKeyEnv) === undefined ||
        (issuer !== undefined && clientId !== undefined),
      { path: ['issuer'], error: 'an issuer and a client_id together with client_secret_env' },
    )
    .refine(
      ({ grant, clientSecretEnv, clientKeyEnv }) =>
        grant !== 'client_credentials' || (clientSecretEnv ?? clientKeyEnv) !== undefined,
      {
        path: ['clientSecretEnv'],
        error: 'client_secret_env or client_key_env with the grant client_credentials',
      },
    ),
);

const TRANSPORTS: Readonly<Record<string, 'stdio' | 'http' | 'sse' | 'websocket'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  https: 'http',
  streamablehttp: 'http',
  remote: 'http',
  sse: 'sse',
  websocket: 'websocket',
  ws: 'websocket',
  wss: 'websocket',
};
const transport = () =>
  reading(
    (text) => TRANSPORTS[text.toLowerCase().replace(/[-_ ]/g, '')] ?? text,
    z.enum(['stdio', 'http', 'sse', 'websocket']),
  );

export const authSchema = once(() =>
  z.strictObject({ required: flag(), type: label(), scopes: scopes(), env: variableNames() }),
);

/** The schema of one server's settings. */
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
    // The header names that RFC 9110 allows (section 5.6.2).
    headers: textsByName(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'headers'),
    oauth: loginSchema().optional(),
    enabled: flag(),
    disabled: flag(),
    ...limits(),
    ...filters(),
    persona: label(),
    personaAllowlist: names(),
    trusted: flag().default(false),
    resources: flag().default(false),
    prompts: flag().default(false),
    ...overrides(),
    tools: z
      .record(z.string().trim().min(1).max(LIMITS.labelLength), toolSchema())
      .refine(
        (tools) => Object.keys(tools).length <= LIMITS.listLength,
        `at most ${LIMITS.listLength} tool names or patterns`,
      )
      .optional(),
    autoApprove: z.unknown().optional(),
    auth: authSchema().optional(),
    prefix: flag().default(true),
    authRequired: flag(),
    authType: label(),
    authEnv: variableNames(),
    scopes: scopes(),
  }),
);

/**
 * The schema of a settings file, with the settings for all servers. Unknown members are ignored,
 * because other programs keep their own settings in such files.
 */
export const fileSchema = once(() =>
  z.looseObject({
    enabled: flag(),
    servers: z
      .custom<Readonly<Record<string, unknown>>>(isPlainObject, 'an object of servers by name')
      .default({}),
    inputs: z.unknown().optional(),
    defaultServer: z.string().trim().optional(),
    include: names().transform((list) => list ?? []),
    ...limits(),
    ...filters(),
    ...overrides(),
  }),
);

export type FileValues = z.output<ReturnType<typeof fileSchema>>;
export type ServerValues = z.output<ReturnType<typeof serverSchema>>;
export type ToolValues = z.output<ReturnType<typeof toolSchema>>;
/** The names of the operator's overrides. */
export const OVERRIDES = once(
  () => Object.keys(overrides()) as (keyof ReturnType<typeof overrides>)[],
);
/** The names of the settings that a server takes over from the settings for all servers. */
export const SHARED = once(() => [...Object.keys(limits()), ...OVERRIDES()]);
