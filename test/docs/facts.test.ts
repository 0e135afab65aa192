import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SafetyPolicy, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import * as interop from '../../src/interop.js';
import {
  toAISDKTools,
  toAnthropicTools,
  toGeminiTools,
  toLangChainTools,
  toOpenAIAgentsTools,
  toOpenAITools,
} from '../../src/interop.js';
import { WAIT_MS } from '../../src/mcp/discovery/discovery-options.js';
import { readMcpSettings } from '../../src/mcp.js';
import { createDefaultTools } from '../../tools/index.js';
import { EVERY_OPTION } from '../tool/sample-tools.js';

const page = (name: string) =>
  readFileSync(resolve(import.meta.dirname, `../../docs/${name}.md`), 'utf8');

describe('what docs/frameworks.md says about options', () => {
  const registry = new ToolMetadataRegistry();
  const executor = new ToolExecutor({ registry });
  const options = {
    executor,
    policy: new SafetyPolicy({ registry }),
    context: {},
    caller: () => ({}),
    principal: 'ada',
    scopes: [],
    flags: [],
    persona: 'Ada',
    conversationId: 'talk-1',
    mode: 'read-only',
  } as const;

  it.each(Object.keys(interop).filter((name) => /^(?:to(?!Mcp)|from)/.test(name)))(
    'names the function %s',
    (name) => expect(page('frameworks')).toContain(`${name}\``),
  );

  it('lists these options', () =>
    expect(page('frameworks').replaceAll('\n', ' ')).toContain(
      `take ${Object.keys(options)
        .map((option) => `\`${option}\``)
        .join(', ')
        .replace(/, (`mode`)$/, ' and $1')}.`,
    ));

  it('the AI SDK and OpenAI Agents take all of them, and LangChain all except policy', async () => {
    expect(() => toAISDKTools(registry, options)).not.toThrow();
    expect(() => toOpenAIAgentsTools(registry, options)).not.toThrow();
    const { policy, ...others } = options;
    await expect(toLangChainTools(registry, { ...others, confirm: () => true })).resolves.toEqual(
      [],
    );
    await expect(
      (async () => toLangChainTools(registry, { ...others, policy } as never))(),
    ).rejects.toThrow('policy');
  });

  it.each([toOpenAITools, toAnthropicTools, toGeminiTools])(
    '$name takes none of them',
    (export_) => {
      for (const [name, value] of Object.entries(options))
        expect(() => export_(registry, { [name]: value } as never), name).toThrow(name);
    },
  );
});

it('docs/mcp.md quotes the default times and limits of servers', () => {
  const { servers } = readMcpSettings({ mcpServers: { notes: { command: 'notes' } } });
  const { timeoutMs, startupTimeoutMs, healthCheckIntervalMs, maxTools } = servers[0]!;
  const text = page('mcp');
  expect(text).toContain(`\`waitMs\` (${WAIT_MS.toLocaleString('en')} ms)`);
  expect(startupTimeoutMs).toBe(timeoutMs);
  expect(text).toContain(`for startup, in seconds (${timeoutMs / 1_000})`);
  expect(text).toContain(`fresh, in seconds (${healthCheckIntervalMs / 1_000})`);
  expect(text).toContain(`number of tools (${maxTools.toLocaleString('en')})`);
});

it('docs/options.md has a row for every option of tools', () => {
  const [section] = page('options').split('\n## `new ToolMetadataRegistry');
  const named = [...section!.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`(\w+)/g)].map(([, option]) => option!),
  );
  expect(Object.keys(EVERY_OPTION).filter((option) => !named.includes(option))).toEqual([]);
});

it('docs/bundled-tools.md has every bundled tool in its table', () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools());
  const rows = [...page('bundled-tools').matchAll(/^\| [a-z ]+ \| ((?:`\w+` )+)\|/gm)];
  const named = rows.flatMap(([, cell]) => cell!.match(/\w+/g)!);
  expect(named.sort()).toEqual([...registry].map(({ name }) => name).sort());
});

it('every file and folder that CONTRIBUTING.md names by its path exists', () => {
  const root = resolve(import.meta.dirname, '../..');
  const text = readFileSync(resolve(root, 'CONTRIBUTING.md'), 'utf8');
  const named = [...text.matchAll(/`((?:[a-z-]+\/)+[\w.-]+)`/g)].map(([, path]) => path!);
  const isThere = (path: string) =>
    [path, `src/${path}`, `src/${path}.ts`].some((each) => existsSync(resolve(root, each)));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});
