import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { createDefaultTools } from '../../tools/index.js';

const registry = new ToolMetadataRegistry();
registry.registerAll(createDefaultTools({ root: import.meta.dirname }));

/** Name, input, danger; and the verdicts: by default, with a rule that allows the tool, read-only. */
const TABLE: readonly (readonly [string, object, string, string, string, string])[] = [
  ['read_file', { path: 'a.ts' }, 'safe', 'allow', 'allow', 'allow'],
  // Where a path leads is the business of the file wall, which refuses it when the tool runs.
  ['read_file', { path: '../../etc/passwd' }, 'safe', 'allow', 'allow', 'allow'],
  ['git_status', {}, 'safe', 'allow', 'allow', 'allow'],
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
  ['move_file', { from: 'a', to: 'b', overwrite: true }, 'high', 'confirm', 'confirm', 'deny'],
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
  [
    'http_request',
    { url: 'https://example.com', method: 'DELETE' },
    'high',
    'confirm',
    'confirm',
    'deny',
  ],
  ['run_shell', { command: 'ls -la' }, 'critical', 'confirm', 'allow', 'deny'],
  ['run_program', { program: 'node', arguments: ['build.js'] }, 'high', 'confirm', 'allow', 'deny'],
];

describe('a policy over the bundled tools', () => {
  const usual = new SafetyPolicy({ registry });
  const readOnly = new SafetyPolicy({
    registry,
    mode: 'read-only',
    rules: [{ verdict: 'allow', upTo: 'critical' }],
  });

  it.each(TABLE)(
    '%s of %j has danger %s: %s; with a rule that allows the tool %s; read-only %s',
    (name, input, danger, byDefault, byRule, whenReadOnly) => {
      const call = { id: '1', name, input };
      const allowing = new SafetyPolicy({ registry, rules: [{ verdict: 'allow', tools: name }] });
      expect(usual.decide(call)).toMatchObject({ danger, verdict: byDefault });
      expect(allowing.decide(call)).toMatchObject({ danger, verdict: byRule });
      expect(readOnly.decide(call)).toMatchObject({ danger, verdict: whenReadOnly });
    },
  );

  it("asks before every tool that is in the registry's set of those that require approval, and before no other", () => {
    const asking = registry.getToolsRequiringApproval();
    for (const { name, dangerFor } of registry) {
      if (dangerFor === undefined)
        expect([name, usual.decide({ id: '1', name, input: {} }).verdict]).toEqual([
          name,
          asking.has(name) ? 'confirm' : 'allow',
        ]);
      else
        expect([name, usual.decide({ id: '1', name, input: {} }).verdict]).toEqual([
          name,
          'confirm',
        ]);
    }
  });
});
