import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { findDefinitions } from '../tool/find-definitions.js';
import { isToolDefinition, type ToolEntry } from '../tool/tool-definition.js';

/**
 * Maps names and aliases to entries.
 *
 * A tool's own name always takes precedence over another tool's alias. If several tools share an
 * alias (which requires `replace`), the most recently registered tool has it. When that tool is
 * removed, the alias goes back to the previous tool.
 */
export class NameTable {
  readonly #entries = new Map<string, ToolEntry>();
  readonly #aliases = new Map<string, ToolEntry[]>();

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the entries in registration order. */
  entries(): IterableIterator<ToolEntry> {
    return this.#entries.values();
  }

  /**
   * Returns the tool with this name (not an alias). @throws ToolError `INVALID_ARGUMENT` if a tool
   * is passed instead of its name.
   */
  named(name: string): ToolEntry | undefined {
    return this.#entries.get(name) ?? assertName(name);
  }

  /**
   * Returns the tool with this name or alias. @throws ToolError `INVALID_ARGUMENT` if a tool is
   * passed instead of its name.
   */
  resolve(name: string): ToolEntry | undefined {
    return this.#entries.get(name) ?? this.#aliases.get(name)?.at(-1) ?? assertName(name);
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  add(entry: ToolEntry): void {
    this.#entries.set(entry.name, entry);
    for (const alias of entry.aliases) {
      const owners = this.#aliases.get(alias);
      if (owners === undefined) this.#aliases.set(alias, [entry]);
      else owners.push(entry);
    }
  }

  remove(entry: ToolEntry): void {
    this.#entries.delete(entry.name);
    for (const alias of entry.aliases) {
      const left = (this.#aliases.get(alias) ?? []).filter((owner) => owner !== entry);
      if (left.length === 0) this.#aliases.delete(alias);
      else this.#aliases.set(alias, left);
    }
  }

  /**
   * Checks that new entries don't conflict with the table or with each other.
   *
   * @throws ToolError `DUPLICATE_TOOL` with the first conflict and the tool that already has the
   * name.
   */
  assertFree(added: readonly ToolEntry[]): void {
    const batch = new Map<string, string>();
    for (const entry of added) {
      const names = new Set([entry.name, ...entry.aliases]);
      for (const name of names) {
        const owner = this.resolve(name)?.name ?? batch.get(name);
        if (owner === undefined) continue;
        const who =
          owner === entry.name
            ? `The name "${name}" is already taken`
            : `The name "${name}" of tool "${entry.name}" is already taken by tool "${owner}"`;
        throw new ToolError(
          'DUPLICATE_TOOL',
          `${who}. Register each tool once, rename one of them, or pass {replace: true}.`,
          {
            details: { name, tool: entry.name, takenBy: owner },
          },
        );
      }
      for (const name of names) batch.set(name, entry.name);
    }
  }
}

/**
 * Throws if a tool was passed instead of its name. Any other value is treated as an unknown name.
 */
function assertName(value: unknown): undefined {
  const names =
    typeof value === 'function' || (typeof value === 'object' && value !== null)
      ? namesOf(value)
      : [];
  if (names.length === 0) return;
  const advice = `Pass ${names.length === 1 ? 'its name' : 'one of its names'}: ${names
    .slice(0, 3)
    .map((name) => JSON.stringify(name))
    .join(' or ')}.`;
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot('the name of a tool', 'the tool itself', advice),
  );
}

/**
 * Returns the names of the tools in a value, which can be a registry entry, a definition, or a
 * class.
 */
function namesOf(value: object): readonly string[] {
  try {
    const { definition } = value as { readonly definition?: unknown };
    return findDefinitions(isToolDefinition(definition) ? definition : value).map(
      ({ name }) => name,
    );
  } catch {
    return []; // The value isn't a tool, or it's a hostile proxy.
  }
}
