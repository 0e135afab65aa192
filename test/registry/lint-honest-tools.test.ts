import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, lintTools, ToolMetadataRegistry, type ToolSource } from '../../src/index.js';

/** Twelve tools as authors would declare them: the important axes, not all. */
const HONEST = [
  defineTool({
    name: 'read_file',
    description: 'Reads a file of the project',
    inputSchema: z.object({ path: z.string() }),
    accessMode: 'readonly',
    dangerLevel: 'safe',
    executionCategory: 'read_only',
    sideEffects: 'filesystem',
    execute: ({ path }) => path,
  }),
  defineTool({
    name: 'write_file',
    description: 'Writes a text into a file',
    inputSchema: z.object({ path: z.string(), text: z.string() }),
    accessMode: 'write',
    dangerLevel: 'medium',
    priority: 1,
    execute: ({ path }) => path,
  }),
  defineTool({
    name: 'word_count',
    description: 'Counts the words of a text',
    inputSchema: z.object({ text: z.string() }),
    accessMode: 'readonly',
    dangerLevel: 'safe',
    executionCategory: 'compute',
    costTier: 'free',
    execute: ({ text }) => text.split(' ').length,
  }),
  defineTool({
    name: 'get_weather',
    description: 'Tells the weather of a city',
    inputSchema: z.object({ city: z.string() }),
    accessMode: 'readonly',
    executionCategory: 'network',
    costTier: 'low',
    sideEffects: 'network',
    execute: ({ city }) => city,
  }),
  defineTool({
    name: 'send_email',
    description: 'Sends an email to one recipient',
    inputSchema: z.object({ to: z.string() }),
    accessMode: 'write',
    dangerLevel: 'high',
    executionCategory: 'network',
    costTier: 'low',
    priority: 2,
    execute: ({ to }) => to,
  }),
  defineTool({
    name: 'run_tests',
    description: 'Runs the test suite of the project',
    inputSchema: z.object({}),
    accessMode: 'execute',
    dangerLevel: 'medium',
    executionCategory: 'execute',
    category: 'testing',
    execute: () => true,
  }),
  defineTool({
    name: 'query_database',
    description: 'Answers a SQL query from the replica',
    inputSchema: z.object({ sql: z.string() }),
    accessMode: 'readonly',
    dangerLevel: 'low',
    sideEffects: 'database',
    keywords: ['sql'],
    execute: ({ sql }) => sql,
  }),
  defineTool({
    name: 'drop_table',
    description: 'Deletes a table with everything in it',
    inputSchema: z.object({ table: z.string() }),
    accessMode: 'write',
    dangerLevel: 'critical',
    sideEffects: 'database',
    requiresConsent: true,
    execute: ({ table }) => table,
  }),
  defineTool({
    name: 'charge_card',
    description: 'Takes an amount from the card of a customer',
    inputSchema: z.object({ cents: z.number() }),
    accessMode: 'write',
    dangerLevel: 'critical',
    costTier: 'high',
    executionCategory: 'network',
    costPerCall: 0.3,
    execute: ({ cents }) => cents,
  }),
  defineTool({
    name: 'translate',
    description: 'Translates a text with a paid service',
    inputSchema: z.object({ text: z.string() }),
    accessMode: 'readonly',
    costTier: 'medium',
    costPerCall: 0.01,
    executionCategory: 'network',
    execute: ({ text }) => text,
  }),
  defineTool({
    name: 'read_secret',
    description: 'Shows a password of the vault',
    inputSchema: z.object({ key: z.string() }),
    accessMode: 'readonly',
    dangerLevel: 'high',
    priority: 3,
    sideEffects: 'read_external_service',
    execute: ({ key }) => key,
  }),
  defineTool({
    name: 'github.create_issue',
    description: 'Opens an issue in a repository',
    inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    accessMode: 'mixed',
    executionCategory: 'network',
    sideEffects: ['network', 'write'],
    execute: () => 1,
  }),
];

function lintOf(tools: readonly ToolSource[]) {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return lintTools(registry);
}

it('twelve honest tools with three to five declared axes have no findings, alone or together', () => {
  expect(HONEST).toHaveLength(12);
  expect(lintOf(HONEST)).toEqual([]);
  for (const each of HONEST) expect(lintOf([each]), each.name).toEqual([]);
});
