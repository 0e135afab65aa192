import { z } from 'zod';
import {
  AccessMode,
  askUser,
  audio,
  DangerLevel,
  defineTool,
  ExecutionCategory,
  fail,
  file,
  image,
  ok,
  text,
  ToolMetadataRegistry,
} from '../../../src/index.js';
import { createMcpServer } from '../../../src/mcp.js';

// The tools for the official conformance suite. The program prints its address. To use it by hand,
// bundle and start it, and then run `npx @modelcontextprotocol/conformance server --url <address>` in a
// folder outside the checkout (needs Node 22).

const reads = {
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.COMPUTE,
} as const;
const nothing = z.object({});
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
  'base64',
);
const SILENCE = Buffer.from(
  'UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=',
  'base64',
);
const three = (word: string) => [1, 2, 3].map((number) => `${word}${number}`);
const titled = three('value').map((value) => ({ const: value, title: `The ${value}` }));

const registry = new ToolMetadataRegistry();
registry.registerAll([
  defineTool({
    ...reads,
    name: 'test_simple_text',
    description: 'Returns a text',
    inputSchema: nothing,
    execute: () => 'This is a simple text response for testing.',
  }),
  defineTool({
    ...reads,
    name: 'test_image_content',
    description: 'Returns an image',
    inputSchema: nothing,
    execute: () => ok(null, { content: [image(PIXEL, 'image/png')] }),
  }),
  defineTool({
    ...reads,
    name: 'test_audio_content',
    description: 'Returns audio',
    inputSchema: nothing,
    execute: () => ok(null, { content: [audio(SILENCE, 'audio/wav')] }),
  }),
  defineTool({
    ...reads,
    name: 'test_embedded_resource',
    description: 'Returns a file',
    inputSchema: nothing,
    execute: () =>
      ok(null, {
        content: [
          file(Buffer.from('This is an embedded resource content.'), 'text/plain', {
            name: 'test://embedded-resource',
          }),
        ],
      }),
  }),
  defineTool({
    ...reads,
    name: 'test_multiple_content_types',
    description: 'Returns a text, an image and a file',
    inputSchema: nothing,
    execute: () =>
      ok(null, {
        content: [
          text('Multiple content types test:'),
          image(PIXEL, 'image/png'),
          file(Buffer.from('{"test":"data","value":123}'), 'application/json', {
            name: 'test://mixed-content-resource',
          }),
        ],
      }),
  }),
  defineTool({
    ...reads,
    name: 'test_error_handling',
    description: 'Fails',
    inputSchema: nothing,
    execute: () => fail('This tool intentionally returns an error for testing'),
  }),
  defineTool({
    ...reads,
    name: 'test_tool_with_progress',
    description: 'Tells of its progress',
    inputSchema: nothing,
    execute: (_, { reportProgress }) => {
      for (const progress of [0, 50, 100]) reportProgress?.({ progress, total: 100 });
      return 'done';
    },
  }),
  defineTool({
    ...reads,
    name: 'test_elicitation',
    description: 'Asks who the user is',
    inputSchema: z.object({ message: z.string() }),
    execute: ({ message }) =>
      askUser(message, {
        form: {
          type: 'object',
          properties: { username: { type: 'string' }, email: { type: 'string' } },
          required: ['username', 'email'],
        },
      }),
  }),
  defineTool({
    ...reads,
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks with defaults',
    inputSchema: nothing,
    execute: () =>
      askUser('Are these right?', {
        form: {
          type: 'object',
          properties: {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
            verified: { type: 'boolean', default: true },
          },
        },
      }),
  }),
  defineTool({
    ...reads,
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks for choices of all kinds',
    inputSchema: nothing,
    execute: () =>
      askUser('Which?', {
        form: {
          type: 'object',
          properties: {
            untitledSingle: { type: 'string', enum: three('option') },
            titledSingle: { type: 'string', oneOf: titled },
            legacyEnum: { type: 'string', enum: three('opt'), enumNames: three('Option ') },
            untitledMulti: { type: 'array', items: { type: 'string', enum: three('option') } },
            titledMulti: { type: 'array', items: { anyOf: titled } },
          },
        },
      }),
  }),
  defineTool({
    ...reads,
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    execute: () => 'ok',
  }),
  defineTool({
    ...reads,
    name: 'test_reconnection',
    description: 'Answers on a stream that can be resumed',
    inputSchema: nothing,
    execute: () => 'done',
  }),
]);

const required = { required: true } as const;
const { url } = await createMcpServer(registry, {
  name: 'conformance',
  resources: [
    {
      uri: 'test://static-text',
      name: 'Static text',
      mimeType: 'text/plain',
      read: () => 'This is the content of the static text resource.',
    },
    { uri: 'test://static-binary', name: 'An image', mimeType: 'image/png', read: () => PIXEL },
    {
      uri: 'test://template/{id}/data',
      name: 'A template',
      mimeType: 'application/json',
      read: (_uri, { id }) =>
        JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
    },
  ],
  prompts: [
    {
      name: 'test_simple_prompt',
      description: 'A prompt without arguments',
      get: () => 'This is a simple prompt for testing.',
    },
    {
      name: 'test_prompt_with_arguments',
      description: 'A prompt with arguments',
      arguments: {
        arg1: { ...required, complete: (begun) => [begun, 'paris', 'park', 'party'] },
        arg2: required,
      },
      get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    },
    {
      name: 'test_prompt_with_embedded_resource',
      description: 'A prompt with a file',
      arguments: { resourceUri: required },
      get: ({ resourceUri }) => [
        {
          role: 'user',
          content: file(Buffer.from('Embedded resource content for testing.'), 'text/plain', {
            name: resourceUri!,
          }),
        },
        { role: 'user', content: 'Please process the embedded resource above.' },
      ],
    },
    {
      name: 'test_prompt_with_image',
      description: 'A prompt with an image',
      get: () => [
        { role: 'user', content: image(PIXEL, 'image/png') },
        { role: 'user', content: 'Please analyze the image above.' },
      ],
    },
  ],
}).serveHttp({ port: 0 });
console.log(url);
