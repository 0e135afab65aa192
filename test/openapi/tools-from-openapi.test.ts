import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { toolsFromOpenApi, type OpenApiOptions } from '../../src/openapi.js';
import { ManualClock } from '../../src/testing.js';
import { serveDocument, type SeenRequest } from './document-server.js';

const closers: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

const PETS = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example/v1' }],
  security: [{ key: [] }],
  paths: {
    '/pets': {
      get: {
        operationId: 'listPets',
        summary: 'Lists pets',
        tags: ['pets'],
        parameters: [
          { name: 'status', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object' } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'api_key', in: 'query', schema: { type: 'string' } },
          { name: 'page', in: 'query', schema: { type: 'integer' } },
        ],
      },
      post: {
        operationId: 'addPet',
        tags: ['pets'],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
      },
    },
    '/pets/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getPet', description: 'Returns a pet' },
      delete: {
        operationId: 'deletePet',
        deprecated: true,
        'x-tooldex': { requiresConsent: true },
      },
    },
    '/pets/{id}/photo': {
      post: {
        operationId: 'addPhoto',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: {
                  photo: { type: 'string', format: 'binary' },
                  caption: { type: 'string' },
                },
              },
            },
          },
        },
      },
    },
    '/orders': {
      post: {
        operationId: 'order',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': { schema: { type: 'object', properties: {} } },
          },
        },
      },
    },
  },
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    schemas: {
      Pet: {
        type: 'object',
        required: ['id', 'name'],
        properties: {
          id: { type: 'integer', readOnly: true },
          name: { type: 'string' },
          nick: { type: 'string', nullable: true },
          parent: { $ref: '#/components/schemas/Pet' },
        },
      },
    },
  },
};

/** Loads a document, and an executor that approves every call. */
async function load(document: object, options: OpenApiOptions = {}) {
  const api = await toolsFromOpenApi(document, options);
  const registry = new ToolMetadataRegistry();
  registry.registerAll(api.tools);
  const executor = new ToolExecutor({ registry, confirm: () => true, maxAttempts: 1 });
  closers.push(() => executor.close());
  const call = (name: string, input: object = {}) =>
    executor.execute({ id: `${name}-${Math.random()}`, name, input });
  return { ...api, registry, executor, call };
}

async function served(
  document: typeof PETS | (object & { readonly paths: Readonly<Record<string, object>> }),
  options: OpenApiOptions = {},
  answers: Parameters<typeof serveDocument>[1] = {},
) {
  const server = await serveDocument(document, answers);
  closers.push(server.close);
  return { server, ...(await load(document, { baseUrl: server.baseUrl, ...options })) };
}

describe('toolsFromOpenApi', () => {
  it("takes a tool's name, description, category, and axes from its operation", async () => {
    const { registry } = await load(PETS);
    expect([...registry].map(({ name }) => name)).toEqual([
      'listPets',
      'addPet',
      'getPet',
      'deletePet',
      'addPhoto',
      'order',
    ]);
    expect(registry.require('listPets')).toMatchObject({
      description: 'Lists pets',
      category: 'pets',
      accessMode: 'readonly',
      executionCategory: 'network',
      reads: ['untrusted'],
    });
    expect(registry.require('addPet')).toMatchObject({
      accessMode: 'write',
      description: 'POST /pets',
    });
    expect(registry.require('deletePet')).toMatchObject({
      accessMode: 'write',
      dangerLevel: 'high',
      requiresConsent: true,
      priority: 3,
    });
    expect(registry.require('addPet').idempotencyKey).not.toBe(true);
  });

  it('creates a self-contained schema without read-only fields and credentials', async () => {
    const { registry } = await load(PETS);
    expect(registry.require('addPet').inputJsonSchema).toEqual({
      type: 'object',
      properties: { body: { $ref: '#/$defs/Pet' } },
      required: ['body'],
      additionalProperties: false,
      $defs: {
        Pet: {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: 'string' },
            nick: { type: ['string', 'null'] },
            parent: { $ref: '#/$defs/Pet' },
          },
        },
      },
    });
    expect(JSON.stringify(registry.require('listPets').inputJsonSchema)).not.toContain('api_key');
  });

  it('sends each argument where the document specifies', async () => {
    const { call, server } = await served(PETS, { auth: { key: 'k-1' } });
    await call('listPets', { status: ['new', 'sold'], filter: { age: 3 }, 'X-Trace': 't' });
    await call('getPet', { id: 'a/b c' });
    await call('addPet', { body: { name: 'Rex' } });
    await call('order', { body: { lines: [{ sku: 'a&b' }] } });
    await call('addPhoto', {
      id: '1',
      body: { photo: { text: 'hi', filename: 'a.txt' }, caption: 'x' },
    });
    const [list, get, add, order, photo] = server.seen as [
      SeenRequest,
      SeenRequest,
      SeenRequest,
      SeenRequest,
      SeenRequest,
    ];
    expect(list.url).toBe('/pets?status=new&status=sold&filter%5Bage%5D=3');
    expect(list.headers).toMatchObject({ 'x-trace': 't', 'x-key': 'k-1' });
    expect(get.url).toBe('/pets/a%2Fb%20c');
    expect(JSON.parse(add.body)).toEqual({ name: 'Rex' });
    expect(new URLSearchParams(order.body).get('lines[0][sku]')).toBe('a&b');
    expect(photo.body).toMatch(/name="photo"; filename="a\.txt"[\s\S]*hi[\s\S]*name="caption"/);
  });

  it('calls a credential function for each call', async () => {
    const { executor, server } = await served(PETS, {
      auth: { key: ({ principal }) => `key of ${principal}` },
    });
    await executor.execute({ id: '1', name: 'listPets', input: {} }, { principal: 'ada' });
    expect(server.seen[0]?.headers['x-key']).toBe('key of ada');
  });

  it('reports missing credentials, and mentions them if a call is rejected', async () => {
    const { findings, call } = await served(
      PETS,
      {},
      { getPet: () => ({ status: 401, body: '{}' }) },
    );
    expect(findings).toContainEqual({
      kind: 'credentials',
      operation: 'GET /pets',
      tool: 'listPets',
      message: 'Calls of 6 operations are sent without credentials. Set auth for "key".',
    });
    expect(await call('getPet', { id: '1' })).toMatchObject({
      status: 'error',
      message:
        'The API answered 401 Unauthorized. The call had no credentials: set them with "auth".',
    });
  });

  it('asks for approval for a write and shows the request as its preview', async () => {
    const { registry } = await load(PETS);
    const executor = new ToolExecutor({ registry });
    const outcome = await executor.execute({ id: '1', name: 'deletePet', input: { id: '7' } });
    await executor.close();
    expect(outcome).toMatchObject({
      status: 'approval_required',
      pending: {
        preview: { summary: 'DELETE https://pets.example/v1/pets/7', recipients: ['pets.example'] },
      },
    });
  });

  it.each(['..', '.', ''])('rejects %j as a path segment', async (id) => {
    const { call, server } = await served(PETS, { auth: { key: 'k' } });
    expect(await call('getPet', { id })).toMatchObject({ status: 'error', code: 'INVALID_INPUT' });
    expect(server.seen).toEqual([]);
  });

  it('follows redirects of reads only below the base URL', async () => {
    const elsewhere = await serveDocument(PETS);
    closers.push(elsewhere.close);
    const { call, server } = await served(
      PETS,
      { auth: { key: 'k' } },
      {
        getPet: ({ url }) => ({
          status: 302,
          headers: { location: url.endsWith('/1') ? '/pets' : `${elsewhere.baseUrl}/pets` },
          body: '',
        }),
      },
    );
    expect(await call('getPet', { id: '1' })).toMatchObject({ value: { operation: 'listPets' } });
    expect(await call('getPet', { id: '2' })).toMatchObject({
      status: 'error',
      message:
        'The API answered 302 Found. It redirects to another address, which is not followed.',
    });
    expect([server.seen.length, elsewhere.seen.length]).toEqual([3, 0]);
  });

  it('returns JSON responses as the value and describes how to request the next page', async () => {
    const { call } = await served(
      PETS,
      {},
      {
        listPets: () => ({
          headers: { link: '<https://pets.example/v1/pets?api_key=K1&page=2&other=5>; rel="next"' },
          body: '[{"id":1}]',
        }),
      },
    );
    expect(await call('listPets')).toMatchObject({
      value: [{ id: 1 }],
      content: [
        { text: '[{"id":1}]' },
        { text: 'There are more results. Call again with page=2.' },
      ],
    });
  });

  it('returns the status and body of a failed request', async () => {
    const { call } = await served(
      PETS,
      {},
      { addPet: () => ({ status: 422, body: '{"message":"name is taken"}' }) },
    );
    expect(await call('addPet', { body: { name: 'Rex' } })).toMatchObject({
      status: 'error',
      message: 'The API answered 422 Unprocessable Entity: name is taken.',
      details: { status: 422, body: { message: 'name is taken' } },
    });
  });

  it('retries a read that may succeed later, but never a write', async () => {
    let reads = 0;
    const { registry, server } = await served(
      PETS,
      {},
      {
        getPet: () => ({ status: reads++ === 0 ? 503 : 200, body: '{"id":1}' }),
        addPet: () => ({ status: 503, body: '' }),
      },
    );
    const executor = new ToolExecutor({ registry, confirm: () => true });
    closers.push(() => executor.close());
    const read = await executor.execute({ id: '1', name: 'getPet', input: { id: '1' } });
    const write = await executor.execute({
      id: '2',
      name: 'addPet',
      input: { body: { name: 'a' } },
    });
    expect(read).toMatchObject({ status: 'ok', value: { id: 1 }, attempts: 2 });
    expect(write).toMatchObject({ status: 'error', details: { status: 503 } });
    expect(server.seen.filter(({ operation }) => operation === 'addPet')).toHaveLength(1);
  });

  it('returns an image as content', async () => {
    const { call } = await served(
      PETS,
      {},
      { getPet: () => ({ headers: { 'content-type': 'image/png' }, body: Buffer.from([1, 2]) }) },
    );
    expect(await call('getPet', { id: '1' })).toMatchObject({
      value: { mediaType: 'image/png', bytes: 2 },
      content: [{ type: 'image', mediaType: 'image/png', data: 'AQI=' }],
    });
  });

  it('truncates a response to 4 MiB and says so', async () => {
    const { call } = await served(
      PETS,
      {},
      {
        getPet: () => ({
          headers: { 'content-type': 'text/plain' },
          body: 'x'.repeat(5 * 2 ** 20),
        }),
      },
    );
    const outcome = await call('getPet', { id: '1' });
    expect(outcome).toMatchObject({
      status: 'ok',
      content: [{}, { text: expect.stringContaining('larger than 4 MiB') }],
    });
    expect(outcome.status === 'ok' && (outcome.value as string).length).toBe(4 * 2 ** 20);
  });

  it('loads only included operations, with their own options', async () => {
    const { registry } = await load(PETS, {
      include: ['#pets', 'GET /pets/*'],
      exclude: ['add*'],
      tools: { getPet: { keywords: ['animal'], cacheTtlMs: 1_000 } },
    });
    expect([...registry].map(({ name }) => name)).toEqual(['listPets', 'getPet']);
    expect(registry.require('getPet')).toMatchObject({ keywords: ['animal'], cacheTtlMs: 1_000 });
    await expect(load(PETS, { tools: { getPets: false } })).rejects.toThrow(
      /names of operations, got "getPets"/,
    );
  });

  it('ignores x-tooldex in an untrusted document where it would make a tool less strict', async () => {
    const document = withOperation({
      operationId: 'purge',
      'x-tooldex': { accessMode: 'mixed', dangerLevel: 'critical', keywords: ['clean'] },
    });
    const loose = withOperation({
      operationId: 'purge',
      'x-tooldex': { accessMode: 'write', dangerLevel: 'safe', keywords: ['clean'] },
    });
    expect((await load(document)).registry.require('purge')).toMatchObject({
      accessMode: 'mixed',
      dangerLevel: 'critical',
      keywords: [],
    });
    const post = withOperation(loose.paths['/a'].get, 'post');
    expect((await load(post)).registry.require('purge')).toMatchObject({ dangerLevel: 'high' });
    expect((await load(post, { trusted: true })).registry.require('purge')).toMatchObject({
      dangerLevel: 'safe',
      keywords: ['clean'],
    });
  });
});

/** Returns a document with one operation. */
function withOperation(operation: object, method = 'get', more: object = {}) {
  return {
    openapi: '3.1.0',
    info: { title: 'a', version: '1' },
    servers: [{ url: 'https://a.example' }],
    paths: { '/a': { [method]: operation } as { readonly get: object } },
    ...more,
  };
}

describe('documents for toolsFromOpenApi', () => {
  it('can be Swagger 2 or OpenAPI, as JSON or YAML, from files or URLs', async () => {
    const swagger = {
      swagger: '2.0',
      info: { title: 'a', version: '1' },
      host: 'a.example',
      basePath: '/v2',
      schemes: ['https'],
      paths: {
        '/a': {
          put: {
            operationId: 'putA',
            parameters: [{ in: 'body', name: 'b', schema: { type: 'string', 'x-nullable': true } }],
          },
        },
      },
    };
    const { baseUrl, registry } = await load(swagger);
    expect(baseUrl).toBe('https://a.example/v2');
    expect(registry.require('putA').inputJsonSchema).toMatchObject({
      properties: { body: { type: ['string', 'null'] } },
    });

    const file = join(mkdtempSync(join(tmpdir(), 'openapi-')), 'a.yaml');
    writeFileSync(
      file,
      'openapi: 3.0\nservers: [{url: https://y.example}]\npaths: {/a: {get: {}}}',
    );
    expect((await toolsFromOpenApi(file)).tools.map(({ name }) => name)).toEqual(['get_a']);

    const fetched = await toolsFromOpenApi('https://docs.example/api.json', {
      fetch: () => Promise.resolve(Response.json(withOperation({}, 'get', { servers: [] }))),
    });
    expect(fetched.baseUrl).toBe('https://docs.example/');
  });

  it.each([
    ['a path that does not exist', 'nothing.json', {}, /couldn't read the file \(ENOENT\)/],
    ['an unknown version', { openapi: '4.0.0', paths: {} }, {}, /the version is "4\.0\.0"/],
    ['no paths', { openapi: '3.1.0' }, {}, /it has no paths/],
    ['no server', withOperation({}, 'get', { servers: [] }), {}, /Expected a base URL/],
    [
      "a server that isn't a web address",
      withOperation({}, 'get', { servers: [{ url: 'file:///' }] }),
      {},
      /http or https/,
    ],
    ['a misspelled option', PETS, { baseURL: 'https://a' }, /baseUrl/],
  ])('are rejected if they have %s', async (_what, source, options, message) => {
    await expect(toolsFromOpenApi(source, options as OpenApiOptions)).rejects.toThrow(message);
  });

  it.each([
    'http://127.0.0.1:8500',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0',
    'http://169.254.169.254',
    'https://api.example',
  ])('from another origin cannot choose the server %s', async (url) => {
    const fetch = () =>
      Promise.resolve(Response.json(withOperation({}, 'get', { servers: [{ url }] })));
    await expect(toolsFromOpenApi('https://docs.example/api.json', { fetch })).rejects.toThrow(
      /Set options\.baseUrl if you mean this address/,
    );
  });

  it("produce a finding for whatever a tool can't express", async () => {
    const { registry, findings } = await load({
      ...withOperation({}),
      paths: {
        '/a': {
          get: {
            operationId: 'a',
            parameters: [
              { name: 'p', in: 'query', style: 'matrix', schema: {} },
              { name: 'q', in: 'query', schema: { $ref: 'file:///etc/passwd#/root' } },
              { name: 'r', in: 'query', schema: { $ref: '#/components/schemas/Missing' } },
            ],
          },
        },
        '/b/{x}': {
          get: {
            operationId: 'b',
            parameters: [{ name: 'x', in: 'path', required: true, style: 'matrix', schema: {} }],
          },
        },
        '/c': { get: { operationId: 'c', servers: [{ url: 'https://other.example' }] } },
      },
    });
    expect([...registry].map(({ name }) => name)).toEqual(['a']);
    expect(registry.require('a').inputJsonSchema).toMatchObject({ properties: { q: {}, r: {} } });
    expect(findings.map(({ kind, tool, message }) => `${kind} ${tool}: ${message}`)).toEqual([
      'changed a: Expected the style of the query parameter "p" as one of form, spaceDelimited, pipeDelimited, deepObject, got "matrix". It\'s left out.',
      'changed a: Expected a reference to a schema inside the document, got "file:///etc/passwd#/root". Any value is allowed there.',
      'changed a: Expected a reference to a schema inside the document, got "#/components/schemas/Missing". Any value is allowed there.',
      'refused b: Expected the style of the path parameter "x" as one of simple, got "matrix".',
      'refused c: The operation uses a different server. Load the document again with that server as baseUrl, and include only this operation.',
    ]);
  });

  it("can't break loading, even if they are malicious", async () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 22 }, (_, index) => [
        `D${index}`,
        {
          type: 'object',
          properties: {
            a: { $ref: `#/components/schemas/D${index + 1}` },
            b: { $ref: `#/components/schemas/D${index + 1}` },
          },
        },
      ]),
    );
    const body = (ref: string) => ({
      requestBody: { content: { 'application/json': { schema: { $ref: ref } } } },
    });
    const { registry, findings } = await load({
      ...withOperation({}),
      paths: {
        '/a/{__proto__}': {
          post: {
            operationId: '../../constructor\u200b<script>',
            description: 'Adds\u200b a thing',
            parameters: [
              { name: '__proto__', in: 'path', required: true, schema: { type: 'string' } },
            ],
            ...body('#/components/schemas/D0'),
          },
        },
        '/loop': { post: { operationId: 'loop', ...body('#/components/schemas/Loop') } },
        '//evil.example/x': { get: { operationId: 'away' } },
        '/same': { get: { operationId: 'loop' } },
      },
      components: {
        schemas: { ...doubling, D22: {}, Loop: { allOf: [{ $ref: '#/components/schemas/Loop' }] } },
      },
    });
    const [first] = registry;
    expect(first).toMatchObject({ name: 'constructor_script', description: 'Adds a thing' });
    expect(registry.has('loop_2')).toBe(true);
    expect(findings).toContainEqual(expect.objectContaining({ kind: 'refused', tool: 'loop' }));
    expect(Object.prototype).not.toHaveProperty('type');
  });

  it("can't use a path to send a request to another host", async () => {
    const urls: string[] = [];
    const { call } = await load(
      { ...withOperation({}), paths: { '//evil.example/x': { get: { operationId: 'away' } } } },
      {
        fetch: (url) => {
          urls.push((url as URL).href);
          return Promise.resolve(Response.json({}));
        },
      },
    );
    await call('away');
    expect(urls.map((url) => new URL(url).host)).toEqual(['a.example']);
  });
});

const refersTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Loads an operation that takes a JSON body. */
function withBody(schema: object, schemas: object = {}) {
  const content = { 'application/json': { schema } };
  return served({
    ...withOperation({ operationId: 'a', requestBody: { content } }, 'post'),
    openapi: '3.0.3',
    components: { schemas },
  } as { readonly paths: Readonly<Record<string, object>> });
}

describe('schemas as people write them', () => {
  it('share the definitions that several operations need', async () => {
    const content = { 'application/json': { schema: refersTo('Pet') } };
    const { registry } = await load({
      ...withOperation({}),
      paths: {
        '/a': { post: { operationId: 'a', requestBody: { content } } },
        '/b': { post: { operationId: 'b', requestBody: { content } } },
      },
      components: { schemas: { Pet: { type: 'string', nullable: true } } },
    });
    const [a, b] = ['a', 'b'].map((name) => registry.require(name).inputJsonSchema['$defs']);
    const { Pet } = a as { readonly Pet: object };
    expect(Pet).toEqual({ type: ['string', 'null'] });
    expect((b as { readonly Pet: object }).Pet).toBe(Pet);
  });

  it('of alternatives that overlap accept a value of any, and show what chooses them', async () => {
    const animal = (more: object) => ({
      type: 'object',
      properties: { kind: { type: 'string' }, ...more },
    });
    const { call, registry, server } = await withBody(
      {
        oneOf: [refersTo('Cat'), refersTo('Dog')],
        discriminator: {
          propertyName: 'kind',
          mapping: { cat: '#/components/schemas/Cat', dog: 'Dog' },
        },
      },
      { Cat: animal({ purr: { type: 'boolean' } }), Dog: animal({ bark: { type: 'boolean' } }) },
    );
    expect(await call('a', { body: { kind: 'cat', purr: true } })).toMatchObject({ status: 'ok' });
    expect(await call('a', { body: { kind: 'cow' } })).toMatchObject({ status: 'error' });
    expect(server.seen).toHaveLength(1);
    const shown = JSON.stringify(registry.require('a').inputJsonSchema);
    expect(shown).toContain('{"kind":{"enum":["cat"]}}');
    expect(shown).toContain('{"kind":{"enum":["dog"]}}');
  });

  it.each([
    ['allOf', { allOf: [refersTo('A')] }],
    ['anyOf', { anyOf: [refersTo('A'), { type: 'integer' }] }],
    ['oneOf', { oneOf: [refersTo('A')] }],
    ['a reference', refersTo('A')],
    ['an enum', { type: 'string', enum: ['x'] }],
  ])('accept null if nullable is beside %s', async (_, schema) => {
    const field = { ...schema, nullable: true };
    const { call, registry } = await withBody(
      { type: 'object', properties: { field } },
      { A: { type: 'string' } },
    );
    expect(await call('a', { body: { field: null } })).toMatchObject({ status: 'ok' });
    expect(await call('a', { body: { field: 'x' } })).toMatchObject({ status: 'ok' });
    expect(await call('a', { body: { field: [] } })).toMatchObject({ status: 'error' });
    expect(JSON.stringify(registry.require('a').inputJsonSchema)).not.toContain('nullable');
  });
});

/** A Swagger 2 document with one operation that takes a form. */
function withForm(parameters: readonly object[], more: object = {}) {
  return {
    swagger: '2.0',
    info: { title: 'a', version: '1' },
    host: 'a.example',
    paths: { '/a': { post: { operationId: 'a', parameters, ...more } } },
  };
}

describe('arguments', () => {
  it('that are null are left out of the query', async () => {
    const { call, server } = await served(
      withOperation({
        operationId: 'a',
        parameters: [{ name: 'q', in: 'query', schema: { type: ['string', 'null'] } }],
      }),
    );
    await call('a', { q: null });
    expect(server.seen.map(({ url }) => url)).toEqual(['/a']);
  });

  it('that are a token of a public operation are shown to models', async () => {
    const parameters = [{ name: 'token', in: 'query', required: true, schema: {} }];
    const { registry } = await load({
      ...withOperation({}),
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
      paths: {
        '/a': { get: { operationId: 'a', parameters, security: [] } },
        '/b': { get: { operationId: 'b', parameters } },
      },
    });
    expect(registry.require('a').inputJsonSchema).toMatchObject({ required: ['token'] });
    expect(registry.require('b').inputJsonSchema).toMatchObject({ properties: {} });
  });
});

describe('paths', () => {
  it('keep a query of their own', async () => {
    const { call, server } = await served({
      ...withOperation({}),
      paths: {
        '/a?sure=true': {
          get: { operationId: 'a', parameters: [{ name: 'q', in: 'query', schema: {} }] },
        },
      },
    });
    await call('a', { q: 'x y' });
    await call('a');
    expect(server.seen.map(({ url }) => url)).toEqual(['/a?sure=true&q=x+y', '/a?sure=true']);
  });
});

describe('files', () => {
  const binary = { type: 'string', format: 'binary' };

  it('are text in JSON and in parameters, which have no files', async () => {
    const { call, server } = await served(
      withOperation(
        {
          operationId: 'a',
          parameters: [{ name: 'q', in: 'query', schema: binary }],
          requestBody: {
            content: {
              'application/json': { schema: { type: 'object', properties: { data: binary } } },
            },
          },
        },
        'post',
      ),
    );
    expect(await call('a', { q: 'x', body: { data: 'y' } })).toMatchObject({ status: 'ok' });
    expect(server.seen[0]).toMatchObject({ url: '/a?q=x', body: '{"data":"y"}' });
  });

  it('are refused as a body if they have no content', async () => {
    const { call, server } = await served(
      withOperation(
        { operationId: 'a', requestBody: { content: { 'application/cbor': {} } } },
        'post',
      ),
    );
    expect(await call('a', { body: {} })).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await call('a', { body: { text: 'x' } })).toMatchObject({ status: 'ok' });
    expect(server.seen.map(({ body }) => body)).toEqual(['x']);
  });
});

describe('forms', () => {
  it('of Swagger 2 keep what the document says about their fields', async () => {
    const { registry } = await load(
      withForm([
        {
          name: 'size',
          in: 'formData',
          type: 'integer',
          enum: [1, 2],
          minimum: 1,
          maximum: 2,
          default: 1,
          required: true,
        },
        {
          name: 'tags',
          in: 'formData',
          type: 'array',
          items: { type: 'string' },
          description: null,
        },
        { name: 'file', in: 'formData', type: 'file' },
      ]),
    );
    const { inputJsonSchema } = registry.require('a');
    expect(inputJsonSchema).toMatchObject({
      required: ['body'],
      properties: {
        body: {
          required: ['size'],
          properties: {
            size: { type: 'integer', enum: [1, 2], minimum: 1, maximum: 2, default: 1 },
            tags: { type: 'array', items: { type: 'string' } },
            file: { properties: { base64: {} } },
          },
        },
      },
    });
    expect(JSON.stringify(inputJsonSchema)).not.toMatch(/"(?:undefined|null)"|:null/);
  });

  it.each([
    [undefined, '1,2'],
    ['csv', '1,2'],
    ['ssv', '1 2'],
    ['pipes', '1|2'],
    ['multi', '1&l[]=2'],
  ])('and queries of Swagger 2 send a list as %s', async (collectionFormat, text) => {
    const list = {
      name: 'l[]',
      type: 'array',
      items: { type: 'integer' },
      ...(collectionFormat && { collectionFormat }),
    };
    const { call, server } = await served(
      withForm([
        { ...list, in: 'formData' },
        { ...list, name: 'q', in: 'query' },
      ]),
    );
    await call('a', { body: { 'l[]': [1, 2] }, q: [1, 2] });
    const plain = (encoded: string) => decodeURIComponent(encoded).replaceAll('+', ' ');
    expect(plain(server.seen[0]!.body)).toBe(`l[]=${text}`);
    expect(plain(server.seen[0]!.url)).toBe(`/a?q=${text.replace('l[]', 'q')}`);
  });

  it.each([
    [undefined, 'l=1&l=2'],
    [{ explode: false }, 'l=1,2'],
    [{ style: 'pipeDelimited', explode: false }, 'l=1|2'],
    [{ style: 'deepObject' }, 'l[0]=1&l[1]=2'],
    [{ contentType: 'application/json' }, 'l=[1,2]'],
  ])('encode a list as %j says', async (encoding, body) => {
    const content = {
      'application/x-www-form-urlencoded': {
        schema: { type: 'object' },
        ...(encoding && { encoding: { l: encoding } }),
      },
    };
    const { call, server } = await served(
      withOperation({ operationId: 'a', requestBody: { content } }, 'post'),
    );
    await call('a', { body: { l: [1, 2] } });
    expect(decodeURIComponent(server.seen[0]!.body)).toBe(body);
  });
});

describe('operations as people write them', () => {
  it('of GET have no body, because HTTP clients do not send one', async () => {
    const content = { 'application/json': { schema: { type: 'object' } } };
    const { registry, findings, call, server } = await served({
      ...withOperation({}),
      paths: {
        '/a': { get: { operationId: 'a', requestBody: { content } } },
        '/b': { get: { operationId: 'b', requestBody: { content, required: true } } },
        '/c': {
          get: {
            operationId: 'c',
            requestBody: { content: { 'application/json': { schema: { properties: {} } } } },
          },
        },
      },
    });
    expect([...registry].map(({ name }) => name)).toEqual(['a', 'c']);
    expect(findings.map(({ tool, message }) => `${tool}: ${message}`)).toEqual([
      "a: Expected GET without a body, got one. It's left out.",
      'b: Expected GET without a body, got one.',
    ]);
    expect(await call('a')).toMatchObject({ status: 'ok' });
    expect(server.seen).toHaveLength(1);
  });

  it('never disappear without a finding', async () => {
    const { registry, findings } = await load({
      ...withOperation({}),
      paths: {
        '/a': { get: { operationId: 'a' }, post: 5, put: null, trace: {}, summary: 'A' },
        '/b': { $ref: 'other.json#/b' },
        '/c': { $ref: '#/components/pathItems/missing' },
        '/d': { get: { $ref: '#/components/missing' } },
        '/e/{id}': { get: { operationId: 'e' } },
        'x-internal': { get: { operationId: 'x' } },
      },
    });
    expect([...registry].map(({ name }) => name)).toEqual(['a']);
    expect(findings.map(({ kind, operation }) => `${kind} ${operation}`)).toEqual([
      'refused POST /a',
      'refused PUT /a',
      'refused TRACE /a',
      'refused * /b',
      'refused * /c',
      'refused GET /d',
      'refused GET /e/{id}',
      'refused * x-internal',
    ]);
  });

  it.each([
    ['get', { operationId: 'GET_DeleteUser' }, 'write', 'high'],
    ['get', { operationId: 'createUser' }, 'write', 'medium'],
    ['get', { summary: 'Cancels an order' }, 'write', 'medium'],
    ['get', { operationId: 'getUpdates', summary: 'Lists updates' }, 'readonly', 'low'],
    ['post', { summary: 'Permanently deletes a user' }, 'write', 'high'],
    ['post', { operationId: 'a_Get' }, 'readonly', 'low'],
    ['get', { operationId: 'a_Touch' }, 'write', 'medium'],
  ])('that say what they do are judged by it: %s %j', async (method, operation, mode, danger) => {
    const { tools } = await toolsFromOpenApi(withOperation(operation, method), {
      readonly: ['*_Get'],
      write: ['*_Touch'],
    });
    const registry = new ToolMetadataRegistry();
    registry.registerAll(tools);
    const [tool] = registry;
    expect([tool!.accessMode, tool!.dangerLevel]).toEqual([mode, danger]);
  });

  it('are named together if they need the same credentials', async () => {
    const security = [{ key: [], app: [] }, { token: [] }];
    const operation = { security };
    const { findings } = await load({
      ...withOperation({}),
      paths: {
        '/a': { get: operation, post: operation },
        '/b': { get: { security: [{ key: [] }] } },
      },
    });
    expect(findings.map(({ message }) => message)).toEqual([
      'Calls of 2 operations are sent without credentials. Set auth for "key" and "app" together, or "token".',
      'Calls of this operation are sent without credentials. Set auth for "key".',
    ]);
  });
});

describe('requests and responses', () => {
  it('that repeat a credential hide it from the model', async () => {
    const { call } = await served(PETS, { auth: { key: 'very-secret-key' } });
    const answer = await call('getPet', { id: '1' });
    expect(JSON.stringify(answer)).toContain('[secret]');
    expect(JSON.stringify(answer)).not.toContain('very-secret-key');
  });

  it.each([
    ['half a character in the path', 'getPet', { id: 'a\ud800' }],
    ['half a character in the query', 'listPets', { status: ['\udc00'] }],
    ['half a character in the body', 'addPet', { body: { name: '\ud800' } }],
    ['half a character in a name', 'addPet', { body: { name: 'a', '\ud800': 1 } }],
    ['a header outside of Latin-1', 'listPets', { 'X-Trace': '退款' }],
  ])('are refused with %s', async (_, tool, input) => {
    const { call, server } = await served(PETS, { auth: { key: 'very-secret-key' } });
    expect(await call(tool, input)).toMatchObject({ status: 'error', code: 'INVALID_INPUT' });
    expect(server.seen).toEqual([]);
  });

  it('that name a delay are retried after it', async () => {
    const answers = [
      new Response('{}', { status: 429, headers: { 'retry-after': '7' } }),
      Response.json({ id: 1 }),
    ];
    const { registry } = await load(PETS, { fetch: () => Promise.resolve(answers.shift()!) });
    const clock = new ManualClock();
    const executor = new ToolExecutor({ registry, clock });
    const outcome = executor.execute({ id: '1', name: 'getPet', input: { id: '1' } });
    await clock.advanceAsync(6_900);
    expect(answers).toHaveLength(1);
    await clock.advanceAsync(200);
    expect(await outcome).toMatchObject({ status: 'ok' });
  });
});

const DOCUMENTS = resolve(import.meta.dirname, '../../../shared/data/openapi');

describe.skipIf(!existsSync(DOCUMENTS))('large public documents', () => {
  it.each([
    ['github', 1_223],
    ['kubernetes', 845],
    ['stripe', 452],
    ['digitalocean', 290],
    ['slack', 174],
  ])('%s: each operation becomes a tool or a finding with the reason', async (name, operations) => {
    const { tools, findings } = await toolsFromOpenApi(join(DOCUMENTS, `${name}.json`), {
      baseUrl: 'https://api.example',
    });
    const refused = findings.filter(({ kind }) => kind === 'refused');
    expect(tools.length + refused.length).toBe(operations);
    expect(
      refused.every(({ message }) => message.startsWith('The operation uses a different server')),
    ).toBe(true);
    expect(refused.length).toBeLessThan(2);
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length);
  });
});
