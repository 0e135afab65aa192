import { expect, it } from 'vitest';
import { TOOL_ERROR_CODES } from '../../src/core/errors.js';
import * as enums from '../../src/core/enums.js';

// Programs compare, store, and send these values, so a change breaks programs.

it("the list of error codes doesn't change", () => {
  expect(TOOL_ERROR_CODES).toEqual([
    'INVALID_METADATA',
    'INVALID_DECORATION',
    'INVALID_INPUT_SCHEMA',
    'NOT_A_TOOL',
    'DUPLICATE_TOOL',
    'TOOL_NOT_FOUND',
    'INVALID_ARGUMENT',
    'INVALID_INPUT',
    'FORBIDDEN_PATH',
    'FORBIDDEN_URL',
    'FORBIDDEN_PROGRAM',
    'LIMIT_EXCEEDED',
    'BUDGET_EXCEEDED',
    'TIMEOUT',
    'ABORTED',
    'EXECUTION_FAILED',
    'NOT_EXECUTABLE',
    'TOOL_UNAVAILABLE',
    'INVALID_RESULT',
    'LOOP_DETECTED',
    'INVALID_APPROVAL',
    'PROVIDERS_EXHAUSTED',
    'PROVIDER_UNAVAILABLE',
    'STATE_UNAVAILABLE',
    'MISSING_PACKAGE',
    'INVALID_MANIFEST',
    'INVALID_STATE',
    'OPEN_TOOL_CALLS',
    'UNKNOWN_CALL',
    'ALREADY_RESOLVED',
    'TOOL_CHANGED',
    'INVALID_SNAPSHOT',
    'STALE_SESSION',
    'MODEL_FAILED',
  ]);
});

it("the names, values, and order of the enums don't change", () => {
  expect(
    Object.entries(enums)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, values]) => [name, Object.entries(values)]),
  ).toEqual([
    [
      'AccessMode',
      [
        ['READONLY', 'readonly'],
        ['WRITE', 'write'],
        ['EXECUTE', 'execute'],
        ['MIXED', 'mixed'],
      ],
    ],
    [
      'CostTier',
      [
        ['FREE', 'free'],
        ['LOW', 'low'],
        ['MEDIUM', 'medium'],
        ['HIGH', 'high'],
      ],
    ],
    [
      'DangerLevel',
      [
        ['SAFE', 'safe'],
        ['LOW', 'low'],
        ['MEDIUM', 'medium'],
        ['HIGH', 'high'],
        ['CRITICAL', 'critical'],
      ],
    ],
    [
      'ExecutionCategory',
      [
        ['READ_ONLY', 'read_only'],
        ['WRITE', 'write'],
        ['EXECUTE', 'execute'],
        ['COMPUTE', 'compute'],
        ['NETWORK', 'network'],
        ['MIXED', 'mixed'],
      ],
    ],
    [
      'Priority',
      [
        ['CRITICAL', 0],
        ['HIGH', 1],
        ['MEDIUM', 2],
        ['LOW', 3],
      ],
    ],
    [
      'SideEffect',
      [
        ['NONE', 'none'],
        ['WRITE', 'write'],
        ['NETWORK', 'network'],
        ['READ_EXTERNAL_SERVICE', 'read_external_service'],
        ['FILESYSTEM', 'filesystem'],
        ['COMPUTE', 'compute'],
        ['SYSTEM', 'system'],
        ['DATABASE', 'database'],
      ],
    ],
    [
      'Stage',
      [
        ['INITIAL', 'initial'],
        ['PLANNING', 'planning'],
        ['READING', 'reading'],
        ['ANALYSIS', 'analysis'],
        ['EXECUTION', 'execution'],
        ['VERIFICATION', 'verification'],
        ['COMPLETION', 'completion'],
      ],
    ],
  ]);
});
