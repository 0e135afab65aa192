import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { defineTool, lintTools, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import type { JsonSchema } from '../../src/tool/tool-schema.js';

/** Evaluates code in another realm, whose `Object`, `Array`, `Promise`, and `Error` are its own. */
const realm = createContext({});
const elsewhere = <T>(code: string): T => runInContext(code, realm) as T;

const READER = {
  name: 'reader',
  description: 'Reads a row',
  accessMode: 'readonly',
  executionCategory: 'compute',
} as const;

describe('values of another realm, such as those that jest passes to tests', () => {
  it('are plain data in declarations, inputs, and results', async () => {
    const registry = new ToolMetadataRegistry(elsewhere('({})'));
    registry.register(
      defineTool({
        ...READER,
        ...elsewhere<object>("({ metadata: { team: ['billing'] }, keywords: ['row'] })"),
        inputSchema: elsewhere<JsonSchema>(
          "({ type: 'object', properties: { id: { type: 'number' } }, required: ['id'] })",
        ),
        outputSchema: elsewhere<JsonSchema>("({ type: 'object' })"),
        execute: () => elsewhere('Promise.resolve({ rows: [1, { two: 2 }] })'),
      }),
    );
    const executor = new ToolExecutor(
      elsewhere<(given: ToolMetadataRegistry) => { registry: ToolMetadataRegistry }>(
        '(registry) => ({ registry })',
      )(registry),
    );
    expect(lintTools(registry)).toBeInstanceOf(Array);
    expect(
      await executor.execute(elsewhere("({ id: '1', name: 'reader', input: { id: 7 } })")),
    ).toMatchObject({ status: 'ok', value: { rows: [1, { two: 2 }] } });
  });

  it('are recognized as errors and rejected promises', async () => {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        ...READER,
        inputSchema: { type: 'object', properties: {} },
        execute: () => elsewhere("Promise.reject(new RangeError('out of rows'))"),
      }),
    );
    const executor = new ToolExecutor({ registry, exposeErrors: 'full' });
    expect(await executor.execute({ id: '1', name: 'reader', input: {} })).toMatchObject({
      status: 'error',
      message: expect.stringContaining('out of rows'),
    });
  });

  it('are refused if they are instances of a class', () => {
    const registry = new ToolMetadataRegistry();
    expect(() => registry.register(elsewhere('new (class Options {})()'))).toThrow(/Options/);
    expect(() =>
      defineTool({
        ...READER,
        inputSchema: { type: 'object', properties: {} },
        metadata: elsewhere('({ when: new Date(0) })'),
        execute: () => 1,
      }),
    ).toThrow(/plain data/);
  });
});
