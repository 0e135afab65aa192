import fc from 'fast-check';
import { expect, it } from 'vitest';
import { requiresApproval } from '../../src/registry/derived-sets.js';
import {
  annotationsOf,
  axesFromAnnotations,
  type ToolAnnotations,
} from '../../src/interop/export/to-mcp-tools.js';
import type { ToolOptions } from '../../src/tool/tool-options.js';
import { definitionOf, entryOf } from '../../src/tool/tool-definition.js';
import { propertyRuns } from '../property-runs.js';

/** The defaults for foreign tools. */
const DEFAULTS = {
  sideEffects: 'network',
  allowParallel: false,
  requiresConsent: true,
  idempotencyKey: false,
} as const;
const entryWith = (options: Partial<ToolOptions>) =>
  entryOf(
    definitionOf({
      name: 'tool',
      description: 'A tool',
      inputSchema: { type: 'object' },
      ...options,
    }),
  );
const hintsOf = (options: Partial<ToolOptions>) => annotationsOf(entryWith(options));
const foreign = (annotations: unknown, trusted: boolean) =>
  entryWith({ ...DEFAULTS, ...axesFromAnnotations(annotations, { trusted }) });

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
const hint = fc.option(
  fc.oneof(fc.boolean(), fc.constantFrom('true', 'false', 1, 0, null, {}, [])),
  { nil: undefined },
);
const annotations = fc.oneof(
  fc.record(Object.fromEntries(HINTS.map((name) => [name, hint]))),
  fc.anything(),
);

it('every tool has all four hints', () => {
  fc.assert(
    fc.property(
      fc.record(
        {
          accessMode: fc.constantFrom('write', 'execute', 'mixed'),
          dangerLevel: fc.constantFrom('safe', 'low', 'medium', 'high', 'critical'),
          idempotencyKey: fc.boolean(),
        } as const,
        { requiredKeys: [] },
      ),
      (options) => {
        const hints = hintsOf(options);
        for (const name of HINTS) expect(typeof hints[name]).toBe('boolean');
        expect(Object.isFrozen(hints)).toBe(true);
      },
    ),
  );
});

it.each<[string, Partial<ToolOptions>, Omit<ToolAnnotations, 'title'>]>([
  [
    'the worst case for a tool that declares nothing',
    {},
    { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  ],
  [
    'a tool that reads a service',
    { sideEffects: 'read_external_service' },
    { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  ],
  [
    'a tool that only adds something',
    { accessMode: 'write', dangerLevel: 'low', idempotencyKey: true },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  ],
  [
    'a tool whose arguments can raise its danger',
    { accessMode: 'write', dangerLevel: 'low', dangerFor: () => 'critical' },
    { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  ],
  [
    'a tool in the network category',
    { accessMode: 'readonly', executionCategory: 'network', sideEffects: 'compute' },
    { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  ],
])('hints are derived from the axes: %s', (_, options, hints) => {
  expect(hintsOf(options)).toEqual(hints);
});

it('hints from an untrusted server never make a tool less strict', () => {
  fc.assert(
    fc.property(annotations, (given) => {
      const entry = foreign(given, false);
      expect(entry).toMatchObject({
        requiresConsent: true,
        allowParallel: false,
        idempotencyKey: false,
        accessMode: 'mixed',
        dangerLevel: 'high',
        sideEffects: ['network'],
        executionCategory: 'mixed',
      });
      expect(entry.cacheTtlMs).toBeUndefined();
      expect(requiresApproval(entry)).toBe(true);
    }),
    { numRuns: propertyRuns(500) },
  );
});

it('hints from an untrusted server can mark a tool as writing or destructive', () => {
  expect(axesFromAnnotations({ readOnlyHint: false }, { trusted: false })).toEqual({
    accessMode: 'mixed',
  });
  expect(
    axesFromAnnotations({ destructiveHint: true, readOnlyHint: true }, { trusted: false }),
  ).toEqual({ accessMode: 'mixed', dangerLevel: 'high' });
});

it('a readOnlyHint from a trusted server removes the need for approval', () => {
  const entry = foreign({ readOnlyHint: true }, true);
  expect(entry).toMatchObject({
    accessMode: 'readonly',
    dangerLevel: 'low',
    allowParallel: true,
    requiresConsent: false,
  });
  expect(requiresApproval(entry)).toBe(false);
});
