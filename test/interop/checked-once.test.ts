import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type Policy,
} from '../../src/index.js';
import { createMcpServer } from '../../src/mcp/server/create-mcp-server.js';
import { WAYS } from '../mcp/server-clients.js';

/**
 * Counts the work for a call: how often its schema, the executor's policy, the bridge's policy, and
 * the tool run.
 */
function counted() {
  const counts = { checks: 0, decisions: 0, bridge: 0, runs: 0 };
  const inputSchema = z.object({ text: z.string().refine(() => ++counts.checks > 0) });
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'read',
      description: 'Reads',
      inputSchema,
      accessMode: AccessMode.READONLY,
      execute: () => ++counts.runs,
    }),
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema,
      accessMode: AccessMode.WRITE,
      execute: () => ++counts.runs,
    }),
  ]);
  const counting = (kind: 'decisions' | 'bridge'): Policy => {
    const policy = new SafetyPolicy({ registry });
    return { decide: (call, context) => (counts[kind]++, policy.decide(call, context)) };
  };
  const executor = new ToolExecutor({ registry, policy: counting('decisions') });
  /** Returns what was counted since the last time. */
  const taken = () => {
    const { ...now } = counts;
    Object.assign(counts, { checks: 0, decisions: 0, bridge: 0, runs: 0 });
    return now;
  };
  return { registry, executor, bridgePolicy: counting('bridge'), taken };
}

describe.each(WAYS)('a call of $way is checked and decided once', ({ open }) => {
  it('a call is checked and judged once, and once more with its approval', async () => {
    const { registry, executor, taken } = counted();
    const server = createMcpServer(registry, { executor });
    onTestFinished(() => server.close());
    const client = await open(server, {
      answer: () => {
        expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 0 });
        return { action: 'accept', content: {} };
      },
    });
    await client.call('read', { text: 'hello' });
    expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 1 });
    await client.call('write', { text: 'hello' });
    expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 1 });
  });
});
