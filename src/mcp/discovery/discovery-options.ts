import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { formatIssues, toIssues } from '../../core/issues.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import type { McpClientInfo, OnElicit } from '../connection/elicitation.js';
import { MCP_PACKAGES, type McpPackages } from '../connection/mcp-packages.js';
import type { Environment } from '../settings/expand-variables.js';
import type { McpDiscoveryEvent } from './server-status.js';
import type { PinGuard } from './tool-table.js';

/** How the SDK's client, its part for stdio, and `ws` are loaded. */
export interface McpPackageLoaders {
  readonly client: () => Promise<unknown>;
  readonly stdio: () => Promise<unknown>;
  readonly ws: () => Promise<unknown>;
}

export interface McpDiscoveryOptions {
  /** Holds tools back whose definitions have changed: a `DefinitionPins`. @default every definition is used */
  readonly pins?: PinGuard;
  /** Checks the patterns in the schemas of servers, as `(pattern) => new RE2(pattern, 'u')`; it must take linear time. @default they are left to the servers */
  readonly patternEngine?: PatternEngine;
  /** How this program calls itself to servers. @default tooldex */
  readonly clientInfo?: McpClientInfo;
  /** Told of everything that happens while servers are asked. What it throws is ignored. */
  readonly onEvent?: (event: McpDiscoveryEvent) => void;
  /** Answers what servers ask a person in the middle of a call. Without it such calls fail. */
  readonly onElicit?: OnElicit;
  /** Where `${NAME}` in the settings is looked up. Servers get of it only what their settings name. @default process.env */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** A number from 0 up to 1, for the jitter of pauses. @default Math.random */
  readonly random?: () => number;
  /** Loads the optional packages, as modules. @default import */
  readonly packages?: McpPackageLoaders;
}

const aFunction = <T>() => z.custom<T>((value) => typeof value === 'function', 'a function');
const withMethod = <T>(what: string, ...methods: readonly string[]) =>
  z.custom<T>((value) => typeof value === 'object' && value !== null && methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'), what);

const schema = z.strictObject({
  pins: withMethod<PinGuard>('pins with a check method', 'check').optional(),
  patternEngine: aFunction<PatternEngine>().optional(),
  clientInfo: z.object({ name: z.string().min(1), version: z.string().min(1) }).loose().default({ name: 'tooldex', version: '1' }),
  onEvent: aFunction<NonNullable<McpDiscoveryOptions['onEvent']>>().optional(),
  onElicit: aFunction<OnElicit>().optional(),
  env: z.custom<Environment>((value) => typeof value === 'object' && value !== null, 'variables by name').optional(),
  clock: withMethod<Clock>('a clock', 'now', 'elapsed', 'after').default(systemClock),
  random: aFunction<() => number>().default(() => Math.random),
  packages: withMethod<McpPackages>('functions that load packages', 'client', 'stdio', 'ws').default(MCP_PACKAGES),
});
export type CheckedDiscoveryOptions = z.output<typeof schema>;

/** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkDiscoveryOptions(options: McpDiscoveryOptions): CheckedDiscoveryOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, options);
  throw new ToolError('INVALID_ARGUMENT', `The discovery is refused:\n  ${formatIssues(issues)}`, { details: { issues } });
}
