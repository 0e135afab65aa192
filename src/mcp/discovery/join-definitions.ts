import { allowsPersona } from '../../core/persona.js';
import { conflictingCategories, dangerRank, strictest } from '../../core/enum-order.js';
import { AccessMode, SideEffect } from '../../core/enums.js';
import { canonicalJson } from '../../core/plain-data.js';
import { isForeign } from '../../json-schema/compile-json-schema.js';
import type { ToolAuth, ToolOptions, ToolProvider } from '../../tool/tool-options.js';
import { definitionOf, entryOf, type ToolDefinition } from '../../tool/tool-definition.js';

/** The program's part of each joined tool. */
const declaredParts = new WeakMap<ToolDefinition, ToolDefinition>();

/**
 * Returns the part of a joined tool that the program declared, or `undefined` if the tool wasn't
 * joined.
 */
export function declaredPart(joined: ToolDefinition): ToolDefinition | undefined {
  return declaredParts.get(joined);
}

/** Returns the provider named `mcp`. */
export function mcpProviderOf(providers: readonly ToolProvider[]): ToolProvider | undefined {
  return providers.find(({ name }) => name === 'mcp');
}

/** Returns the digest of the server's tool that answers a definition's calls. */
export function digestIn({ providers = [] }: ToolDefinition): string | undefined {
  const digest = mcpProviderOf(providers)?.config?.['digest'];
  return typeof digest === 'string' ? digest : undefined;
}

/**
 * Returns true for a tool that has no function and leaves the description of its input to the
 * server.
 */
export function takesServedSchema({ inputSchema, execute }: ToolDefinition): boolean {
  return (
    execute === undefined &&
    !('~standard' in inputSchema) &&
    (isForeign(inputSchema) || canonicalJson(inputSchema) === '{"type":"object"}')
  );
}

/**
 * Joins a declared tool with the server's tool that answers its calls.
 *
 * Two tools with the same name become one: the server provides the handler and schemas, the
 * declaration overrides the texts, and the stricter safety metadata wins. A declared tool with a
 * different name keeps its metadata, and takes the server's schema if it describes no input. The
 * provider `mcp` contains the digest of the server's tool, so calls can't reach any other tool.
 *
 * @param requiresConsent True if the server's tool has changed since the declaration was made for
 * it.
 */
export function joinDefinitions(
  declared: ToolDefinition,
  served: ToolDefinition,
  requiresConsent: boolean,
): ToolDefinition {
  const isSame = declared.name === served.name && declared.execute === undefined;
  const said: Record<string, unknown> = isSame
    ? {
        ...served,
        ...declared,
        ...stricter(declared, served),
        execute: served.execute,
        inputSchema: served.inputSchema,
        outputSchema: served.outputSchema ?? declared.outputSchema,
        metadata: { ...served.metadata, ...declared.metadata },
      }
    : { ...declared };
  if (!isSame && takesServedSchema(declared)) {
    said['inputSchema'] = served.inputSchema;
    said['outputSchema'] = declared.outputSchema ?? served.outputSchema;
  }
  const digest = digestIn(served);
  const { providers = served.providers ?? [] } = declared;
  const answering = mcpProviderOf(providers);
  said['providers'] = providers.map((provider) =>
    provider === answering && digest !== undefined
      ? { ...provider, config: { ...provider.config, digest } }
      : provider,
  );
  if (requiresConsent) said['requiresConsent'] = true;
  const joined = definitionOf(said as unknown as ToolDefinition);
  declaredParts.set(joined, declared);
  return joined;
}

/**
 * Returns the stricter safety metadata of the two, because a declared tool may only tighten the
 * server's.
 */
function stricter(
  declared: ToolDefinition,
  served: ToolDefinition,
): { readonly [Option in keyof ToolOptions]?: ToolOptions[Option] | undefined } {
  const [own, theirs] = [entryOf(declared), entryOf(served)];
  const saysAccess =
    declared.accessMode !== undefined ||
    declared.executionCategory !== undefined ||
    own.sideEffects.length > 0;
  const accessMode = saysAccess ? strictest(own.accessMode, theirs.accessMode) : theirs.accessMode;
  const isMoreDangerous =
    (saysAccess || declared.dangerLevel !== undefined) &&
    dangerRank(own.dangerLevel) > dangerRank(theirs.dangerLevel);
  const isMoreAlone =
    saysAccess &&
    conflictingCategories(own.executionCategory).length >
      conflictingCategories(theirs.executionCategory).length;
  return {
    accessMode,
    dangerLevel: isMoreDangerous ? own.dangerLevel : theirs.dangerLevel,
    executionCategory: isMoreAlone ? own.executionCategory : theirs.executionCategory,
    sideEffects: bothEffects(own.sideEffects, theirs.sideEffects),
    requiresConsent: own.requiresConsent || theirs.requiresConsent,
    allowParallel:
      theirs.allowParallel && declared.allowParallel !== false && accessMode === theirs.accessMode,
    idempotencyKey: theirs.idempotencyKey === true && declared.idempotencyKey !== false,
    cacheTtlMs: accessMode === AccessMode.READONLY ? declared.cacheTtlMs : undefined,
    auth: bothAuth(declared.auth, served.auth),
    personaAllowlist: bothPersonas(declared.personaAllowlist, served.personaAllowlist),
  };
}

function bothEffects(
  own: readonly SideEffect[],
  theirs: readonly SideEffect[],
): readonly SideEffect[] {
  const all = [...new Set([...theirs, ...own])];
  const real = all.filter((effect) => effect !== SideEffect.NONE);
  return real.length > 0 ? real : all;
}

function bothPersonas(
  own: readonly string[] | undefined,
  theirs: readonly string[] | undefined,
): readonly string[] | undefined {
  return own === undefined || theirs === undefined
    ? (own ?? theirs)
    : own.filter((persona) => allowsPersona(theirs, persona));
}

function bothAuth(own: ToolAuth | undefined, theirs: ToolAuth | undefined): ToolAuth | undefined {
  if (own === undefined || theirs === undefined) return own ?? theirs;
  const env = Object.entries({ ...theirs.env, ...own.env }).map(
    ([name, need]) => [name, theirs.env?.[name] === 'required' ? 'required' : need] as const,
  );
  return {
    ...theirs,
    ...own,
    required: own.required || theirs.required,
    scopes: [...new Set([...(theirs.scopes ?? []), ...(own.scopes ?? [])])],
    env: Object.fromEntries(env),
  };
}
