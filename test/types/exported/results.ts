// A library that exports values returned by tooldex functions. Its declarations must name or inline
// every type.
import { createToolSearchTool, defaultRegistry, defineTool, fail, lintTools, ok, planExecution, SafetyPolicy, selectTools, tool, ToolExecutor, toolsFromJson, toolToJson } from 'tooldex';
import { z } from 'zod';

export const add = defineTool({ name: 'add', description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b });
export const decorator = tool({ name: 'add', description: 'Adds two numbers', inputSchema: z.object({ a: z.number() }) });
export const found = defaultRegistry.search('add');
export const [best] = found;
export const matches = best!.matches;
export const corrections = best!.corrections;
export const matched = defaultRegistry.getToolsMatchingTextScored('add');
export const summary = defaultRegistry.summary();
export const metrics = defaultRegistry.metrics;
export const hits = metrics.topKeywords;
export const entry = defaultRegistry.require('add');
export const auth = entry.auth;
export const providers = entry.providers;
export const selection = selectTools(defaultRegistry, { text: 'add' });
export const chosen = selection.tools;
export const reasons = chosen.map(({ reason }) => reason);
export const dropped = selection.dropped;
export const rendered = chosen.map((each) => each.rendered);
export const search = createToolSearchTool(defaultRegistry);
export const findings = lintTools(defaultRegistry);
export const severities = findings.map(({ severity }) => severity);
export const stored = toolToJson(entry);
export const restored = toolsFromJson([stored], {});
export const missing = restored.missing;
export const plan = planExecution(defaultRegistry, [{ id: '1', name: 'add', input: {} }]);
export const batches = plan.batches;
export const policy = new SafetyPolicy({ registry: defaultRegistry });
export const decision = policy.decide({ id: '1', name: 'add', input: {} });
export const executor = new ToolExecutor({ registry: defaultRegistry });
export const outcome = await executor.execute({ id: '1', name: 'add', input: {} });
export const outcomes = await executor.executeAll([{ id: '1', name: 'add', input: {} }]);
export const waiting = await executor.waiting({ limit: 1 });
export const result = ok(1);
export const failure = fail('no');
