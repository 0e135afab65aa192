import { expect, it } from 'vitest';
import { lintTools } from '../../src/index.js';
import { registryOf, type LooseOptions } from '../tool/sample-tools.js';

/** Twelve tools as typical authors would declare them, with the important axes but not all axes. */
const HONEST: readonly LooseOptions[] = [
  {
    name: 'read_file',
    description: 'Reads a file of the project',
    accessMode: 'readonly',
    dangerLevel: 'safe',
    executionCategory: 'read_only',
    sideEffects: 'filesystem',
  },
  {
    name: 'write_file',
    description: 'Writes a text into a file',
    accessMode: 'write',
    dangerLevel: 'medium',
    priority: 1,
  },
  {
    name: 'word_count',
    description: 'Counts the words of a text',
    accessMode: 'readonly',
    dangerLevel: 'safe',
    executionCategory: 'compute',
    costTier: 'free',
  },
  {
    name: 'get_weather',
    description: 'Tells the weather of a city',
    accessMode: 'readonly',
    executionCategory: 'network',
    costTier: 'low',
    sideEffects: 'network',
  },
  {
    name: 'send_email',
    description: 'Sends an email to one recipient',
    accessMode: 'write',
    dangerLevel: 'high',
    executionCategory: 'network',
    costTier: 'low',
    priority: 2,
  },
  {
    name: 'run_tests',
    description: 'Runs the test suite of the project',
    accessMode: 'execute',
    dangerLevel: 'medium',
    executionCategory: 'execute',
    category: 'testing',
  },
  {
    name: 'query_database',
    description: 'Answers a SQL query from the replica',
    accessMode: 'readonly',
    dangerLevel: 'low',
    sideEffects: 'database',
    keywords: ['sql'],
  },
  {
    name: 'drop_table',
    description: 'Deletes a table with everything in it',
    accessMode: 'write',
    dangerLevel: 'critical',
    sideEffects: 'database',
    requiresConsent: true,
  },
  {
    name: 'charge_card',
    description: 'Takes an amount from the card of a customer',
    accessMode: 'write',
    dangerLevel: 'critical',
    costTier: 'high',
    executionCategory: 'network',
    costPerCall: 0.3,
  },
  {
    name: 'translate',
    description: 'Translates a text with a paid service',
    accessMode: 'readonly',
    costTier: 'medium',
    costPerCall: 0.01,
    executionCategory: 'network',
  },
  {
    name: 'read_secret',
    description: 'Shows a password of the vault',
    accessMode: 'readonly',
    dangerLevel: 'high',
    priority: 3,
    sideEffects: 'read_external_service',
  },
  {
    name: 'github.create_issue',
    description: 'Opens an issue in a repository',
    accessMode: 'mixed',
    executionCategory: 'network',
    sideEffects: ['network', 'write'],
  },
];

const lintOf = (tools: readonly LooseOptions[]) =>
  lintTools(registryOf(...tools.map((each) => ({ ...each, execute: () => 1 }))));

it('twelve honest tools that declare three to five axes have no lint findings, alone or together', () => {
  expect(HONEST).toHaveLength(12);
  expect(lintOf(HONEST)).toEqual([]);
  for (const each of HONEST) expect(lintOf([each]), String(each['name'])).toEqual([]);
});
