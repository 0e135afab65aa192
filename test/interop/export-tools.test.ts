import { describe, expect, it } from 'vitest';
import { selectTools, ToolMetadataRegistry, type ToolEntry } from '../../src/index.js';
import { createDefaultTools } from '../../tools/index.js';
import { toAnthropicTools } from '../../src/interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../src/interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../src/interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../src/interop/export/to-openai-tools.js';
import { realCatalogue } from '../bench/catalogues.js';
import { refusal } from '../tool/sample-tools.js';
import { named, withInput } from './export-cases.js';

const real = realCatalogue();
if (real === undefined)
  console.warn(
    'exports of the real catalogue: skipped, the recorded data is not beside the checkout',
  );

const targets = {
  openai: toOpenAITools,
  anthropic: toAnthropicTools,
  gemini: toGeminiTools,
  mcp: toMcpTools,
} as const;
const bytes = (
  input: Parameters<typeof toMcpTools>[0],
  options?: { level: 'full' | 'compact' | 'stub' },
) => Object.values(targets).map((convert) => JSON.stringify(convert(input, options as never)));

/** Returns the entries of any tools. */
function entriesOf(
  tools: Parameters<ToolMetadataRegistry['registerAll']>[0],
): readonly ToolEntry[] {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return [...registry];
}

const catalogues: readonly { readonly title: string; readonly tools: readonly ToolEntry[] }[] = [
  {
    title: 'the bundled tools',
    tools: entriesOf(createDefaultTools({ root: import.meta.dirname })),
  },
  ...(real === undefined ? [] : [{ title: 'the real catalogue', tools: entriesOf(real) }]),
];

describe.each(catalogues)('$title', ({ tools }) => {
  it("exports respect OpenAI's limits", () => {
    for (const { function: each } of toOpenAITools(tools)) {
      expect(each.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(each.description.length).toBeLessThanOrEqual(1_024);
      expect(each.parameters['type']).toBe('object');
      for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'enum'])
        expect(each.parameters).not.toHaveProperty([keyword]);
    }
  });

  it('exports respect the limits of Anthropic, Gemini, and MCP', () => {
    for (const each of toAnthropicTools(tools)) expect(each.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    for (const each of toGeminiTools(tools).functionDeclarations)
      expect(each.name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    for (const each of toMcpTools(tools)) {
      expect(Object.keys(each.annotations)).toEqual(
        expect.arrayContaining([
          'readOnlyHint',
          'destructiveHint',
          'idempotentHint',
          'openWorldHint',
        ]),
      );
      expect(each.inputSchema.type).toBe('object');
    }
  });
});

describe('an export', () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    named('files.read', { description: 'Reads a file. At length.', keywords: ['read'] }),
    named('files.write', { compact: true, summary: 'Writes' }),
  ]);

  it('the same tools are exported as the same bytes from a list of any type', () => {
    const entries = [...registry];
    for (const input of [
      registry,
      entries,
      new Set(entries),
      entries.map(({ definition }) => definition),
    ])
      expect(bytes(input)).toEqual(bytes(registry));
  });

  it("an export keeps a selection's levels, and exports compact tools as stubs", () => {
    const selection = selectTools(registry, { text: 'read', include: ['files.write'] });
    const shown = selection.tools.map(({ rendered }) => rendered.description);
    expect(toMcpTools(selection).map(({ description }) => description)).toEqual(shown);
    expect(toMcpTools(selection.tools).map(({ description }) => description)).toEqual(shown);
    expect(toMcpTools(registry).map(({ description }) => description)).toEqual([
      'Reads a file. At length.',
      'Writes',
    ]);
    expect(toMcpTools(selection, { level: 'stub' }).map(({ description }) => description)).toEqual(
      expect.arrayContaining(['Reads a file.', 'Writes']),
    );
  });

  it('an export has no enumerable properties except the tools in its list', () => {
    for (const convert of Object.values(targets)) {
      const exported = convert(registry) as unknown as unknown[] & { tools: unknown[] };
      expect([Array.isArray(exported), exported.tools === exported, Object.keys(exported)]).toEqual(
        [true, true, exported.map((_, index) => String(index))],
      );
    }
  });

  it('a description that is too long for OpenAI is cut between characters', () => {
    const tool = named('long', { description: `${'x'.repeat(1_022)}😀 and more` });
    expect(toOpenAITools([tool])[0]!.function.description).toBe(`${'x'.repeat(1_022)}…`);
    expect(toOpenAITools([tool], { maxDescription: Infinity })[0]!.function.description).toBe(
      tool.description,
    );
  });

  it('a list schema without items gets empty items for OpenAI', () => {
    const tool = withInput({ type: 'object', properties: { list: { type: 'array' } } });
    expect(toOpenAITools([tool])[0]!.function.parameters['properties']).toEqual({
      list: { type: 'array', items: {} },
    });
  });

  it('an MCP export includes the output schema, title, and axes', () => {
    const output = { type: 'object', properties: { sum: { type: 'number' } } };
    const [one, other] = toMcpTools([
      named('one', { outputSchema: output, metadata: { title: 'One' }, accessMode: 'readonly' }),
      named('other', { outputSchema: { type: 'string' } }),
    ]);
    expect(one).toMatchObject({
      title: 'One',
      outputSchema: output,
      annotations: { readOnlyHint: true },
      _meta: { 'tooldex/axes': { access_mode: 'readonly', requires_approval: false } },
    });
    expect(other).not.toHaveProperty('outputSchema');
  });

  it("values that aren't tools, duplicate names, and wrong options are refused", () => {
    expect(refusal(() => toOpenAITools(7 as never)).code).toBe('INVALID_ARGUMENT');
    expect(refusal(() => toOpenAITools([{}] as never)).code).toBe('NOT_A_TOOL');
    expect(refusal(() => toMcpTools([named('same'), named('same')])).code).toBe('DUPLICATE_TOOL');
    const wrong = refusal(() =>
      toOpenAITools([], { level: 'huge', api: 'chats', stricter: true } as never),
    );
    expect([wrong.code, (wrong.details['issues'] as unknown[]).length]).toEqual([
      'INVALID_ARGUMENT',
      3,
    ]);
    for (const convert of Object.values(targets))
      expect(refusal(() => convert([], { nope: 1 } as never)).code).toBe('INVALID_ARGUMENT');
  });
});
