import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import type { ToolMessage } from '@langchain/core/messages';
import { generateText, stepCountIs } from 'ai';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { chat, scriptedModel, Session } from '../../src/chat.js';
import {
  defineTool,
  file,
  image,
  ok,
  resourceLink,
  text,
  ToolExecutor,
  ToolMetadataRegistry,
  type ContentPart,
  type ToolContext,
} from '../../src/index.js';
import {
  toAISDKTools,
  toAnthropicTools,
  toGeminiTools,
  toLangChainTools,
  toOpenAIAgentsTools,
  toOpenAITools,
} from '../../src/interop.js';
import { createMcpServer } from '../../src/mcp.js';
import { agentsModel, aiModel, readByAgentsModel, readByAIModel } from './framework-models.js';
import { WAYS } from '../mcp/server-clients.js';

/** A screenshot of 700 kB, text for the model, a PDF, a link, and a part for users only. */
const BYTES = new Uint8Array(700_000).fill(7);
const PNG = Buffer.from(BYTES).toString('base64');

function withShot(execute: (input: object, context: ToolContext) => unknown) {
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'shot',
      description: 'Takes a screenshot',
      inputSchema: { type: 'object', properties: {} },
      accessMode: 'readonly',
      execute,
    }),
  );
  return { registry, executor: new ToolExecutor({ registry }) };
}

const setUp = () =>
  withShot(() =>
    ok(
      { width: 1_024 },
      {
        content: [
          text('The page, 1024 wide'),
          image(BYTES, 'image/png'),
          file(new Uint8Array([37, 80]), 'application/pdf', { name: 'page.pdf' }),
          resourceLink('https://example.org/page'),
          text('saved under ~/shots', { audience: ['user'] }),
        ],
      },
    ),
  );
const call = { id: 'c1', name: 'shot', input: {} };
const LINK = '[link to page, https://example.org/page]';

beforeAll(() => setTracingDisabled(true));

it("OpenAI's responses API receives an image and a file, and its chat API receives descriptions", async () => {
  const { registry, executor } = setUp();
  const outcome = await executor.execute(call);
  expect(toOpenAITools(registry, { api: 'responses' }).toMessages([outcome])[0]!.output).toEqual([
    { type: 'input_text', text: 'The page, 1024 wide' },
    { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
    { type: 'input_file', filename: 'page.pdf', file_data: 'data:application/pdf;base64,JVA=' },
    { type: 'input_text', text: LINK },
  ]);
  expect(toOpenAITools(registry).toMessages([outcome])[0]!.content).toBe(
    `The page, 1024 wide\n[image: image/png, 684 KiB]\n[file page.pdf: application/pdf, 2 bytes]\n${LINK}`,
  );
});

it('Anthropic receives an image and a document, and Gemini receives response parts', async () => {
  const { registry, executor } = setUp();
  const outcome = await executor.execute(call);
  expect(toAnthropicTools(registry).toMessages([outcome])[0]!.content[0]).toEqual({
    type: 'tool_result',
    tool_use_id: 'c1',
    content: [
      { type: 'text', text: 'The page, 1024 wide' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVA=' },
      },
      { type: 'text', text: LINK },
    ],
  });
  const { functionResponse } = toGeminiTools(registry).toMessages([outcome])[0]!.parts[0]!;
  expect(functionResponse.parts).toEqual([
    { inlineData: { mimeType: 'image/png', data: PNG } },
    { inlineData: { mimeType: 'application/pdf', data: 'JVA=' } },
  ]);
  expect(functionResponse.response['output']).toMatch(/^The page, 1024 wide\n/);
});

it("the AI SDK's model receives the content, and the program receives the value", async () => {
  const model = aiModel([['c1', 'shot', {}]], 'done');
  const { registry, executor } = setUp();
  const { steps } = await generateText({
    model,
    tools: toAISDKTools(registry, { executor }),
    prompt: 'a screenshot please',
    stopWhen: stepCountIs(3),
  });
  expect(steps[0]!.toolResults[0]!.output).toEqual({ width: 1_024 });
  expect({ output: readByAIModel(model)[0] }).toMatchObject({
    output: {
      type: 'content',
      value: [
        { type: 'text', text: 'The page, 1024 wide' },
        { type: 'image-data', data: PNG, mediaType: 'image/png' },
        { type: 'file-data', mediaType: 'application/pdf', filename: 'page.pdf' },
        { type: 'text', text: LINK },
      ],
    },
  });
});

it('LangChain receives content blocks, and OpenAI Agents receives structured output', async () => {
  const { registry, executor } = setUp();
  const [tool] = await toLangChainTools(registry, { executor });
  const message = (await tool!.invoke({
    type: 'tool_call',
    id: 'c1',
    name: 'shot',
    args: {},
  })) as ToolMessage;
  expect([message.content, message.artifact]).toEqual([
    [
      { type: 'text', text: 'The page, 1024 wide' },
      { type: 'image', mimeType: 'image/png', data: PNG },
      {
        type: 'file',
        mimeType: 'application/pdf',
        data: 'JVA=',
        metadata: { filename: 'page.pdf' },
      },
      { type: 'text', text: LINK },
    ],
    { width: 1_024 },
  ]);

  const model = agentsModel([['c1', 'shot', {}]], 'done');
  await new Runner({ tracingDisabled: true }).run(
    new Agent({ name: 'a', model, tools: toOpenAIAgentsTools(registry, { executor }) as never }),
    'a screenshot please',
  );
  expect({ output: readByAgentsModel(model)[0]![1] }).toMatchObject({
    output: [
      { type: 'input_text', text: 'The page, 1024 wide' },
      { type: 'input_image', image: `data:image/png;base64,${PNG}` },
      { type: 'input_file', filename: 'page.pdf' },
      { type: 'input_text', text: LINK },
    ],
  });
});

it("a chat's model receives the content, and a stored session keeps it", async () => {
  const { executor } = setUp();
  const script = () => scriptedModel([{ calls: [call] }, 'done']);
  const { messages } = await chat({ model: script(), executor, prompt: 'a screenshot please' });
  const expected = {
    output: {
      type: 'content',
      value: [
        { type: 'text' },
        { type: 'image-data', data: PNG, mediaType: 'image/png' },
        { type: 'file-data' },
        { type: 'text' },
      ],
    },
  };
  expect(messages[2]!.content[0]).toMatchObject(expected);
  const { session } = await Session.create().start(
    { model: script(), executor },
    'a screenshot please',
  );
  expect(
    Session.fromJSON(JSON.parse(JSON.stringify(session))).messages[2]!.content[0],
  ).toMatchObject(expected);
});

it('an MCP client receives content blocks', async () => {
  const { registry, executor } = setUp();
  const server = createMcpServer(registry, { executor });
  onTestFinished(() => server.close());
  const client = await WAYS[0]!.open(server);
  expect(await client.call('shot')).toMatchObject({
    structuredContent: { width: 1_024 },
    content: [
      { type: 'text', text: 'The page, 1024 wide' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: { uri: 'attachment:///page.pdf', mimeType: 'application/pdf', blob: 'JVA=' },
      },
      { type: 'resource_link', uri: 'https://example.org/page', name: 'page' },
      { type: 'text', text: 'saved under ~/shots', annotations: { audience: ['user'] } },
    ],
  });
});

const bytes = new Uint8Array([1, 2, 3]);
const NOTE = "(not shown: models can't read it here)";

async function exported(...content: ContentPart[]) {
  const { registry, executor } = withShot(() => ok(null, { content }));
  const outcome = await executor.execute(call);
  const [langChain] = await toLangChainTools(registry, { executor });
  const tools = toAISDKTools(registry, { executor });
  const input = {};
  const output = await tools['shot']!.execute!(input, { toolCallId: 'c1', messages: [] });
  return {
    openai: toOpenAITools(registry, { api: 'responses' }).toMessages([outcome])[0]!.output,
    anthropic: (
      toAnthropicTools(registry).toMessages([outcome])[0]!.content[0] as { content: unknown }
    ).content,
    gemini: toGeminiTools(registry).toMessages([outcome])[0]!.parts[0]!.functionResponse,
    langChain: (
      (await langChain!.invoke({
        type: 'tool_call',
        id: 'c1',
        name: 'shot',
        args: {},
      })) as ToolMessage
    ).content,
    aiSDK: tools['shot']!.toModelOutput!({ toolCallId: 'c1', input, output }),
  };
}

it.each<readonly [string, ContentPart, string]>([
  [
    'an SVG image',
    image(bytes, 'image/svg+xml', { name: 'chart.svg' }),
    '[image chart.svg: image/svg+xml, 3 bytes]',
  ],
  [
    'an image with a file: URL',
    image('file:///tmp/a.png', 'image/png'),
    '[image: image/png, file:///tmp/a.png]',
  ],
  [
    'an archive',
    file(bytes, 'application/zip', { name: 'a.zip' }),
    '[file a.zip: application/zip, 3 bytes]',
  ],
])('the model receives a description of %s instead', async (_, part, words) => {
  const alone = await exported(part);
  const told = `${words} ${NOTE}`;
  expect(alone).toMatchObject({
    openai: told,
    anthropic: told,
    langChain: told,
    aiSDK: { type: 'text', value: told },
  });
  expect([alone.gemini.parts ?? [], alone.gemini.response['output']]).toEqual([[], words]);
  const { openai, anthropic, gemini, aiSDK } = await exported(image(bytes, 'image/jpg'), part);
  expect(openai).toEqual([
    { type: 'input_image', image_url: 'data:image/jpeg;base64,AQID', detail: 'auto' },
    { type: 'input_text', text: told },
  ]);
  expect(anthropic).toEqual([
    { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AQID' } },
    { type: 'text', text: told },
  ]);
  expect(gemini.parts).toEqual([{ inlineData: { mimeType: 'image/jpeg', data: 'AQID' } }]);
  expect(aiSDK).toEqual({
    type: 'content',
    value: [
      { type: 'image-data', data: 'AQID', mediaType: 'image/jpeg' },
      { type: 'text', text: told },
    ],
  });
});

it("each user's model sees only the content of its own call, even with the same ids and values", async () => {
  const shots: Record<string, ContentPart> = {
    ada: image(new Uint8Array([1]), 'image/png'),
    bob: image(new Uint8Array([2]), 'image/png'),
  };
  const { registry, executor } = withShot((_input, { principal }) =>
    ok(null, { content: [shots[principal!]!] }),
  );
  const { shot } = toAISDKTools(registry, {
    executor,
    caller: (context: { user: string }) => ({ principal: context.user }),
  });
  const run = async (user: string, input: object) => ({
    toolCallId: 'call_0',
    input,
    output: await shot!.execute!(input, {
      toolCallId: 'call_0',
      messages: [],
      experimental_context: { user },
    }),
  });
  const imageOf = (data: string) => ({
    type: 'content',
    value: [{ type: 'image-data', data, mediaType: 'image/png' }],
  });
  const [ofAda, ofBob] = [await run('ada', {}), await run('bob', {})];
  expect([shot!.toModelOutput!(ofAda), shot!.toModelOutput!(ofBob)]).toEqual([
    imageOf('AQ=='),
    imageOf('Ag=='),
  ]);
});
