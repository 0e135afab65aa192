import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ToolMetadataRegistry } from '../../src/index.js';
import { sample, type LooseOptions } from '../tool/sample-tools.js';

/** A tool in the recorded catalogue. `declared` contains what its author declared. */
export interface Row {
  readonly name: string;
  readonly kind: string;
  readonly active: boolean;
  readonly description: string;
  readonly is_available: boolean;
  readonly parameters: object;
  readonly declared: Readonly<Partial<Record<string, unknown>>>;
}

const folder = resolve(import.meta.dirname, '../../../shared');

/** True if the recorded data is next to the checkout. */
export const present =
  existsSync(resolve(folder, 'data/victor-tools.json')) &&
  existsSync(resolve(folder, 'golden/victor.json'));

/** Warns once that the tests of a file don't run. */
export function warnIfAbsent(what: string): void {
  if (!present) console.warn(`${what}: skipped, the recorded data is not beside the checkout`);
}

export function readShared(path: string): unknown {
  return JSON.parse(readFileSync(resolve(folder, path), 'utf8'));
}

/**
 * Returns all rows in the recorded system's import order, including rows that a later row with the same name
 * replaces.
 */
export function allRows(): readonly Row[] {
  return present ? (readShared('data/victor-tools.json') as Row[]) : [];
}

/** Returns the 64 rows that remain after name collisions. */
export function activeRows(): readonly Row[] {
  return allRows().filter(({ active }) => active);
}

/**
 * Returns what an author declared as an enum member: `AccessMode.READONLY` and `readonly` are both
 * `READONLY`.
 */
export function declaredAs(row: Row, field: string): string | undefined {
  const value = row.declared[field];
  return typeof value === 'string' ? value.replace(/^\w+\./, '').toUpperCase() : undefined;
}

export function declaredList(row: Row, field: string): readonly string[] {
  return (row.declared[field] as string[] | undefined) ?? [];
}

const PRIORITIES: Readonly<Record<string, number>> = {
  CRITICAL: 0,
  HIGH: 1,
  MEDIUM: 2,
  LOW: 3,
  CONTEXTUAL: 3,
};

/**
 * Returns the options that an author declared.
 *
 * Two values don't exist in tooldex. Access `network` says that something is touched but not what, so it
 * becomes `mixed`. Priority `CONTEXTUAL` means only on request, so it becomes `LOW`.
 */
export function optionsOf(row: Row): LooseOptions {
  const access = declaredAs(row, 'access_mode');
  const priority = declaredAs(row, 'priority');
  return {
    name: row.name,
    description: row.description,
    inputSchema: row.parameters,
    aliases: declaredList(row, 'aliases'),
    priority: priority === undefined ? undefined : PRIORITIES[priority],
    accessMode: access === 'NETWORK' ? 'mixed' : access?.toLowerCase(),
    dangerLevel: declaredAs(row, 'danger_level')?.toLowerCase(),
    executionCategory: declaredAs(row, 'execution_category')?.toLowerCase(),
    costTier: declaredAs(row, 'cost_tier')?.toLowerCase(),
    category: row.declared['category'],
    keywords: declaredList(row, 'keywords'),
    mandatoryKeywords: declaredList(row, 'mandatory_keywords'),
    stages: declaredList(row, 'stages'),
    taskTypes: declaredList(row, 'task_types'),
    examples: declaredList(row, 'examples'),
    progressParams: declaredList(row, 'signature_params'),
    timeoutMs:
      typeof row.declared['timeout'] === 'number' ? row.declared['timeout'] * 1_000 : undefined,
    available: row.is_available ? undefined : () => false,
  };
}

/**
 * Returns a registry with these rows.
 *
 * It replaces tools, because two tools have an alias that is another tool's name (`search`, `web`). The
 * recorded system silently keeps both, but tooldex throws an error by default. In both, a tool's own name takes
 * precedence.
 */
export function registryOfRows(rows: readonly Row[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    rows.map((row) => sample(optionsOf(row))),
    { replace: true },
  );
  return registry;
}
