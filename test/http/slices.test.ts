import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

// Every look at the clock takes a millisecond, so that a slice is ten steps however fast the machine is.
beforeEach(() => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now++);
});
afterEach(() => void vi.restoreAllMocks());

const TOOLS = 200;
const tools = Array.from({ length: TOOLS }, (_, index) =>
  definitionOf({
    name: `copy_${index}`,
    description: `Reads record ${index} of the customers`,
    inputSchema: { type: 'object' },
  }),
);

describe('a catalogue of many tools', () => {
  it('answers a search from the latest revision when it changes between two slices', async () => {
    let definitions = tools.slice(0, 50);
    const source = { name: 'changing', load: () => Promise.resolve({ definitions }) };
    const capabilities = await CapabilityRegistry.load({ sources: [source], env: {} });
    const app = createDiscoveryApp(capabilities, { page: false });
    for (const many of [100, 150, 200]) {
      const asked = app.request('/search?q=read+record&limit=200');
      await new Promise((resolve) => setImmediate(resolve));
      definitions = tools.slice(0, many);
      await capabilities.refresh({ force: true });
      const answer = (await (await asked).json()) as { readonly results: readonly object[] };
      expect({ ...answer, results: answer.results.length }).toMatchObject({
        results: many,
        total: many,
        searched: many,
        revision: capabilities.revision,
      });
    }
  });
});
