import {
  isToolError,
  ToolMetadataRegistry,
  type ToolDefinition,
  type ToolEntry,
  type ToolError,
} from '../../src/index.js';
import { issuesOf, type Issue } from '../../src/core/errors.js';
import type { ToolOptions } from '../../src/tool/tool-options.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** The minimum that a tool must declare. */
export const LEAST = Object.freeze({
  name: 'sample',
  description: 'A sample',
  inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({}) }),
});

/**
 * Every option, each with text that contains the option's name. A new option causes a compile error
 * until it's added here.
 */
export const EVERY_OPTION = {
  name: 'mark-name',
  description: 'mark-description',
  inputSchema: {
    type: 'object',
    properties: { mark: { type: 'string', title: 'mark-inputSchema' } },
    required: ['mark'],
  },
  outputSchema: { type: 'object', title: 'mark-outputSchema' },
  summary: 'mark-summary',
  version: '1.0.0+mark-version',
  category: 'mark-category',
  priority: 1,
  accessMode: 'readonly',
  dangerLevel: 'medium',
  executionCategory: 'network',
  costTier: 'low',
  costPerCall: 7.25,
  allowParallel: true,
  sideEffects: ['network', 'read_external_service'],
  requiresConsent: true,
  timeoutMs: 5_000,
  auth: {
    required: true,
    type: 'mark-auth',
    scopes: ['mark-scope'],
    env: { MARK_AUTH: 'required' },
    docs: 'mark-docs',
  },
  idempotencyKey: true,
  aliases: ['mark-aliases'],
  keywords: ['mark-keywords'],
  mandatoryKeywords: ['mark-mandatorykeywords'],
  stages: ['mark-stages'],
  taskTypes: ['mark-tasktypes'],
  capabilities: ['mark-capabilities'],
  progressParams: ['mark-progressParams'],
  examples: ['mark-examples'],
  invalidates: ['mark-invalidates'],
  cacheTtlMs: 1_500,
  maxResultBytes: 2_048,
  personaAllowlist: ['mark-personaAllowlist'],
  providers: [{ name: 'mark-providers', config: { key: 'secret-of-provider' } }],
  manual: false,
  compact: true,
  handlerRef: 'mark-handlerRef',
  reads: ['private'],
  sends: 'outside',
  preview: () => 'mark',
  dangerFor: () => 'high',
  cacheKey: () => 1,
  canonicalInput: (input: object) => input,
  conflictKeys: () => [],
  available: () => true,
  metadata: {
    strict: true,
    cost_unit: 'mark-costUnit',
    safety_level: 'high',
    requires_flags: ['flag'],
    policy_flags: 1,
    quota_hints: 1,
    returns: 1,
    skill_bindings: 1,
    idempotency_guidance: 1,
    notes: 1,
    other: 'secret-of-metadata',
  },
} as const satisfies Required<ToolOptions>;

/** The same options without functions, so a file can store them. */
export const EVERY_VALUE: LooseOptions = Object.fromEntries(
  Object.entries(EVERY_OPTION).filter(([, value]) => typeof value !== 'function'),
);

/** Any options, valid or invalid. */
export type LooseOptions = Readonly<Record<string, unknown>>;

/** Returns a definition of a tool with these options and the required options. */
export function sample(options: LooseOptions = {}): ToolDefinition {
  return definitionOf({ ...LEAST, ...options });
}

/** Returns the entry of a tool with these options and the required options. */
export function sampleEntry(options: LooseOptions = {}): ToolEntry {
  return new ToolMetadataRegistry().register(sample(options))[0]!;
}

/** Returns a registry with one tool for each of the given options. */
export function registryOf(...tools: readonly LooseOptions[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools.map(sample));
  return registry;
}

/** Returns the ToolError that an action throws. Fails if the action throws another error or no error. */
export function refusal(action: () => unknown): ToolError {
  try {
    action();
  } catch (error) {
    if (isToolError(error)) return error;
    throw new Error(
      `expected a ToolError, thrown was ${Object.prototype.toString.call(error)} ${error instanceof Error ? error.message : ''}`,
      { cause: error },
    );
  }
  throw new Error('expected a ToolError, nothing was thrown');
}

/** Returns the issues of refused options. */
export function issuesWith(options: LooseOptions): readonly Issue[] {
  const error = refusal(() => sample(options));
  if (error.code !== 'INVALID_METADATA') throw error;
  return issuesOf(error);
}

/** Returns the entry of a tool with these options, or undefined if they're refused. */
export function acceptedEntry(options: LooseOptions): ToolEntry | undefined {
  try {
    return sampleEntry(options);
  } catch (error) {
    if (isToolError(error, 'INVALID_METADATA')) return undefined;
    throw error;
  }
}
