import { expect, it } from 'vitest';
import fc from 'fast-check';
import { z } from 'zod';
import {
  createToolSearchTool,
  DangerLevel,
  defineTool,
  selectTools,
  ToolMetadataRegistry,
} from '../../src/index.js';
import {
  chat,
  scriptedModel,
  Session,
  type ChatOptions,
  type ModelRequest,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { outputsOf, reads, toolOf } from './chat-cases.js';
import { propertyRuns } from '../property-runs.js';

const animals =
  'cat dog cow fox owl pig hen ape bee elk yak emu gnu ram rat bat eel ant jay koi'.split(' ');
function zoo(): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    animals.map((animal) =>
      defineTool({
        ...reads,
        name: `feed_${animal}`,
        description: `Feeds the ${animal}. It is hungry.`,
        keywords: [animal],
        inputSchema: z.object({ grams: z.number().optional() }),
        execute: () => `${animal} is fed`,
      }),
    ),
  );
  registry.register(
    defineTool({
      ...reads,
      dangerLevel: DangerLevel.LOW,
      name: 'open_cage',
      description: 'Opens the cage of the lion',
      keywords: ['lion'],
      inputSchema: z.object({}),
      execute: () => 'open',
    }),
  );
  return registry;
}

const namesOf = ({ tools }: ModelRequest) => tools.map(({ name }) => name);
const bytesOf = ({ tools }: ModelRequest) => tools.map((tool) => JSON.stringify(tool));
function expectPrefixes(requests: readonly ModelRequest[]) {
  for (const [at, request] of requests.entries())
    if (at > 0)
      expect(bytesOf(request).slice(0, requests[at - 1]!.tools.length)).toEqual(
        bytesOf(requests[at - 1]!),
      );
}
const search = (query: string): ScriptedAnswer => ({
  calls: [{ name: 'find_tools', input: { query } }],
});
const call = (name: string, id?: string): ScriptedAnswer => ({
  calls: [{ ...(id !== undefined && { id }), name }],
});

async function run(answers: readonly ScriptedAnswer[], options: Partial<ChatOptions> = {}) {
  const model = scriptedModel(answers);
  const result = await chat({
    model,
    tools: zoo(),
    prompt: 'Feed the cat and the dog',
    selectTools: { maxTools: 3 },
    ...options,
  });
  return { result, requests: model.requests };
}

it('without selectTools, the model sees all available tools in registration order', async () => {
  const registry = zoo();
  registry.register(toolOf('absent', () => 1, { available: () => false }));
  const { requests } = await run(['hi'], { selectTools: undefined as never, tools: registry });
  expect(namesOf(requests[0]!)).toEqual(
    [...registry].map(({ name }) => name).filter((name) => name !== 'absent'),
  );
});

it("selectTools chooses tools by the user's request, and lists them after the search tool", async () => {
  const { requests } = await run(['hi']);
  expect(namesOf(requests[0]!).slice(0, 1)).toEqual(['find_tools']);
  expect(namesOf(requests[0]!).slice(1).sort()).toEqual(['feed_cat', 'feed_dog']);
});

it('tools found by the search tool can be called, and keep their positions', async () => {
  const { result, requests } = await run([
    search('fox'),
    call('feed_fox', 'f'),
    search('owl'),
    call('feed_owl', 'o'),
    call('feed_cat', 'c'),
    'done',
  ]);
  expect(outputsOf(result.messages)).toMatchObject({
    f: { value: 'fox is fed' },
    o: { value: 'owl is fed' },
    c: { value: 'cat is fed' },
  });
  expect(namesOf(requests[0]!)).not.toContain('feed_fox');
  expect(namesOf(requests[1]!)).toContain('feed_fox');
  expectPrefixes(requests);
});

it("a tool that wasn't shown can't be called", async () => {
  const { result } = await run(
    [
      {
        calls: [
          { id: 'l', name: 'open_cage' },
          { id: 'c', name: 'feed_cat' },
        ],
      },
      'done',
    ],
    { selectTools: { maxTools: 3, exclude: ['open_cage'] } },
  );
  expect(outputsOf(result.messages)).toMatchObject({
    l: { type: 'error-text', value: expect.stringContaining('open_cage') },
    c: { value: 'cat is fed' },
  });
});

it('tools excluded by the limits are never offered', async () => {
  const { result, requests } = await run([search('lion cage'), call('open_cage', 'l'), 'done'], {
    selectTools: { maxDanger: DangerLevel.SAFE },
  });
  expect(outputsOf(result.messages)).toMatchObject({ l: { type: 'error-text' } });
  expect(requests.flatMap(namesOf)).not.toContain('open_cage');
});

it("each turn's tool list starts with the same bytes as the previous list", async () => {
  const step = fc.oneof(
    fc.constantFrom(...animals).map((animal) => ({ find: animal })),
    fc.constantFrom(...animals).map((animal) => ({ explain: `feed_${animal}` })),
    fc.nat(1_000).map((register) => ({ register })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.record(
        {
          maxTools: fc.integer({ min: 1, max: 6 }),
          tokenBudget: fc.option(fc.integer({ min: 60, max: 400 }), { nil: undefined }),
        },
        { noNullPrototype: true },
      ),
      fc.boolean(),
      async (steps, { maxTools, tokenBudget }, everything) => {
        const registry = zoo();
        const answers = steps.map((each): ScriptedAnswer => () => {
          if ('register' in each) {
            if (!registry.has(`new_${each.register}`))
              registry.register(toolOf(`new_${each.register}`, () => 1, { keywords: ['cat'] }));
            return { calls: [{ name: 'find_tools', input: { query: 'cat' } }] };
          }
          return {
            calls: [
              {
                name: 'find_tools',
                input: 'find' in each ? { query: each.find } : { names: [each.explain] },
              },
            ],
          };
        });
        const { requests } = await run([...answers, 'done'], {
          tools: registry,
          maxTurns: 20,
          toolSearch: true,
          selectTools: everything
            ? (undefined as never)
            : { maxTools, ...(tokenBudget !== undefined && { tokenBudget }) },
        });
        expect(requests.length).toBe(steps.length + 1);
        expectPrefixes(requests);
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

it('tools keep their positions when a session continues in another process', async () => {
  const engine = { tools: zoo(), selectTools: { maxTools: 4 } };
  const first = scriptedModel([search('fox'), 'ok']);
  const { session } = await Session.create({ id: 's', context: {}, messages: [] }).start(
    { ...engine, model: first },
    'Feed the cat',
  );
  const second = scriptedModel(['ok']);
  await Session.fromJSON(JSON.parse(JSON.stringify(session))).reply(
    { ...engine, model: second },
    'And the owl',
  );
  const all = [...first.requests, ...second.requests];
  expectPrefixes(all);
  expect(namesOf(all.at(-1)!)).toContain('feed_owl');
});

it('a selectTools function alone decides which tools are offered, unless toolSearch is on', async () => {
  const registry = zoo();
  const { requests, result } = await run([search('fox'), call('feed_fox', 'f'), 'done'], {
    tools: registry,
    selectTools: () => selectTools(registry, { text: 'cat', maxTools: 1 }),
  });
  expect(requests.map(namesOf)).toEqual([['feed_cat'], ['feed_cat'], ['feed_cat']]);
  expect(outputsOf(result.messages)['f']).toMatchObject({ type: 'error-text' });
});

it("a search tool in the registry replaces the chat's own search tool", async () => {
  const registry = zoo();
  registry.register(createToolSearchTool(registry, { name: 'discover' }));
  const { requests, result } = await run(
    [{ calls: [{ name: 'discover', input: { query: 'fox' } }] }, call('feed_fox', 'f'), 'done'],
    { tools: registry },
  );
  expect(requests.flatMap(namesOf)).not.toContain('find_tools');
  expect(outputsOf(result.messages)).toMatchObject({ f: { value: 'fox is fed' } });
  expectPrefixes(requests);
});

it('a tool that toolChoice requires is shown in full', async () => {
  const { requests } = await run(['hi'], { toolChoice: { toolName: 'feed_koi' } });
  expect(namesOf(requests[0]!).at(-1)).toBe('feed_koi');
  await expect(run(['hi'], { toolChoice: { toolName: 'constructor' } })).rejects.toMatchObject({
    code: 'TOOL_NOT_FOUND',
  });
});

it('tools keep their names in every turn, even if the model invents names', async () => {
  const tools = [toolOf('a.b', () => 'right'), toolOf('a.c', () => 'other')];
  const model = scriptedModel([
    {
      calls: [
        { name: 'a__b', id: '1' },
        { name: 'a  b', id: '2' },
        { name: 'a..b', id: '3' },
        { name: 'a.b', id: '4' },
      ],
    },
    { calls: [{ name: 'a__b', id: '5' }] },
    'done',
  ]);
  const { messages } = await chat({ model, tools, prompt: 'x' });
  expect(model.requests.map(namesOf)).toEqual([
    ['a__b', 'a__c'],
    ['a__b', 'a__c'],
    ['a__b', 'a__c'],
  ]);
  expect(outputsOf(messages)).toMatchObject({
    1: { value: 'right' },
    2: { type: 'error-text' },
    3: { type: 'error-text' },
    4: { value: 'right' },
    5: { value: 'right' },
  });
  const sent = model.requests[1]!.messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map(({ toolName }) => toolName) : [],
  );
  expect(sent.every((name) => /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name))).toBe(true);
});
