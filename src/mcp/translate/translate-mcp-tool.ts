import { allowsPersona } from '../../core/persona.js';
import { AccessMode, SideEffect } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import {
  cloneFrozen,
  describeValue,
  isPlainObject,
  type Json,
  without,
} from '../../core/plain-data.js';
import { axesFromAnnotations, type AnnotatedAxes } from '../../interop/export/to-mcp-tools.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import { boundInput } from '../../tool/bound-input.js';
import { inferAxes } from '../../tool/infer-metadata.js';
import { poisonedTexts, type PoisonedText } from '../../core/poisoned-text.js';
import type { ToolAuth, ToolOptions } from '../../tool/tool-options.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import type { McpServerAuth, McpServerSettings } from '../settings/read-mcp-settings.js';
import { settingsOf } from '../settings/tool-settings.js';
import { inputSchemaOf, soundSchema } from './foreign-schema.js';
import { cleanText, labelOf, quoted } from './foreign-text.js';
import { mcpToolName } from './tool-names.js';

/** The `defineTool` options for a server's tool, or the reason why the tool is refused. */
export type McpTranslation =
  | {
      /** The registered name: `mcp.<server>.<tool>`. */
      readonly name: string;
      /** The tool's name on the server. */
      readonly toolName: string;
      /** The options for `defineTool`. */
      readonly options: ToolOptions<JsonSchema, JsonSchema>;
      /** Sentences about parts that were dropped or are read in a certain way. */
      readonly changes: readonly string[];
      /** The server's unchanged texts that hide something or steer models. */
      readonly texts: readonly PoisonedText[];
    }
  | {
      readonly refused: string;
      readonly toolName?: string;
      readonly texts?: readonly PoisonedText[];
    };

/** Maximum length of a description: four times the usual limit. */
const LONGEST_DESCRIPTION = 4_096;
const MOST_CAPABILITIES = 64;
/** Maximum number of hints that are read. The protocol defines four. */
const MOST_HINTS = 16;
/**
 * The fields of a definition that are read. Others, such as icons, may contain large pictures.
 */
const FIELDS = [
  'name',
  'title',
  'description',
  'inputSchema',
  'input_schema',
  'parameters',
  'outputSchema',
  'output_schema',
  'annotations',
  'execution',
  'version',
  'capabilities',
  'auth',
  'authentication',
  'requires_authentication',
  'persona_allowlist',
  'personaAllowlist',
] as const;
type Raw = Readonly<Partial<Record<(typeof FIELDS)[number], Json>>>;

/**
 * Translates a tool from a server's listing to `defineTool` options. Never throws.
 *
 * - The name is `mcp.<server>.<tool>`. Calls go to the provider `mcp`, which gets the server's name
 *   and the tool's name at the server.
 * - By default, a tool has the side effect `network`, requires consent, doesn't run in parallel,
 *   has no idempotency key, and has version 1.0.0. The server's settings override these defaults.
 *   The tool's annotations may only tighten them, unless the server is trusted.
 * - A description is trimmed, cut at 4,096 characters and stripped of hidden characters. A tool is
 *   refused if its name is unusable, its definition is larger than 256 KiB, or its input schema
 *   can't be enforced. An output schema that can't be enforced is dropped.
 * - `metadata` contains the title and the annotations.
 * - A tool that can only run as a task of the protocol is refused.
 *
 * @param tool Any value that a server sent.
 * @param engine Checks the patterns of the schemas.
 */
export function translateMcpTool(
  tool: unknown,
  forAll: McpServerSettings,
  engine?: PatternEngine,
): McpTranslation {
  const read = readDefinition(tool);
  if ('refused' in read) return read;
  const { raw, toolName } = read;
  const inputSchema = raw.inputSchema ?? raw.input_schema ?? raw.parameters;
  const outputSchema = raw.outputSchema ?? raw.output_schema;
  const { name, title, description: told, annotations } = raw;
  const texts = poisonedTexts({
    ...{ name, title, description: told, annotations, inputSchema, outputSchema },
  });
  if (isPlainObject(raw.execution) && raw.execution['taskSupport'] === 'required')
    return {
      refused: "This tool can only run as a task, which isn't supported.",
      toolName,
      texts,
    };
  const server = { ...forAll, ...settingsOf(forAll, toolName) };
  const named = mcpToolName(forAll, server.rename ?? toolName);
  if ('refused' in named) return { refused: named.refused, toolName, texts };
  const input = inputSchemaOf(inputSchema, engine);
  if ('refused' in input) return { refused: input.refused, toolName, texts };
  const output =
    outputSchema === undefined ? undefined : soundSchema(outputSchema, 'output', engine);
  const description = cleanText(typeof told === 'string' ? told : '', LONGEST_DESCRIPTION);
  const capabilities = labelsIn([raw.capabilities].flat().slice(0, MOST_CAPABILITIES));

  const auth = mergeAuth(raw, server.auth);
  const changes = [
    ...auth.changes,
    ...(output && 'refused' in output ? [`its output schema was dropped: ${output.refused}`] : []),
  ];
  const options: Omit<ToolOptions, 'inputSchema' | 'outputSchema'> = {
    name: named.name,
    description:
      server.describe ||
      description ||
      `MCP tool '${quoted(toolName.trim()).slice(1, -1)}' from server '${server.name || 'default'}'`,
    version: labelOf(raw.version) ?? server.overrides.version ?? '1.0.0',
    ...mergeAxes(annotations, server),
    timeoutMs: server.timeoutMs,
    auth: auth.auth,
    ...(capabilities.length > 0 && { capabilities }),
    ...allowlistOf(raw, server),
    providers: [{ name: 'mcp', config: { server: server.name, tool: toolName } }],
    metadata: metadataOf(raw),
  };
  // The schemas are already frozen. Copies would lose their mark as foreign schemas.
  const schemas = {
    inputSchema: input.schema,
    ...(output && 'schema' in output && { outputSchema: output.schema }),
  };
  return Object.freeze({
    name: named.name,
    toolName,
    options: Object.freeze({ ...cloneFrozen(options), ...schemas }),
    changes: Object.freeze(changes),
    texts,
  });
}

/**
 * Returns the personas that are both in the settings' lists and in the tool's own. A value that
 * isn't a list allows nobody.
 */
function allowlistOf(
  { persona_allowlist: own, personaAllowlist: alias }: Raw,
  { persona, personaAllowlist }: McpServerSettings,
): Pick<ToolOptions, 'personaAllowlist'> {
  const configured = [own, alias]
    .filter((list) => list !== undefined)
    .map((list) =>
      Array.isArray(list) ? labelsIn((list as readonly Json[]).slice(0, LIMITS.listLength)) : [],
    );
  const lists = [
    ...(persona ? [[persona]] : []),
    ...(personaAllowlist ? [personaAllowlist] : []),
    ...configured,
  ];
  const [first, ...others] = lists;
  if (first === undefined) return {};
  const isAllowed = (each: string) => others.every((list) => allowsPersona(list, each));
  return { personaAllowlist: [...new Set(first)].filter(isAllowed) };
}

function readDefinition(
  tool: unknown,
):
  | { readonly raw: Raw; readonly toolName: string }
  | { readonly refused: string; readonly toolName?: string } {
  let toolName: string | undefined;
  try {
    if (!isPlainObject(tool))
      return { refused: expectedGot('a tool as an object', describeValue(tool)) };
    const name: unknown = Object.hasOwn(tool, 'name') ? tool['name'] : undefined;
    if (typeof name !== 'string') return { refused: 'The tool has no name.' };
    toolName = name;
    const picked = FIELDS.filter((field) => Object.hasOwn(tool, field) && tool[field] !== null).map(
      (field) => [field, tool[field]] as const,
    );
    return { raw: boundInput({ ...Object.fromEntries(picked), name }) as Raw, toolName };
  } catch (error) {
    const refused = isToolError(error, 'LIMIT_EXCEEDED')
      ? 'The definition is larger than 256 KiB or more than 64 levels deep.'
      : "The definition isn't plain data.";
    return { refused, ...without({ toolName }) };
  }
}

function metadataOf(raw: Raw): Readonly<Record<string, unknown>> {
  const { title, annotations } = raw;
  const hints = isPlainObject(annotations)
    ? Object.entries(annotations)
        .filter(([, hint]) => typeof hint === 'boolean')
        .slice(0, MOST_HINTS)
    : [];
  const shown = [title, isPlainObject(annotations) ? annotations['title'] : undefined]
    .map(labelOf)
    .find((each) => each !== undefined);
  return {
    ...without({ title: shown }),
    mcp: hints.length > 0 ? { annotations: Object.fromEntries(hints) } : {},
  };
}

/** Returns the short texts in a list. */
function labelsIn(list: readonly unknown[]): readonly string[] {
  return [...new Set(list.map(labelOf))].filter((each) => each !== undefined);
}

/** The defaults for tools of MCP servers. They result in mixed access and high danger. */
const DEFAULTS = Object.freeze({
  sideEffects: SideEffect.NETWORK,
  allowParallel: false,
  requiresConsent: true,
  idempotencyKey: false,
  reads: ['untrusted'] as const,
  sends: 'outside' as const,
});

/**
 * Returns the safety metadata for a server's tool. Settings override hints, and hints override the
 * defaults.
 *
 * If the settings contain side effects or an access mode, hints can only tighten them, even hints
 * from a trusted server.
 */
function mergeAxes(
  annotations: unknown,
  { trusted, overrides }: Pick<McpServerSettings, 'trusted' | 'overrides'>,
): AnnotatedAxes {
  const { version: _, ...said } = overrides;
  const open = said.sideEffects === undefined && said.accessMode === undefined;
  const { accessMode, ...hints } = axesFromAnnotations(annotations, { trusted: trusted && open });
  const merged = { ...DEFAULTS, ...hints, ...said };
  if (accessMode === undefined || merged.accessMode !== undefined) return merged;
  // If the settings already say that the tool writes, the hint adds nothing.
  const known =
    accessMode === AccessMode.MIXED && accessOf(merged.sideEffects) !== AccessMode.READONLY;
  return known ? merged : { ...merged, accessMode };
}

function accessOf(effects: SideEffect | readonly SideEffect[]): AccessMode {
  return inferAxes({
    name: '',
    description: '',
    sideEffects: typeof effects === 'string' ? [effects] : [...effects],
  }).axes.accessMode;
}

/** Values that servers use for "no". */
const NO = new Set<unknown>([false, '', '0', 'false', 'no', 0]);

/** A tool's hint that it needs credentials. */
interface AuthHint {
  readonly isRequired: boolean;
  /** Says how a value that isn't true or false is read. */
  readonly change?: string;
}

function authHint(field: string, value: unknown): AuthHint[] {
  if (value === undefined || value === null) return [];
  const isRequired = !NO.has(typeof value === 'string' ? value.trim().toLowerCase() : value);
  if (typeof value === 'boolean') return [{ isRequired }];
  const advice = `It counts as ${isRequired}.`;
  const change = expectedGot(`true or false in "${field}"`, describeValue(value), advice);
  return [{ isRequired, change }];
}

/**
 * Returns the credentials that a caller needs: those from the server's settings, and any that the
 * tool adds.
 *
 * Credentials are required if the settings or the tool say so. Scopes in the settings also require
 * credentials, unless the settings say that none are required. The tool's scopes only do so if
 * neither the settings nor the tool say anything about it. A tool can't remove requirements from
 * the settings, and only the settings can specify environment variables. A hint that isn't true or
 * false means yes, unless it's in the list `NO`.
 */
function mergeAuth(
  tool: Raw,
  server: McpServerAuth | undefined,
): { readonly auth: ToolAuth; readonly changes: readonly string[] } {
  const own: Readonly<Record<string, unknown>> =
    ([tool.auth, tool.authentication] as readonly unknown[]).find(isPlainObject) ?? {};
  const hints = [
    ...authHint('requires_authentication', tool.requires_authentication),
    ...authHint('auth.required', own['required']),
  ];
  const { scopes: needed = [], required: asked, type: usual, env: named = {} } = server ?? {};
  const written = own['scopes'] ?? own['scope'];
  const words =
    typeof written === 'string' ? written.split(/\s+/) : Array.isArray(written) ? written : [];
  const scopes = labelsIn(words.slice(0, LIMITS.listLength - needed.length) as readonly unknown[]);
  const isImplied = needed.length > 0 || (scopes.length > 0 && hints.length === 0);
  const required = (asked ?? isImplied) || hints.some(({ isRequired }) => isRequired);
  const type = labelOf(own['type']) ?? labelOf(own['scheme']) ?? usual;
  const variables = [...new Set(Object.values(named))];
  // One of several variables may be enough.
  const need = required && variables.length === 1 ? 'required' : 'optional';
  const all = [...new Set([...scopes, ...needed])];
  const env = Object.fromEntries(variables.map((name) => [name, need] as const));
  return {
    auth: without({
      ...{ required, type },
      scopes: all.length > 0 ? all : undefined,
      env: variables.length > 0 ? env : undefined,
    }),
    changes: hints.flatMap(({ change }) => change ?? []),
  };
}
