import { allowsPersona } from '../../capability/manifest/persona.js';
import { conflictingCategories, dangerRank } from '../../core/enum-order.js';
import { AccessMode, SideEffect } from '../../core/enums.js';
import { ToolError } from '../../core/errors.js';
import { canonicalJson, isPlainObject, type Json } from '../../core/plain-data.js';
import { withoutSecrets } from '../../core/public-message.js';
import { isForeign } from '../../json-schema/compile-json-schema.js';
import { checkInput } from '../../tool/check-input.js';
import { FUNCTION_OPTIONS } from '../../tool/tool-fields.js';
import { strictest } from '../../tool/infer-metadata.js';
import type { ToolAuth, ToolOptions } from '../../tool/tool-options.js';
import {
  definitionOf,
  entryOf,
  withRenewal,
  type ToolDefinition,
} from '../../tool/tool-definition.js';
import { labelOf } from '../connection/server-answers.js';
import { diffDefinitions, type DefinitionChange } from '../pins/definition-changes.js';
import { cleanText, quoted } from '../translate/foreign-text.js';

/** Tools of one server, and tools of the program that call them, that are remembered. */
const MOST_REMEMBERED = 10_000;
const MOST_CHANGES = 16;
const LONGEST_TEXT = 200;

/** The definition by which a call was judged: a tool of the server as it was listed, or the digest of any tool. */
export type JudgedBy = ToolDefinition | string | undefined;

/**
 * Remembers by which definitions of one server's tools calls were judged, so that no other definition is called.
 *
 * A tool of the program that names the server's tool as its provider was judged with the only definition that was listed
 * so far, or with which it was joined first. Once that has changed, the program's tool requires consent.
 */
export class JudgedDefinitions {
  readonly #server: string;
  /** The definitions that were listed and are still in use somewhere, by their entry's digest. */
  readonly #listed = new Map<string, WeakRef<ToolDefinition>>();
  /** The first definition of each of the server's tools, and whether it ever had another. */
  readonly #first = new Map<
    string,
    { readonly definition: ToolDefinition; readonly isOnly: boolean }
  >();
  /** The definitions with which tools of the program were judged since, by the digest of those tools and the server's tool. */
  readonly #judgedWith = new Map<string, ToolDefinition>();
  /** The definitions with which tools of the program were joined first, by the same key. */
  readonly #joinedFirst = new Map<string, ToolDefinition>();
  /** The joined tools of each definition, by the same key. */
  readonly #joined = new WeakMap<ToolDefinition, Map<string, ToolDefinition>>();
  /** The program's part of joined tools. */
  readonly #declared = new WeakMap<ToolDefinition, ToolDefinition>();
  readonly #isPinned: boolean;

  /** @param isPinned true when pins judge the server's definitions: tools of the program need not. */
  constructor(server: string, isPinned: boolean) {
    this.#server = server;
    this.#isPinned = isPinned;
  }

  /** Takes note of what the server lists now. */
  note(tools: Iterable<readonly [toolName: string, definition: ToolDefinition]>): void {
    for (const [digest, definition] of this.#listed)
      if (definition.deref() === undefined) this.#listed.delete(digest);
    for (const [toolName, definition] of tools) {
      this.#listed.set(entryOf(definition).digest, new WeakRef(definition));
      const first = this.#first.get(toolName);
      if (first === undefined && this.#first.size < MOST_REMEMBERED)
        this.#first.set(toolName, { definition, isOnly: true });
      // It is not known under which of several a tool of the program was written: the server must not choose by going back to one.
      if (first?.isOnly === true && entryOf(first.definition).digest !== entryOf(definition).digest)
        this.#first.set(toolName, { ...first, isOnly: false });
    }
  }

  /** Joins a tool of the program with the server's tool for which it stands; equal parts give the same object. */
  join(declared: ToolDefinition, toolName: string, served: ToolDefinition): ToolDefinition {
    const key = keyOf(declared, toolName);
    const known = this.#joined.get(served)?.get(key);
    // Digests say nothing of functions.
    if (
      known !== undefined &&
      FUNCTION_OPTIONS.every((option) => known[option] === declared[option])
    )
      return known;
    const first = this.#joinedFirst.get(key) ?? served;
    const joined = mergeDefinitions(
      declared,
      served,
      !this.#isPinned && entryOf(first).digest !== entryOf(served).digest,
    );
    remember(this.#joinedFirst, key, first);
    remember(this.#judgedWith, keyOf(joined, toolName), served);
    this.#declared.set(joined, declared);
    const all = this.#joined.get(served) ?? new Map<string, ToolDefinition>();
    this.#joined.set(served, all);
    remember(all, key, joined);
    return joined;
  }

  /**
   * Lets a call pass whose tool is the one that it was judged by, if the server's schema accepts its arguments.
   *
   * @throws ToolError `TOOL_CHANGED` saying what changed; `INVALID_INPUT` for a tool of the program with a schema of its own.
   */
  assertCurrent(toolName: string, now: ToolDefinition, by: JudgedBy, input: unknown): void {
    const digest = typeof by === 'object' ? entryOf(by).digest : by;
    if (digest === undefined || digest === entryOf(now).digest) return;
    const known =
      typeof by === 'object'
        ? by
        : (this.#listed.get(digest)?.deref() ?? this.#judgedWith.get(`${digest} ${toolName}`));
    const first = this.#first.get(toolName);
    const before =
      known ?? (this.#isPinned ? now : first?.isOnly === true ? first.definition : undefined);
    if (before === undefined || entryOf(before).digest !== entryOf(now).digest)
      throw this.#changed(toolName, before ?? first?.definition, now);
    const check = checkInput(entryOf(now), asSent(input));
    if (!(check instanceof Promise) && !check.ok)
      throw withRenewal(check.error, (judged) =>
        takesServedSchema(judged) ? this.join(judged, toolName, now) : undefined,
      );
  }

  #changed(toolName: string, before: ToolDefinition | undefined, now: ToolDefinition): ToolError {
    const changes = before === undefined ? [] : diffDefinitions(dataOf(before), dataOf(now));
    const changed = [...new Set(changes.map(fieldOf))];
    const what = changed.length === 0 ? '' : ` (${changed.join(', ')} changed)`;
    const message = `Expected the tool ${quoted(toolName)} of ${labelOf(this.#server)} as it was when the call was judged, got another definition${what}. Nothing was sent; call it again, and it is judged by its definition now.`;
    const details = {
      tool: cleanText(toolName, LONGEST_TEXT).text,
      changed,
      changes: changes.slice(0, MOST_CHANGES).map(shown),
    };
    return withRenewal(new ToolError('TOOL_CHANGED', message, { details }), (judged) =>
      this.#renewed(judged, toolName, now),
    );
  }

  #renewed(judged: ToolDefinition, toolName: string, now: ToolDefinition): ToolDefinition {
    if (this.#listed.has(entryOf(judged).digest)) return now;
    const declared = this.#declared.get(judged);
    if (declared !== undefined) return this.join(declared, toolName, now);
    const renewed = mergeDefinitions(judged, now, true);
    remember(this.#judgedWith, keyOf(renewed, toolName), now);
    return renewed;
  }
}

function remember(
  known: Map<string, ToolDefinition>,
  key: string,
  definition: ToolDefinition,
): void {
  known.set(key, definition);
  if (known.size > MOST_REMEMBERED) known.delete(known.keys().next().value!);
}

function keyOf(declared: ToolDefinition, toolName: string): string {
  return `${entryOf(declared).digest} ${toolName}`;
}

/** Returns the arguments as the server gets them: a schema of the program may have made dates and the like of them. */
function asSent(input: unknown): unknown {
  return JSON.parse(JSON.stringify(input ?? {}));
}

function dataOf({ execute: _, ...data }: ToolDefinition): Json {
  return data as unknown as Json;
}

/** Returns the field of a definition, in the words of the protocol. */
function fieldOf({ path }: DefinitionChange): string {
  const [, field = '', ...below] = path.split('/');
  if (field !== 'metadata') return field;
  return below[0] === 'mcp' ? (below[1] ?? field) : (below[0] ?? field);
}

/** Returns a change as operators may read it: short, with nothing hidden. */
function shown({ path, before, after }: DefinitionChange): Readonly<Record<string, string>> {
  return {
    path: visible(path),
    ...(before === undefined ? {} : { before: visible(before) }),
    ...(after === undefined ? {} : { after: visible(after) }),
  };
}

function visible(value: Json): string {
  const text = typeof value === 'string' ? value : canonicalJson(value);
  return cleanText(
    withoutSecrets(text.slice(0, 8 * LONGEST_TEXT).replace(/\s+/g, ' ')),
    LONGEST_TEXT,
  ).text;
}

/** Returns true for a tool without a function whose input only a server describes: any object is accepted, or what a server said before. */
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
 * Two of the same name are one tool: the handler and the schemas are the server's, the words are the declared ones where
 * there are any, and of two statements about safety the stricter counts. A declared tool of another name keeps all that it
 * says, and takes the server's schema where it describes no input.
 *
 * @param requiresConsent true when the server's tool is no longer the one for which the declared tool was made.
 */
export function mergeDefinitions(
  declared: ToolDefinition,
  served: ToolDefinition,
  requiresConsent: boolean,
): ToolDefinition {
  const isSame = declared.name === served.name && declared.execute === undefined;
  const base = isSame ? served.metadata : undefined;
  const said: Record<string, unknown> = {
    ...declared,
    // A joined tool has another digest as soon as the server's has.
    metadata: {
      ...base,
      ...declared.metadata,
      mcp: { ...mcpOf(base), ...mcpOf(declared.metadata), judgedWith: entryOf(served).digest },
    },
  };
  if (isSame)
    Object.assign(said, {
      ...served,
      ...said,
      ...stricter(declared, served),
      execute: served.execute,
      inputSchema: served.inputSchema,
      outputSchema: served.outputSchema ?? declared.outputSchema,
    });
  else if (takesServedSchema(declared))
    Object.assign(said, {
      inputSchema: served.inputSchema,
      outputSchema: declared.outputSchema ?? served.outputSchema,
    });
  if (requiresConsent) said['requiresConsent'] = true;
  return definitionOf(said as unknown as ToolDefinition);
}

function mcpOf(metadata: ToolOptions['metadata']): object {
  const mcp = metadata?.['mcp'];
  return isPlainObject(mcp) ? mcp : {};
}

/** Returns the stricter of what both say of safety: the declared tool may tighten what is known of the server's. */
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
