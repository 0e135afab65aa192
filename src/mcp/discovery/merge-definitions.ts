import { AccessMode, SideEffect } from '../../core/enums.js';
import { conflictingCategories, dangerRank } from '../../core/enum-order.js';
import { canonicalJson, isPlainObject } from '../../core/plain-data.js';
import { allowsPersona } from '../../capability/manifest/persona.js';
import { isForeign } from '../../json-schema/compile-json-schema.js';
import { strictest } from '../../tool/metadata/infer-metadata.js';
import type { ToolAuth, ToolOptions } from '../../tool/metadata/tool-options.js';
import { defineTool, entryOf, type ToolDefinition } from '../../tool/tool-definition.js';

/** Returns true for a tool without a function whose input only a server describes: any object is accepted, or what a server said before. */
export function takesServedSchema({ inputSchema, execute }: ToolDefinition): boolean {
  return execute === undefined && !('~standard' in inputSchema) && (isForeign(inputSchema) || canonicalJson(inputSchema) === '{"type":"object"}');
}

/**
 * Joins a declared tool with the server's tool that answers its calls.
 *
 * Of the same name they are one tool: the handler and the schemas are the server's, the words are the declared ones where
 * there are any, and of two statements about safety the stricter counts. A declared tool of another name keeps all that it
 * says, and takes the server's schema where it describes no input.
 *
 * @param requiresConsent true when the server's tool is no longer the one for which the declared tool was made.
 */
export function mergeDefinitions(declared: ToolDefinition, served: ToolDefinition, requiresConsent: boolean): ToolDefinition {
  const isSame = declared.name === served.name && declared.execute === undefined;
  const base = isSame ? served.metadata : undefined;
  const said: Record<string, unknown> = {
    ...declared,
    // A joined tool has another digest as soon as the server's has.
    metadata: { ...base, ...declared.metadata, mcp: { ...mcpOf(base), ...mcpOf(declared.metadata), judgedWith: entryOf(served).digest } },
  };
  if (isSame) Object.assign(said, { ...served, ...said, ...stricter(declared, served), execute: served.execute, inputSchema: served.inputSchema, outputSchema: served.outputSchema ?? declared.outputSchema });
  else if (takesServedSchema(declared)) Object.assign(said, { inputSchema: served.inputSchema, outputSchema: declared.outputSchema ?? served.outputSchema });
  if (requiresConsent) said['requiresConsent'] = true;
  return defineTool(said as unknown as ToolDefinition);
}

function mcpOf(metadata: ToolOptions['metadata']): object {
  const mcp = metadata?.['mcp'];
  return isPlainObject(mcp) ? mcp : {};
}

/** Returns the stricter of what both say of safety: the declared tool may tighten what is known of the server's. */
function stricter(declared: ToolDefinition, served: ToolDefinition): { readonly [Option in keyof ToolOptions]?: ToolOptions[Option] | undefined } {
  const [own, theirs] = [entryOf(declared), entryOf(served)];
  const saysAccess = declared.accessMode !== undefined || declared.executionCategory !== undefined || own.sideEffects.length > 0;
  const accessMode = saysAccess ? strictest(own.accessMode, theirs.accessMode) : theirs.accessMode;
  const isMoreDangerous = (saysAccess || declared.dangerLevel !== undefined) && dangerRank(own.dangerLevel) > dangerRank(theirs.dangerLevel);
  const isMoreAlone = saysAccess && conflictingCategories(own.executionCategory).length > conflictingCategories(theirs.executionCategory).length;
  return {
    accessMode,
    dangerLevel: isMoreDangerous ? own.dangerLevel : theirs.dangerLevel,
    executionCategory: isMoreAlone ? own.executionCategory : theirs.executionCategory,
    sideEffects: bothEffects(own.sideEffects, theirs.sideEffects),
    requiresConsent: own.requiresConsent || theirs.requiresConsent,
    allowParallel: theirs.allowParallel && declared.allowParallel !== false && accessMode === theirs.accessMode,
    idempotencyKey: theirs.idempotencyKey === true && declared.idempotencyKey !== false,
    cacheTtlMs: accessMode === AccessMode.READONLY ? declared.cacheTtlMs : undefined,
    auth: bothAuth(declared.auth, served.auth),
    personaAllowlist: bothPersonas(declared.personaAllowlist, served.personaAllowlist),
  };
}

function bothEffects(own: readonly SideEffect[], theirs: readonly SideEffect[]): readonly SideEffect[] {
  const all = [...new Set([...theirs, ...own])];
  const real = all.filter((effect) => effect !== SideEffect.NONE);
  return real.length > 0 ? real : all;
}

function bothPersonas(own: readonly string[] | undefined, theirs: readonly string[] | undefined): readonly string[] | undefined {
  return own === undefined || theirs === undefined ? (own ?? theirs) : own.filter((persona) => allowsPersona(theirs, persona));
}

function bothAuth(own: ToolAuth | undefined, theirs: ToolAuth | undefined): ToolAuth | undefined {
  if (own === undefined || theirs === undefined) return own ?? theirs;
  const env = Object.entries({ ...theirs.env, ...own.env }).map(([name, need]) => [name, theirs.env?.[name] === 'required' ? 'required' : need] as const);
  return { ...theirs, ...own, required: own.required || theirs.required, scopes: [...new Set([...(theirs.scopes ?? []), ...(own.scopes ?? [])])], env: Object.fromEntries(env) };
}
