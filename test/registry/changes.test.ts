import { expect, it } from 'vitest';
import { type RegistryChange } from '../../src/index.js';
import { registryOf, sample } from '../tool/sample-tools.js';

function watched() {
  const registry = registryOf({ name: 'a' });
  const changes: RegistryChange[] = [];
  const stop = registry.onChange((change) => changes.push(change));
  return { registry, changes, stop };
}

it('onChange reports added, replaced, and removed tools with the new revision', () => {
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

it('the registry already reflects a change when onChange listeners are called', () => {
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
