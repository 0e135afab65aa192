import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import {
  compileFilter,
  isAvailable,
  missingScopes,
  type ToolFilter,
} from '../registry/tool-filter.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { DropReason } from './selection.js';
import type { SelectionLimits } from './selection-request.js';

/** The reason a tool can't be offered. */
interface Refusal {
  readonly reason: DropReason;
  readonly explanation: string;
}

/** Returns a refusal if a limit forbids the tool, or `undefined` if the tool can be offered. */
export type Permission = (entry: ToolEntry) => Refusal | undefined;

/** The limits. Missing limits may be `undefined`, as in the schema's output. */
type Limits = { readonly [Limit in keyof SelectionLimits]: SelectionLimits[Limit] | undefined };

/**
 * Compiles limits in order of precedence: exclusion, availability, scopes, danger, access, cost,
 * and the filter.
 *
 * Use the returned function for a single selection only. The function checks each tool once, so an
 * availability check that changes its result can't make the selection inconsistent. Names
 * registered after compilation are ignored.
 */
export function compilePermission(
  registry: ToolMetadataRegistry,
  { exclude = [], scopes, maxDanger, maxCostTier, accessModes, filter }: Limits,
): Permission {
  // Compares the tools' own names, so excluding an alias excludes the tool.
  // A tool that is excluded by name can't be reached through its aliases.
  const excluded = new Set(exclude.map((name) => registry.get(name)?.name ?? name));
  const tests: ((entry: ToolEntry) => Refusal | undefined)[] = [
    (entry) =>
      excluded.has(entry.name)
        ? { reason: 'excluded', explanation: 'excluded by the request' }
        : undefined,
    (entry) =>
      isAvailable(entry)
        ? undefined
        : { reason: 'unavailable', explanation: 'its availability check fails' },
  ];
  const condition = (
    reason: DropReason,
    condition: ToolFilter,
    explain: (entry: ToolEntry) => string,
  ) => {
    const passes = compileFilter(condition);
    tests.push((entry) => (passes(entry) ? undefined : { reason, explanation: explain(entry) }));
  };
  if (scopes !== undefined)
    tests.push((entry) => {
      const missing = missingScopes(entry, scopes);
      return missing.length === 0
        ? undefined
        : {
            reason: 'scopes',
            explanation: `the caller lacks the scopes ${missing.join(', ')}`,
          };
    });
  if (maxDanger !== undefined)
    condition(
      'danger',
      { maxDanger },
      (entry) => `danger ${entry.dangerLevel} is above ${maxDanger}${hint(entry, 'dangerLevel')}`,
    );
  if (accessModes !== undefined)
    condition(
      'access',
      { accessMode: accessModes },
      (entry) =>
        `access ${entry.accessMode} isn't one of ${accessModes.join(', ')}${hint(entry, 'accessMode')}`,
    );
  if (maxCostTier !== undefined)
    condition(
      'cost',
      { maxCostTier },
      (entry) => `cost ${entry.costTier} is above ${maxCostTier}${hint(entry, 'costTier')}`,
    );
  if (filter !== undefined) condition('filter', filter, () => "the filter doesn't match it");
  const cache = new Map<ToolEntry, Refusal | undefined>();
  return (entry) => {
    if (cache.has(entry)) return cache.get(entry);
    let refusal: Refusal | undefined;
    for (const test of tests) if ((refusal = test(entry)) !== undefined) break;
    cache.set(entry, refusal);
    return refusal;
  };
}

function hint(entry: ToolEntry, axis: ToolEntry['inferred'][number]): string {
  return entry.inferred.includes(axis) ? ' (inferred, not declared)' : '';
}
