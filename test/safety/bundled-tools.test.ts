import { expect, it } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { createDefaultTools } from '../../tools/index.js';

const registry = new ToolMetadataRegistry();
registry.registerAll(createDefaultTools({ root: import.meta.dirname }));

/**
 * Name, input, and danger, and then the verdicts by default, under a rule that allows the tool, and in
 * read-only mode.
 */
const TABLE: readonly (readonly [string, object, string, string, string, string])[] = [
  ['read_file', { path: 'a.ts' }, 'safe', 'allow', 'allow', 'allow'],
  // FileWall refuses this path when the tool runs.
  ['read_file', { path: '../../etc/passwd' }, 'safe', 'allow', 'allow', 'allow'],
  ['calculate', { expression: '1+1' }, 'safe', 'allow', 'allow', 'allow'],
  [
    'write_file',
    { path: 'a.ts', content: '', overwrite: false },
    'medium',
    'confirm',
    'allow',
    'deny',
  ],
  [
    'write_file',
    { path: 'a.ts', content: '', overwrite: true },
    'high',
    'confirm',
    'confirm',
    'deny',
  ],
  ['delete_file', { path: 'a.ts' }, 'high', 'confirm', 'allow', 'deny'],
  ['git_push', { force: false }, 'high', 'confirm', 'allow', 'deny'],
  ['git_push', { force: true }, 'critical', 'confirm', 'confirm', 'deny'],
  [
    'http_request',
    { url: 'https://example.com', method: 'GET' },
    'medium',
    'confirm',
    'allow',
    'deny',
  ],
  [
    'http_request',
    { url: 'https://example.com', method: 'POST' },
    'high',
    'confirm',
    'confirm',
    'deny',
  ],
  ['run_shell', { command: 'ls -la' }, 'critical', 'confirm', 'allow', 'deny'],
  ['run_program', { program: 'node', arguments: ['build.js'] }, 'high', 'confirm', 'allow', 'deny'],
];

const usual = new SafetyPolicy({ registry });
const readOnly = new SafetyPolicy({
  registry,
  mode: 'read-only',
  rules: [{ verdict: 'allow', upTo: 'critical' }],
});

it.each(TABLE)(
  'a call to %s with %j has danger %s and gets %s by default, %s under an allow rule, and %s in read-only mode',
  (name, input, danger, byDefault, byRule, whenReadOnly) => {
    const call = { id: '1', name, input };
    const allowing = new SafetyPolicy({ registry, rules: [{ verdict: 'allow', tools: name }] });
    expect(usual.decide(call)).toMatchObject({ danger, verdict: byDefault });
    expect(allowing.decide(call)).toMatchObject({ danger, verdict: byRule });
    expect(readOnly.decide(call)).toMatchObject({ danger, verdict: whenReadOnly });
  },
);
