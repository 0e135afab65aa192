import {
  completable,
  fromJsonSchema,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

// A server with everything that the official conformance suite asks for, made with the official SDK. The
// suite is run against `tooldex mcp serve` with this server behind it.

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=';
const text = (words: string) => ({ type: 'text' as const, text: words });
const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' };
const fileOf = (uri: string, words: string, mimeType = 'text/plain') => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
});
const three = (word: string) => [1, 2, 3].map((number) => `${word}${number}`);
const titled = three('value').map((value) => ({ const: value, title: `The ${value}` }));
const nothing = z.object({});

function addContentTools(server: McpServer): void {
  const returns = (name: string, content: readonly object[]) =>
    server.registerTool(name, { description: `Returns ${name}`, inputSchema: nothing }, () => ({
      content: content as never,
    }));
  returns('test_simple_text', [text('This is a simple text response for testing.')]);
  returns('test_image_content', [image]);
  returns('test_audio_content', [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }]);
  returns('test_embedded_resource', [
    fileOf('test://embedded-resource', 'This is an embedded resource content.'),
  ]);
  returns('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    fileOf('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
  ]);
  returns('test_reconnection', [text('done')]);
  server.registerTool(
    'test_error_handling',
    { description: 'Fails', inputSchema: nothing },
    () => ({
      isError: true,
      content: [text('This tool intentionally returns an error for testing')],
    }),
  );
}

function addTalkingTools(server: McpServer): void {
  server.registerTool(
    'test_tool_with_logging',
    { description: 'Logs', inputSchema: nothing },
    async (_, { mcpReq }) => {
      for (const said of ['started', 'processing data', 'completed'])
        await mcpReq.log('info', `Tool execution ${said}`);
      return { content: [text('done')] };
    },
  );
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Tells of its progress', inputSchema: nothing },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: progressToken!, progress, total: 100 },
        });
        await pause(50); // The suite asks for it. The SDK's client drops progress that arrives with the result.
      }
      return { content: [text('done')] };
    },
  );
  const asks = (name: string, message: string, properties: object, required?: string[]) =>
    server.registerTool(
      name,
      { description: 'Asks the user', inputSchema: z.object({ message: z.string().optional() }) },
      async (input, { mcpReq }) => {
        const answer = await mcpReq.elicitInput({
          mode: 'form',
          message: input.message ?? message,
          requestedSchema: {
            type: 'object',
            properties: properties as never,
            ...(required && { required }),
          },
        });
        return { content: [text(`User response: ${JSON.stringify(answer)}`)] };
      },
    );
  const who = { username: { type: 'string' }, email: { type: 'string' } };
  asks('test_elicitation', 'Who are you?', who, ['username', 'email']);
  asks('test_elicitation_sep1034_defaults', 'Are these right?', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  });
  asks('test_elicitation_sep1330_enums', 'Which?', {
    untitledSingle: { type: 'string', enum: three('option') },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: three('opt'), enumNames: three('Option ') },
    untitledMulti: { type: 'array', items: { type: 'string', enum: three('option') } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  });
}

function addResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { mimeType: 'text/plain' },
    ({ href }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'text/plain',
          text: 'This is the content of the static text resource.',
        },
      ],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png' },
    ({ href }) => ({
      contents: [{ uri: href, mimeType: 'image/png', blob: PIXEL }],
    }),
  );
  server.registerResource(
    'watched',
    'test://watched-resource',
    { mimeType: 'text/plain' },
    ({ href }) => ({
      contents: [{ uri: href, mimeType: 'text/plain', text: 'Watched' }],
    }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    ({ href }, { id }) => {
      const data = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
      return {
        contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify(data) }],
      };
    },
  );
  server.server.registerCapabilities({ resources: { subscribe: true }, logging: {} });
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function addPrompts(server: McpServer): void {
  const user = (content: object) => ({ role: 'user' as const, content: content as never });
  server.registerPrompt('test_simple_prompt', { description: 'Without arguments' }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With arguments',
      argsSchema: z.object({
        arg1: completable(z.string(), (begun) => [begun, 'paris', 'park', 'party']),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a file', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user(fileOf(resourceUri, 'Embedded resource content for testing.')),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With an image' }, () => ({
    messages: [user(image), user(text('Please analyze the image above.'))],
  }));
}

setTimeout(() => process.exit(9), 300_000).unref();
const server = new McpServer({ name: 'reference', version: '1.0.0' });
addContentTools(server);
addTalkingTools(server);
addResources(server);
addPrompts(server);
server.registerTool(
  'json_schema_2020_12_tool',
  {
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: fromJsonSchema({
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
    }),
  },
  () => ({ content: [text('ok')] }),
);
// Without `serveStdio`, it uses the 2025 protocol, like most servers.
await server.connect(new StdioServerTransport());
