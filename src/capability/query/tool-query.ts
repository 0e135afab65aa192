import { SideEffect } from '../../core/enums.js';
import { invalidArgument } from '../../core/issues.js';
import { compileFilter, type ToolFilter } from '../../registry/tool-filter.js';
import type { CapabilityTool, SafetyLevel } from '../capability-items.js';
import type { HealthLedger } from '../health/health-ledger.js';
import { hasAll, oneOf, optionalBoolean, rateFilter, requireConditions, wantedOf, type HealthQuery, type OneOrMore } from './check-query.js';
import { ownerMatches, parsePersonas } from './persona-filter.js';
import { versionFilter } from './version-filter.js';

/** Which tools are meant: every condition given must hold. Texts are compared in any case. */
export interface ToolQuery extends HealthQuery {
  /** Whose, as `parsePersonas` reads it: `'Atlas'` for Atlas and what is shared, `['Atlas', '-shared']` for Atlas alone. */
  readonly personas?: OneOrMore;
  /** Names of providers; a tool must have all of them. */
  readonly provider?: OneOrMore;
  /** A range of versions, or several that must all hold. */
  readonly version?: OneOrMore;
  /** Capability tags; a tool must have all of them. */
  readonly capability?: OneOrMore;
  /** Any of these. */
  readonly sideEffect?: OneOrMore<SideEffect>;
  /** Any of these. */
  readonly safetyLevel?: OneOrMore<SafetyLevel>;
  /** Whether the tool can be used now. */
  readonly available?: boolean;
  /** Conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

const CONDITIONS = ['personas', 'provider', 'version', 'capability', 'sideEffect', 'safetyLevel', 'available', 'filter', 'minSuccessRate', 'requireCalls'] as const;

/** @throws ToolError `INVALID_ARGUMENT` for conditions that are unknown or wrong. */
export function compileToolQuery(query: ToolQuery, ledger: HealthLedger): readonly ((tool: CapabilityTool) => boolean)[] {
  requireConditions(query, CONDITIONS);
  const personas = parsePersonas(query.personas);
  const providers = wantedOf(query.provider, 'provider');
  const capabilities = wantedOf(query.capability, 'capability');
  const meetsVersion = versionFilter(query.version);
  const effects = oneOf(query.sideEffect, 'sideEffect', Object.values(SideEffect));
  const levels = oneOf(query.safetyLevel, 'safetyLevel', ['low', 'medium', 'high'] as const);
  const available = optionalBoolean(query.available, 'available');
  const meetsRate = rateFilter(query);
  if (query.filter !== undefined && typeof query.filter !== 'object') throw invalidArgument('a filter object', query.filter);
  const passes = query.filter === undefined ? () => true : compileFilter(query.filter);
  const tests: ((tool: CapabilityTool) => boolean)[] = [];
  if (query.personas !== undefined) tests.push((tool) => ownerMatches(personas, tool.owner));
  if (providers !== undefined) tests.push((tool) => hasAll(providers, providerNamesOf(tool)));
  if (capabilities !== undefined) tests.push((tool) => hasAll(capabilities, tool.capabilityTags));
  if (query.version !== undefined) tests.push((tool) => meetsVersion(tool.entry.version));
  if (effects !== undefined) tests.push((tool) => tool.entry.sideEffects.some((effect) => effects.has(effect)));
  if (levels !== undefined) tests.push((tool) => levels.has(tool.safetyLevel));
  if (query.filter !== undefined) tests.push((tool) => passes(tool.entry));
  if (available !== undefined) tests.push((tool) => tool.available === available);
  if (query.minSuccessRate !== undefined || query.requireCalls !== undefined) tests.push((tool) => meetsRate(() => ledger.toolRate(tool.owner, tool.name)));
  return tests;
}

const providerNames = new WeakMap<CapabilityTool, readonly string[]>();

function providerNamesOf(tool: CapabilityTool): readonly string[] {
  let names = providerNames.get(tool);
  if (names === undefined) providerNames.set(tool, (names = Object.freeze(tool.entry.providers.map(({ name }) => name))));
  return names;
}
