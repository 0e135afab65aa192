import { canonicalJson, isPlainObject, type Json } from '../../core/plain-data.js';
import { withoutSecrets } from '../../core/public-message.js';
import { defineTool, entryOf, type ToolDefinition } from '../../tool/tool-definition.js';
import { toolChanged } from '../../tool/tool-changed.js';
import { labelOf } from '../connection/connection-error.js';
import { diffDefinitions, type DefinitionChange } from '../pins/diff-definitions.js';
import { cleanText, quoted } from '../translate/foreign-text.js';

/** Tools of one server, and tools of the program that call them, that are remembered. */
const MOST_REMEMBERED = 10_000;
const MOST_CHANGES = 16;
const LONGEST_TEXT = 200;

/** By what a call was judged: a tool of the server as it was listed, or the digest of any tool. */
export type JudgedBy = ToolDefinition | string | undefined;

/**
 * Remembers by which definitions of one server's tools calls were judged, so that no other definition is called.
 *
 * A tool of the program that names the server's tool as its provider was judged with the definition that was listed
 * first. Once that has changed, the program's tool requires consent.
 */
export class JudgedDefinitions {
  readonly #server: string;
  /** Every definition that was listed and is still in use somewhere, by its entry's digest. */
  readonly #listed = new Map<string, WeakRef<ToolDefinition>>();
  /** The first definition of each of the server's tools. */
  readonly #first = new Map<string, ToolDefinition>();
  /** The definitions with which tools of the program were judged again, by the digest of those tools and the server's tool. */
  readonly #judgedAgain = new Map<string, ToolDefinition>();

  constructor(server: string) {
    this.#server = server;
  }

  /** Takes note of what the server lists now. */
  note(tools: Iterable<readonly [toolName: string, definition: ToolDefinition]>): void {
    for (const [digest, definition] of this.#listed) if (definition.deref() === undefined) this.#listed.delete(digest);
    for (const [toolName, definition] of tools) {
      this.#listed.set(entryOf(definition).digest, new WeakRef(definition));
      if (!this.#first.has(toolName) && this.#first.size < MOST_REMEMBERED) this.#first.set(toolName, definition);
    }
  }

  /**
   * Lets a call pass whose tool is the one that it was judged by.
   *
   * @param isPinned somebody else judges the server's definitions: tools of the program need not.
   * @throws ToolError `TOOL_CHANGED` saying what changed.
   */
  assertCurrent(toolName: string, now: ToolDefinition, by: JudgedBy, isPinned: boolean): void {
    const digest = typeof by === 'object' ? entryOf(by).digest : by;
    if (digest === undefined || digest === entryOf(now).digest) return;
    const listed = typeof by === 'object' ? by : this.#listed.get(digest)?.deref();
    if (listed === undefined && isPinned) return;
    const before = listed ?? this.#judgedAgain.get(keyOf(digest, toolName)) ?? this.#first.get(toolName);
    if (before !== undefined && entryOf(before).digest === entryOf(now).digest) return;
    const changes = before === undefined ? [] : diffDefinitions(dataOf(before), dataOf(now));
    const changed = [...new Set(changes.map(fieldOf))];
    const what = changed.length === 0 ? '' : ` (${changed.join(', ')} changed)`;
    const message = `Expected the tool ${quoted(toolName)} of ${labelOf(this.#server)} as it was when the call was judged, got another definition${what}. Nothing was sent; call it again, and it is judged by its definition now.`;
    throw toolChanged(message, { tool: cleanText(toolName, LONGEST_TEXT).text, changed, changes: changes.slice(0, MOST_CHANGES).map(shown) }, (judged) => this.#renewed(judged, toolName, now));
  }

  #renewed(judged: ToolDefinition, toolName: string, now: ToolDefinition): ToolDefinition | undefined {
    if (this.#listed.has(entryOf(judged).digest)) return now;
    const { mcp } = (judged.metadata ?? {}) as { mcp?: unknown };
    const metadata = { ...judged.metadata, mcp: { ...(isPlainObject(mcp) ? mcp : {}), judgedWith: entryOf(now).digest } };
    const renewed = defineTool({ ...judged, requiresConsent: true, metadata });
    this.#judgedAgain.set(keyOf(entryOf(renewed).digest, toolName), now);
    if (this.#judgedAgain.size > MOST_REMEMBERED) this.#judgedAgain.delete(this.#judgedAgain.keys().next().value!);
    return renewed;
  }
}

function keyOf(digest: string, toolName: string): string {
  return `${digest} ${toolName}`;
}

function dataOf({ execute: _, ...data }: ToolDefinition): Json {
  return data as unknown as Json;
}

/** The field of a definition, in the words of the protocol. */
function fieldOf({ path }: DefinitionChange): string {
  const [, field = '', ...below] = path.split('/');
  if (field !== 'metadata') return field;
  return below[0] === 'mcp' ? (below[1] ?? field) : (below[0] ?? field);
}

/** A change as operators may read it: short, with nothing hidden. */
function shown({ path, before, after }: DefinitionChange): Readonly<Record<string, string>> {
  return { path: visible(path), ...(before === undefined ? {} : { before: visible(before) }), ...(after === undefined ? {} : { after: visible(after) }) };
}

function visible(value: Json): string {
  const text = typeof value === 'string' ? value : canonicalJson(value);
  return cleanText(withoutSecrets(text.slice(0, 8 * LONGEST_TEXT).replace(/\s+/g, ' ')), LONGEST_TEXT).text;
}
