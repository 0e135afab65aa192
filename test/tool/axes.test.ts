import { expect, it } from 'vitest';
import * as root from '../../src/index.js';
import { AXES, AXIS_NAMES } from '../../src/tool/axes.js';

it('every axis has an enum that the root entry point exports', () => {
  const exported: readonly unknown[] = Object.values(root);
  expect(AXIS_NAMES.filter((name) => !exported.includes(AXES[name].values))).toEqual([]);
});

it('every axis has a getter on the registry that finds the tools with a value', () => {
  const registry = new root.ToolMetadataRegistry() as unknown as Record<
    string,
    (value: unknown) => unknown
  >;
  for (const name of AXIS_NAMES)
    for (const value of Object.values(AXES[name].values))
      expect(registry[`getBy${name[0]!.toUpperCase()}${name.slice(1)}`]?.(value), name).toEqual([]);
});

it('every axis has a first word of its own, its name on the command line', () => {
  const words = AXIS_NAMES.map((name) => AXES[name].wire.split('_')[0]);
  expect([...new Set(words)]).toEqual(words);
});
