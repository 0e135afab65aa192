import { z } from 'zod';
import { SideEffect } from '../../core/enums.js';
import { anObject, checkOptions, oneOrMore, type FieldsOf } from '../../core/options.js';
import { compileFilter, type ToolFilter } from '../../registry/tool-filter.js';
import type { CapabilityTool, SafetyLevel } from '../capability-items.js';
import type { HealthLedger } from '../health/health-ledger.js';
import { anyOf, hasAll, healthShape, personas, rateFilter, wanted, type HealthQuery, type OneOrMore } from './check-query.js';
import { ownerMatches, parsePersonas } from './persona-filter.js';
import { versionFilter } from './version-filter.js';

/** A query of tools: every given condition must hold. Texts are compared in any case. */
export interface ToolQuery extends HealthQuery {
  /**
   * The owners, as `parsePersonas` reads them: `'Atlas'` for Atlas and the shared tools, `['Atlas', '-shared']` for
   * Atlas alone.
   */
  readonly personas?: OneOrMore;
  /** Names of providers; a tool must have all of them. */
  readonly provider?: OneOrMore;
  /** A range of versions, or several that must all hold. */
  readonly version?: OneOrMore;
  /** Capability tags; a tool must have all of them. */
  readonly capability?: OneOrMore;
  /** The side effects; any of these. */
  readonly sideEffect?: OneOrMore<SideEffect>;
  /** The safety levels; any of these. */
  readonly safetyLevel?: OneOrMore<SafetyLevel>;
  /** The present availability of the tool. */
  readonly available?: boolean;
  /** Conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

const schema = z.strictObject({
  ...healthShape,
  personas,
  provider: wanted,
  version: oneOrMore(z.string()).optional(),
  capability: wanted,
  sideEffect: anyOf(Object.values(SideEffect)),
  safetyLevel: anyOf(['low', 'medium', 'high']),
  available: z.boolean().optional(),
  filter: anObject<ToolFilter>('conditions of the filter').optional(),
} satisfies FieldsOf<ToolQuery>);

/**
 * Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions: ignored, they would widen the
 * answer.
 */
export function compileToolQuery(query: ToolQuery, ledger: HealthLedger): readonly ((tool: CapabilityTool) => boolean)[] {
  const { personas: asked, provider, version, capability, sideEffect, safetyLevel, available, filter, ...health } = checkOptions(schema, query ?? null, 'conditions of the query');
  const whose = parsePersonas(asked);
  const meetsVersion = versionFilter(version);
  const passes = compileFilter(filter ?? {});
  const meetsRate = rateFilter(health);
  const tests: ((tool: CapabilityTool) => boolean)[] = [];
  if (asked !== undefined) tests.push((tool) => ownerMatches(whose, tool.owner));
  if (provider !== undefined) tests.push((tool) => hasAll(provider, providerNamesOf(tool)));
  if (capability !== undefined) tests.push((tool) => hasAll(capability, tool.capabilityTags));
  if (version !== undefined) tests.push((tool) => meetsVersion(tool.entry.version));
  if (sideEffect !== undefined) tests.push((tool) => tool.entry.sideEffects.some((effect) => sideEffect.includes(effect)));
  if (safetyLevel !== undefined) tests.push((tool) => safetyLevel.includes(tool.safetyLevel));
  if (filter !== undefined) tests.push((tool) => passes(tool.entry));
  if (available !== undefined) tests.push((tool) => tool.available === available);
  if (health.minSuccessRate !== undefined || health.requireCalls) tests.push((tool) => meetsRate(() => ledger.toolRate(tool.owner, tool.name)));
  return tests;
}

const providerNames = new WeakMap<CapabilityTool, readonly string[]>();

function providerNamesOf(tool: CapabilityTool): readonly string[] {
  let names = providerNames.get(tool);
  if (names === undefined) providerNames.set(tool, (names = Object.freeze(tool.entry.providers.map(({ name }) => name))));
  return names;
}
