import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { serveDocument } from '../openapi/document-server.js';
import { folderWith, tooldex } from './command-line.js';

const document = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-key' } } },
  security: [{ key: [] }],
  paths: {
    '/pets': {
      get: { operationId: 'listPets', summary: 'Lists the pets', responses: { 200: {} } },
      delete: { operationId: 'removePets', summary: 'Removes all pets', responses: { 204: {} } },
    },
    '/odd': {
      servers: [{ url: 'https://elsewhere.example' }],
      get: { operationId: 'odd', responses: { 200: {} } },
    },
  },
};
const file = join(folderWith({ 'pets.json': document }), 'pets.json');

describe('--openapi', () => {
  let server: Awaited<ReturnType<typeof serveDocument>>;
  beforeAll(async () => void (server = await serveDocument(document)));
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  const at = (...args: string[]) =>
    tooldex([...args, '--openapi', file, '--base-url', server.baseUrl]);

  it("lists the operations as tools, and reports operations that can't become tools", async () => {
    const { code, out, err } = await at('list');
    expect(out).toMatch(/listPets[^]*removePets/);
    expect(err).toMatch(/not loaded GET \/odd: /);
    expect(code).toBe(0);
    expect((await at('search', 'remove', 'pets')).out).toMatch(/removePets/);
  });

  it('runs an operation with a credential from the environment, and asks before deletions', async () => {
    vi.stubEnv('PETS_KEY', 'kept');
    expect(await at('run', 'listPets', '--auth', 'key=PETS_KEY', '--json')).toMatchObject({
      code: 0,
    });
    expect(server.seen.at(-1)).toMatchObject({
      operation: 'listPets',
      headers: { 'x-key': 'kept' },
    });
    expect((await at('run', 'removePets', '--auth', 'key=PETS_KEY')).code).toBe(4);
    expect(server.seen).toHaveLength(1);
  });

  it('names the flags in messages about the document', async () => {
    const bare = join(folderWith({ 'bare.json': document }), 'bare.json');
    expect((await tooldex(['list', '--openapi', bare])).err).toContain('Set --base-url, such as');
    expect((await at('list')).err).toContain('Pass --auth for "key"');
  });

  it('reports a missing environment variable', async () => {
    expect(await at('list', '--auth', 'key=NO_SUCH_VARIABLE')).toMatchObject({
      code: 2,
      err: expect.stringContaining('NO_SUCH_VARIABLE'),
    });
  });
});
