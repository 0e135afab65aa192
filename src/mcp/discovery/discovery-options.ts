import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import { aFunction, anObject, checkOptions, withMethods, type FieldsOf } from '../../core/options.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import type { McpClientInfo, OnElicit } from '../connection/elicitation.js';
import { MCP_PACKAGES, type McpPackages } from '../connection/transports.js';
import type { Environment } from '../settings/transport-settings.js';
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

const schema = z.strictObject({
  pins: withMethods<PinGuard>('pins with a check method', 'check').optional(),
  patternEngine: aFunction<PatternEngine>().optional(),
  clientInfo: z.object({ name: z.string().min(1), version: z.string().min(1) }).loose().default({ name: 'tooldex', version: '1' }),
  onEvent: aFunction<NonNullable<McpDiscoveryOptions['onEvent']>>().optional(),
  onElicit: aFunction<OnElicit>().optional(),
  env: anObject<Environment>('variables by name').optional(),
  clock: withMethods<Clock>('a clock', 'now', 'elapsed', 'after').default(systemClock),
  random: aFunction<() => number>().default(() => Math.random),
  packages: withMethods<McpPackages>('functions that load packages', 'client', 'stdio', 'ws').default(MCP_PACKAGES),
} satisfies FieldsOf<McpDiscoveryOptions>);
export type CheckedDiscoveryOptions = z.output<typeof schema>;

/** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkDiscoveryOptions(options: McpDiscoveryOptions): CheckedDiscoveryOptions {
  return checkOptions(schema, options, 'options of the discovery');
}
