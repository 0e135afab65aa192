import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { ManifestTree, jobEntry, toolEntry } from '../capability/manifest-tree.js';

const SECRETS = [
  'hunter2-swordfish',
  'hunter3-pass',
  'hunter4-idempotency',
  'hunter5-webhook',
  '98765',
];

async function appOf(files: Readonly<Record<string, unknown>>) {
  const capabilities = await CapabilityRegistry.load({
    root: new ManifestTree(files).root,
    env: {},
  });
  const app = createDiscoveryApp(capabilities, { page: false });
  return {
    get: (path: string) =>
      app.request(`http://localhost${path}`, { headers: { host: 'localhost' } }),
  };
}

describe('private values in manifests', () => {
  it("aren't sent by any route, even credentials in the wrong place and other programs' fields", async () => {
    const { get } = await appOf({
      'functions.json': [
        {
          ...toolEntry('good'),
          idempotency_key: { required: true, apiSecret: 'hunter4-idempotency' },
        },
        { ...toolEntry('one'), providers: [{ name: 'p', config: 'hunter2-swordfish' }] },
        { ...toolEntry('two'), auth: 'hunter3-pass' },
        { ...toolEntry('three'), auth: { required: true, envs: { KEY: 98765 } } },
      ],
      'jobs.json': [
        {
          ...jobEntry('Job', { personas: ['Ada'] }),
          recurrence: { frequency: 'daily', webhook_token: 'hunter5-webhook' },
        },
      ],
    });
    for (const path of [
      '/tools',
      '/tools/good',
      '/jobs',
      '/skills',
      '/summary',
      '/findings',
      '/health',
      '/search?q=good',
    ]) {
      const text = await (await get(path)).text();
      for (const secret of SECRETS) expect(text, `${path}: ${secret}`).not.toContain(secret);
    }
    expect(await (await get('/findings')).text()).toContain("it isn't shown");
  });
});

describe('a malformed query parameter', () => {
  it.each(['persona=,', 'persona=-', 'persona=--shared', 'persona=!', 'version=,'])(
    'is refused by GET /tools: %s',
    async (query) => {
      const { get } = await appOf({ 'functions.json': [toolEntry('good')] });
      expect((await get(`/tools?${query}`)).status).toBe(400);
    },
  );

  it.each(['/tools/good?persona=-shared', '/summary?persona=Ada,-shared'])(
    "is refused by routes that accept only one persona's name: %s",
    async (path) => {
      const { get } = await appOf({ 'functions.json': [toolEntry('good')] });
      expect((await get(path)).status).toBe(400);
    },
  );
});
