import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { aFunction, type FieldsOf } from '../../core/options.js';
import { describeValue } from '../../core/plain-data.js';
import type { SelectedTool, Selection } from '../../selection/selection.js';
import {
  findDefinitions,
  type ResolveInstance,
  type ToolSource,
} from '../../tool/find-definitions.js';
import {
  highestLevel,
  renderTool,
  SCHEMA_LEVELS,
  type RenderedTool,
  type SchemaLevel,
} from '../../tool/render-tool.js';
import { entryOf, isToolDefinition, type ToolEntry } from '../../tool/tool-definition.js';
import { createNameCodec, type NameCodec } from './name-codec.js';

/** The tools to export: a registry, a selection, or a list of tools. */
export type ExportInput = Selection | Iterable<ToolEntry | SelectedTool | ToolSource>;

/** The options that all exports share. */
export interface ExportOptions {
  /**
   * The level of detail for every tool. @default the level chosen by a selection; otherwise `full`,
   * or `stub` for tools declared `compact`
   */
  readonly level?: SchemaLevel | undefined;
  /** Creates the instances of classes. @default `new Class()`, once */
  readonly resolve?: ResolveInstance | undefined;
}

export interface ExportedTool {
  readonly entry: ToolEntry;
  /** The name used by the target. */
  readonly name: string;
  readonly level: SchemaLevel;
  readonly rendered: RenderedTool;
}

/** The tools of one export. */
export interface ExportedTools {
  readonly tools: readonly ExportedTool[];
  readonly codec: NameCodec;
  /**
   * Functions that give renamed parameters their original names, each stored under the name of its
   * tool.
   */
  readonly restore: Map<string, (input: unknown) => unknown>;
}

/** The schema of the options that all exports share. */
export const exportShape = {
  level: z.enum(SCHEMA_LEVELS).optional(),
  resolve: aFunction<ResolveInstance>().optional(),
} satisfies FieldsOf<ExportOptions>;

/**
 * Returns the tools to export in the given order, together with the names that the target sees. A
 * tool that occurs twice is exported once.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the input isn't a list of tools, `NOT_A_TOOL` if a member
 * isn't a tool, and `DUPLICATE_TOOL` if two tools have the same name.
 */
export function exportTools(
  input: ExportInput,
  options: ExportOptions,
  rule = /(?:)/,
  reserved: readonly string[] = [],
): ExportedTools {
  const byName = new Map<string, Omit<ExportedTool, 'name'>>();
  for (const member of membersOf(input)) {
    for (const tool of toolsOf(member, options)) {
      const { name } = tool.entry;
      const before = byName.get(name);
      if (before !== undefined && before.entry !== tool.entry) {
        throw new ToolError(
          'DUPLICATE_TOOL',
          `Two tools are named ${describeValue(name)}, so a model couldn't tell them apart. Rename one of them.`,
          { details: { name } },
        );
      }
      byName.set(name, before ?? tool);
    }
  }
  const codec = createNameCodec(byName.keys(), rule, reserved);
  return {
    tools: [...byName.values()].map((tool) => ({ ...tool, name: codec.encode(tool.entry.name)! })),
    codec,
    restore: new Map(),
  };
}

function membersOf(input: unknown): Iterable<unknown> {
  if (typeof input === 'object' && input !== null) {
    if (Symbol.iterator in input) return input as Iterable<unknown>;
    if ('tools' in input && Array.isArray(input.tools)) return input.tools as unknown[];
  }
  throw new ToolError(
    'INVALID_ARGUMENT',
    `Expected a registry, a selection or a list of tools to export, got ${describeValue(input)}`,
  );
}

function toolsOf(member: unknown, { level, resolve }: ExportOptions): Omit<ExportedTool, 'name'>[] {
  const selected = isSelected(member) ? member : undefined;
  if (selected !== undefined && level === undefined)
    return [{ entry: selected.entry, level: selected.level, rendered: selected.rendered }];
  const tool = selected?.entry ?? member;
  const entries = isEntry(tool) ? [tool] : findDefinitions(tool, { resolve }).map(entryOf);
  return entries.map((entry) => {
    const shown = level ?? highestLevel(entry);
    return { entry, level: shown, rendered: renderTool(entry, shown) };
  });
}

function isEntry(value: unknown): value is ToolEntry {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'definition') &&
    isToolDefinition((value as ToolEntry).definition)
  );
}

function isSelected(value: unknown): value is SelectedTool {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'rendered') &&
    Object.hasOwn(value, 'entry') &&
    isEntry((value as SelectedTool).entry)
  );
}
