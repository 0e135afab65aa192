import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, SideEffect } from '../../../core/enums.js';
import { LIMITS } from '../../../core/limits.js';
import { isPlainObject } from '../../../core/plain-data.js';

const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const NAME_RULE = 'a name of 1 to 128 letters, digits, dots, underscores and hyphens';
/** Seconds: longer times cannot be waited for. */
const LONGEST_SECONDS = Math.floor(LIMITS.timerMs / 1_000);

const name = () => z.string().regex(NAME, { error: NAME_RULE });
const text = (longest: number = LIMITS.labelLength) => z.string().max(longest).regex(/\S/, { error: 'text that is not blank' });
const sentence = () => text(LIMITS.sentenceLength);
const list = <T extends z.ZodType>(item: T) => z.array(item).max(LIMITS.listLength);
const labels = () => list(text());
const seconds = () => z.number().min(0).max(LONGEST_SECONDS);
/** Only looked at, never rebuilt: zod would drop a key called `__proto__`. */
const mapOf = <T extends z.ZodType>(item: T) => z.record(z.string(), item);
const plainObject = () => mapOf(z.unknown());

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value)).join(', ');
const EFFECTS = Object.values(SideEffect);
const PRIORITIES = ['critical', 'high', 'medium', 'low'] as const;

const parameters = z.looseObject({
  type: z.literal('object').describe('Always "object": the input of a tool has named fields.'),
  properties: plainObject().optional().describe('A JSON Schema for each field.'),
  required: z.array(z.string().min(1)).optional().describe('The fields that every call must give.'),
  additionalProperties: z.union([z.boolean(), plainObject()], { error: 'true, false or a schema' }).optional().describe('Whether, or in which form, other fields are allowed.'),
});

const needOfVariable = z.union(
  [
    text(),
    z.looseObject({
      required: z.boolean().optional().describe('Whether the tool fails without the variable.'),
      optional: z.boolean().optional().describe('Whether the tool works without the variable.'),
      providers: z.array(z.string()).optional().describe('The providers that use the variable.'),
    }),
  ],
  { error: 'the name of a variable, or an object with "required" or "optional"' },
);

const auth = z.looseObject({
  required: z.boolean().describe('Whether calls fail without credentials.'),
  type: text().optional().describe('The kind of credentials, as "api_key" or "oauth2".'),
  env: z
    .union([text(), mapOf(text())], { error: 'the name of a variable, or an object of them' })
    .optional()
    .describe('The environment variable that holds the credentials; newer manifests use "envs".'),
  envs: mapOf(needOfVariable)
    .optional()
    .describe('The environment variables that hold the credentials: {"VARIABLE": {"required": true}}, or {"label": "VARIABLE"}.'),
  docs: sentence().optional().describe('How to get access.'),
  scopes: z
    .union([z.string().max(LIMITS.sentenceLength), list(z.string().max(LIMITS.labelLength))], { error: 'a list of scopes, or one text with blanks between them' })
    .optional()
    .describe('The permissions that the credentials must carry.'),
});

const provider = z.looseObject({
  name: text().describe('The kind of service, as the application registered it.'),
  priority: z.int().optional().describe('Tried in ascending order; 100 when missing.'),
  health_check_interval: z.number().min(0).optional().describe('Seconds between two health checks; 0 for none.'),
  config: plainObject().optional().describe('Settings of the provider. No secrets: name the variables that hold them.'),
});

const idempotencyKey = z.union(
  [
    z.boolean(),
    z.looseObject({
      required: z.boolean().describe('Whether repeated calls need a key.'),
      scope: text().optional().describe('Within what the key is unique.'),
      guidance: sentence().optional().describe('How to make the key.'),
    }),
  ],
  { error: 'true, false, or an object with "required"' },
);

/**
 * One tool of a manifest, in the manifest's own words: snake_case keys, times in seconds.
 *
 * It only checks; what is read is the checked value itself. Keys that it does not know pass, and are reported as warnings.
 */
export const manifestEntrySchema = z.looseObject({
  name: name().describe('The name under which models and programs call the tool; unique in its file.'),
  description: text(LIMITS.descriptionLength).describe('What the tool does, for the model that chooses it.'),
  parameters: parameters.optional().describe("JSON Schema of the tool's input. May be missing only for a tool with a provider named \"mcp\"."),
  type: z.literal('function').optional().describe('Allowed for the sake of the function-calling form; says nothing.'),
  strict: z.boolean().optional().describe('Whether models shall follow the parameters to the letter; carried along.'),
  version: text().optional().describe('Semantic version of the tool, as "1.2.0".'),

  side_effects: z
    .union([z.enum(SideEffect), list(z.enum(SideEffect))], { error: `one of ${quoted(EFFECTS)}, or a list of them` })
    .optional()
    .describe('The strongest thing that a call touches. When in doubt, the more restrictive one. What is not declared counts as dangerous.'),
  default_timeout: z.int().min(0).max(LONGEST_SECONDS).optional().describe('Whole seconds that a call may take; 0 for no limit of its own.'),
  auth: auth.optional().describe('What the tool needs to be allowed to call.'),
  allow_parallel: z.boolean().optional().describe('Whether two calls of this tool may run at the same time.'),
  idempotency_key: idempotencyKey.optional().describe('Whether calls with the same idempotency key have the effect of one.'),
  requires_consent: z.boolean().optional().describe("Whether every call needs a person's yes."),
  safety_level: z.enum(['low', 'medium', 'high']).optional().describe('How bad a wrong call can be. It raises what side_effects say, and never lowers it.'),
  cost_per_call: z.number().min(0).optional().describe('What one call costs, in cost_unit.'),
  cost_unit: text().optional().describe('The currency or unit of cost_per_call, as "USD".'),
  capabilities: list(z.string().max(LIMITS.labelLength)).optional().describe('What the tool is good for, as tags.'),
  providers: list(provider).optional().describe('Services that can answer the calls, tried in ascending priority.'),
  persona_allowlist: labels().optional().describe('The only personas that may call the tool, in any case; all when missing, none when empty.'),

  requires_flags: z.unknown().optional().describe('Settings that must be on for some operations; carried along.'),
  policy_flags: z.unknown().optional().describe('Facts for policies of the application; carried along.'),
  quota_hints: z.unknown().optional().describe('Bounds that the tool keeps; carried along.'),
  returns: z.unknown().optional().describe('The form of the answer; carried along.'),
  skill_bindings: z.unknown().optional().describe('Skills that use the tool; carried along.'),
  idempotency_guidance: z.unknown().optional().describe('What to know before repeating a call; carried along.'),
  notes: z.unknown().optional().describe('For people who read the file; carried along.'),

  priority: z
    .union([z.enum(PRIORITIES), z.int().min(0).max(3)], { error: `one of ${quoted(PRIORITIES)}, or their numbers 0 to 3` })
    .optional()
    .describe('How eagerly the tool is offered to a model; "medium" when missing.'),
  access_mode: z.enum(AccessMode).optional().describe('What a call may do to the world; inferred from side_effects when missing.'),
  danger_level: z.enum(DangerLevel).optional().describe('How bad a wrong call can be; from "high" on a person is asked. Inferred when missing.'),
  execution_category: z.enum(ExecutionCategory).optional().describe('The kind of work, for planning which calls may run side by side; follows access_mode when missing.'),
  cost_tier: z.enum(CostTier).optional().describe('What a call costs, roughly; inferred when missing.'),
  category: text().optional().describe('The group of tools that this one belongs to.'),
  keywords: labels().optional().describe('Words and phrases of requests that this tool answers.'),
  mandatory_keywords: labels().optional().describe("Words and phrases that guarantee the tool's place when a request contains them."),
  stages: labels().optional().describe('Phases of work in which the tool is useful.'),
  task_types: labels().optional().describe('Kinds of tasks for which the tool is useful.'),
  progress_params: labels().optional().describe('Input fields whose change between two calls is progress; equal ones are a loop.'),
  examples: list(z.unknown()).optional().describe('Requests as a user would put them.'),
  aliases: list(name()).optional().describe('Other names under which the tool is found.'),
  manual: z.boolean().optional().describe('Whether a person or another program answers the calls.'),
  compact: z.boolean().optional().describe('Whether the model sees one line of the tool and reads the rest on demand.'),
  summary: sentence().optional().describe('The one line shown of a compact tool.'),
  handler_ref: text().optional().describe('The name under which the application gives the function that runs the tool; its own name when missing.'),
  invalidates: labels().optional().describe('Tools and categories whose cached results a call makes stale.'),
  cache_ttl: seconds().optional().describe('How many seconds an answer may be reused; only for tools with access_mode "readonly".'),
  output_schema: plainObject().optional().describe("JSON Schema of the tool's answer."),
  metadata: plainObject().optional().describe('Anything else; carried along.'),
});

type Plain = Readonly<Record<string, unknown>>;
/** One tool of a manifest, checked: the documented keys have their documented form, other keys any. */
export type ManifestEntry = Readonly<z.input<typeof manifestEntrySchema>> & Plain;

/** The keys of each object of an entry that have a meaning; others are reported. */
export const KNOWN_KEYS = Object.freeze({
  entry: Object.keys(manifestEntrySchema.shape),
  auth: Object.keys(auth.shape),
  provider: Object.keys(provider.shape),
  idempotencyKey: ['required', 'scope', 'guidance'],
});

/** Whether the input of an entry is described elsewhere: by the MCP server that it stands for. */
export function isMcpWrapper(fields: Plain): boolean {
  return Array.isArray(fields['providers']) && fields['providers'].some((each) => isPlainObject(each) && each['name'] === 'mcp');
}

/** An entry without its function-calling wrapper. */
export interface UnwrappedEntry {
  readonly fields: Plain;
  /** The keys that stand inside `function`. */
  readonly inside: ReadonlySet<string>;
  /** Keys that stand both beside and inside `function`, with different values. */
  readonly twice: readonly string[];
}

/**
 * Takes the function-calling form (`{type: "function", function: {name, description, parameters}}`) apart.
 *
 * Metadata may stand beside `function` or inside of it. Entries of the plain form come back as they are.
 */
export function unwrapEntry(raw: Plain): UnwrappedEntry {
  if (!Object.hasOwn(raw, 'function') || !isPlainObject(raw['function'])) return { fields: raw, inside: new Set(), twice: [] };
  const { function: wrapped, ...beside } = raw;
  const inside = wrapped;
  const twice = Object.keys(inside).filter((key) => Object.hasOwn(beside, key) && JSON.stringify(beside[key]) !== JSON.stringify(inside[key]));
  return { fields: { ...beside, ...inside }, inside: new Set(Object.keys(inside)), twice };
}
