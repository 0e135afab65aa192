import { expect, it } from 'vitest';
import { CapabilityRegistry, manifestJsonSchema } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { toolsFromJson, toolToJson, ToolMetadataRegistry } from '../../src/index.js';
import { DETAIL_FIELDS, LIST_FIELDS } from '../../src/http/wire-tool.js';
import { AXIS_NAMES, AXES } from '../../src/tool/axes.js';
import { TOOL_FIELDS, type FieldName, type ToolField } from '../../src/tool/tool-fields.js';
import type { ToolOptions } from '../../src/tool/tool-options.js';
import { EVERY_OPTION as OPTIONS } from './sample-tools.js';
import { SCHEMA_LEVELS, renderTool } from '../../src/tool/render-tool.js';
import { tooldex } from '../cli/command-line.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const tool = definitionOf(OPTIONS);
const rows = Object.entries<ToolField>(TOOL_FIELDS) as readonly (readonly [FieldName, ToolField])[];
const optionRows = rows.filter(([, { from }]) => from === undefined);
const keys = (value: unknown) => Object.keys(value as object).sort();
/** Returns the options whose text appears in an output. */
function marksIn(text: string): readonly string[] {
  const marks = new Set(text.toLowerCase().match(/mark-[a-z]+/g));
  return keys(OPTIONS).filter((option) => marks.has(`mark-${option.toLowerCase()}`));
}

/** The fields that are shown for a single tool, including derived fields. */
const detailed = [...LIST_FIELDS, ...DETAIL_FIELDS, 'derived_sets', 'shown_to_models'].sort();

async function catalogue() {
  const capabilities = await CapabilityRegistry.load({ tools: [tool], env: {} });
  const app = createDiscoveryApp(capabilities, { page: false });
  const get = async (path: string) =>
    await (await app.request(`http://localhost${path}`, { headers: { host: 'localhost' } })).text();
  return {
    get,
    json: async (path: string) => JSON.parse(await get(path)) as Record<string, never>,
  };
}

it('the table has a row with a unique wire name for every option', () => {
  expect(optionRows.map(([name]) => name).sort()).toEqual(keys(OPTIONS));
  expect(new Set(rows.map(([, { wire }]) => wire)).size).toBe(rows.length);
  for (const [, { wire }] of rows) expect(wire).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

it('a tool with every option is stored with all options and restored as the same tool', () => {
  const stored = toolToJson(tool);
  const functions = optionRows.filter(([, { kind }]) => kind === 'function').map(([name]) => name);
  expect(keys(stored)).toEqual(
    [
      ...keys(OPTIONS).filter((name) => !functions.includes(name as FieldName)),
      'code',
      'digest',
      'format',
    ].sort(),
  );
  expect(stored.code).toEqual(functions);
  const json = JSON.parse(JSON.stringify([stored])) as unknown;
  const code = Object.fromEntries(functions.map((name) => [name, OPTIONS[name as 'available']]));
  expect(toolsFromJson(json, { 'mark-name': code }).tools).toEqual([tool]);
  for (const part of functions)
    expect(toolsFromJson(json, { 'mark-name': { ...code, [part]: undefined } }).missing).toEqual([
      { name: 'mark-name', parts: [part] },
    ]);
});

it("the manifest schema has the table's keys", () => {
  const { definitions } = manifestJsonSchema as { definitions: { tool: { properties: object } } };
  expect(keys(definitions.tool.properties)).toEqual(
    [
      ...rows.filter(([, { kind }]) => kind !== 'function').map(([, { wire }]) => wire),
      'type',
    ].sort(),
  );
});

it('the HTTP routes return exactly the fields of their table, and every axis', async () => {
  const { get, json } = await catalogue();
  const { tools } = await json('/tools');
  expect(keys(tools![0])).toEqual([...LIST_FIELDS].sort());
  expect(LIST_FIELDS).toEqual(expect.arrayContaining(AXIS_NAMES.map((name) => AXES[name].wire)));
  expect(keys(await json('/tools/mark-name'))).toEqual(detailed);
  const shown = (fields: readonly string[]) =>
    marksIn(JSON.stringify(OPTIONS)).filter((option) =>
      fields.includes(TOOL_FIELDS[option as keyof ToolOptions].wire),
    );
  expect(marksIn(await get('/tools'))).toEqual(shown(LIST_FIELDS));
  expect(marksIn(await get('/tools/mark-name'))).toEqual(shown([...LIST_FIELDS, ...DETAIL_FIELDS]));
  expect(await get('/tools/mark-name')).not.toContain('secret-of');
});

it('models see the name, the description and the input of a tool, or its summary', () => {
  const registry = new ToolMetadataRegistry();
  registry.register(tool);
  const seen = SCHEMA_LEVELS.flatMap((level) =>
    marksIn(JSON.stringify(renderTool(registry.require('mark-name'), level))),
  );
  expect([...new Set(seen)].sort()).toEqual(['description', 'inputSchema', 'name', 'summary']);
});

it('the command line prints every axis as a column, and every axis and fact of a tool', async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(tool);
  const axes = AXIS_NAMES.map((name) => AXES[name].wire.split('_')[0]!);
  const { out } = await tooldex(['list'], { tools: registry, columns: Infinity });
  expect(out.split('\n')[0]!.trim().toLowerCase().split(/\s+/)).toEqual([
    'tool',
    'category',
    ...axes,
  ]);
  const shown = await tooldex(['show', 'mark-name'], { tools: registry });
  const facts = shown.out.split('\ninput')[0]!.split('\n').slice(2);
  const labels = facts.filter((line) => /^\S/.test(line)).map((line) => line.slice(0, 18).trim());
  expect(labels).toEqual(expect.arrayContaining(['category', ...axes, 'side effects', 'digest']));
  expect(labels.slice(-2)).toEqual(['derived sets', 'file']);
});
