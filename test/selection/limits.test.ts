import { describe, expect, it } from 'vitest';
import type { SelectionRequest } from '../../src/index.js';
import type { DropReason } from '../../src/selection/selection.js';
import { registryOf, type LooseOptions } from '../tool/sample-tools.js';
import { chosen, droppedBecause, HARMLESS, select } from './selection-cases.js';

/** Options that make a tool wanted for every possible reason. */
const WANTED = {
  priority: 0,
  mandatoryKeywords: ['deploy'],
  keywords: ['deploy'],
  aliases: ['ship'],
};
const request = { text: 'deploy it', include: ['wanted'] } as const;

describe('limits of a selection', () => {
  const cases: readonly (readonly [DropReason, LooseOptions, Partial<SelectionRequest>])[] = [
    ['excluded', {}, { exclude: ['wanted'] }],
    ['unavailable', { available: () => false }, {}],
    ['scopes', { auth: { required: true, scopes: ['files:write'] } }, { scopes: ['files:read'] }],
    ['danger', { dangerLevel: 'high' }, { maxDanger: 'medium' }],
    [
      'access',
      { accessMode: 'execute', executionCategory: 'execute', sideEffects: 'system' },
      { accessModes: ['readonly', 'write'] },
    ],
    ['cost', { costTier: 'medium' }, { maxCostTier: 'low' }],
    ['filter', { category: 'git' }, { filter: { category: 'web' } }],
  ];
  it.each(cases)('a tool is dropped for the reason %s: %o with %o', (reason, options, limits) => {
    const registry = registryOf({ ...HARMLESS, ...WANTED, ...options, name: 'wanted' });
    const selection = select(registry, { ...request, ...limits });
    expect([chosen(selection), droppedBecause(selection), selection.error]).toEqual([
      [],
      { wanted: reason },
      undefined,
    ]);
    expect(selection.dropped[0]!.explanation).not.toBe('');
    // Without the limit, the tool is selected.
    if (Object.keys(limits).length > 0)
      expect(chosen(select(registry, request))).toEqual(['wanted']);
  });

  it('an inferred danger level can exceed maxDanger, and the explanation says that the level is inferred', () => {
    const selection = select(registryOf({ name: 'wanted', ...WANTED }), {
      ...request,
      maxDanger: 'low',
    });
    expect(selection.dropped).toMatchObject([
      { toolName: 'wanted', reason: 'danger', explanation: expect.stringContaining('inferred') },
    ]);
  });
});

describe('include and exclude', () => {
  const registry = registryOf(
    { name: 'rm', aliases: ['delete_file'], description: 'Deletes' },
    { name: 'ls', aliases: ['dir'], description: 'Lists' },
  );

  it('accept aliases', () => {
    expect(chosen(select(registry, { include: ['dir', 'delete_file'] }))).toEqual(['ls', 'rm']);
    for (const [include, exclude] of [
      ['rm', 'delete_file'],
      ['delete_file', 'rm'],
      ['delete_file', 'delete_file'],
    ]) {
      const selection = select(registry, { include: [include!], exclude: [exclude!] });
      expect([chosen(selection), droppedBecause(selection)]).toEqual([[], { rm: 'excluded' }]);
    }
  });

  it('report unknown names', () => {
    const unknown = [
      'lss',
      '__proto__',
      'constructor',
      'toString',
      '',
      '\ud800',
      'x'.repeat(10_000),
    ];
    for (const part of ['include', 'exclude'] as const) {
      const selection = select(registry, { [part]: unknown });
      expect(selection.dropped.map(({ toolName, reason }) => [toolName, reason])).toEqual(
        unknown.map((name) => [name, 'unknown']),
      );
      expect(selection.dropped.every(({ explanation }) => explanation !== '')).toBe(true);
    }
  });
});
