import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry, type RegistryChange } from '../../src/index.js';
import { registryOf, sample } from '../tool/sample-tools.js';

function watched() {
  const registry = registryOf({ name: 'a' });
  const changes: RegistryChange[] = [];
  const stop = registry.onChange((change) => changes.push(change));
  return { registry, changes, stop };
}

describe('onChange', () => {
  it('tells what each step added, replaced and removed, with the revision after it', () => {
    const { registry, changes } = watched();
    registry.registerAll([sample({ name: 'c' }), sample({ name: 'b' })]);
    registry.registerAll([sample({ name: 'a' }), sample({ name: 'd' })], { replace: true });
    registry.unregister('c');
    expect(changes).toEqual([
      { revision: 2, added: ['c', 'b'], replaced: [], removed: [] },
      { revision: 3, added: ['d'], replaced: ['a'], removed: [] },
      { revision: 4, added: [], replaced: [], removed: ['c'] },
    ]);
    expect(registry.revision).toBe(4);
  });

  it('calls when the registry already answers for the change', () => {
    const { registry } = watched();
    const seen: unknown[] = [];
    registry.onChange(() =>
      seen.push([
        registry.revision,
        registry.has('b'),
        registry.getAllCategories().has('new'),
        registry.size,
      ]),
    );
    registry.register(sample({ name: 'b', category: 'new' }));
    expect(seen).toEqual([[2, true, true, 2]]);
  });

  it('goes on when a listener throws, and the caller notices nothing', () => {
    const { registry, changes } = watched();
    registry.onChange(() => {
      throw new Error('listener');
    });
    const later: number[] = [];
    registry.onChange(({ revision }) => later.push(revision));
    expect(registry.register(sample({ name: 'b' }))).toHaveLength(1);
    expect([changes.length, later, registry.has('b')]).toEqual([1, [2], true]);
  });

  it('tells every listener the changes in the order of their revisions, also when one makes another change', () => {
    const registry = new ToolMetadataRegistry();
    registry.onChange(({ added }) => {
      if (added.includes('a')) registry.register(sample({ name: 'b' }));
    });
    const seen: number[] = [];
    registry.onChange(({ revision }) => seen.push(revision));
    registry.register(sample({ name: 'a' }));
    expect(seen).toEqual([1, 2]);
  });
});
