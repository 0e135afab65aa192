import { describe, expect, it } from 'vitest';
import { createDiscoveryApp } from '../../src/http.js';
import { sample } from './catalogue-fixture.js';

const SCOPES: Readonly<Record<string, readonly string[]>> = {
  'abcdefghijklmnop-all': ['r', 'w'],
  'abcdefghijklmnop-half': ['r'],
};

async function catalogueOf(token: string) {
  const { capabilities } = await sample();
  const app = createDiscoveryApp(capabilities, {
    verify: (given) => ({ principal: given, scopes: SCOPES[given] ?? [] }),
  });
  return async (path: string) => {
    const response = await app.request(path, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, text: await response.text() };
  };
}

/** Tools whose `auth.scopes` name `r` and `w`: only the shared `alpha`. */
const SHARED_ALPHA = '"name":"alpha","persona":null';
const PLACES = ['/tools', '/search?q=earn+revenue&facets=true', '/summary', '/findings'];

describe('A catalogue that knows its callers by verify', () => {
  it.each(PLACES)('leaves tools out of %s whose scopes the caller lacks', async (path) => {
    const half = await (await catalogueOf('abcdefghijklmnop-half'))(path);
    expect(half.status).toBe(200);
    expect(half.text).not.toContain(SHARED_ALPHA);
  });

  it.each(PLACES.slice(0, 3))(
    'shows all tools in %s to a caller with their scopes',
    async (path) => {
      expect((await (await catalogueOf('abcdefghijklmnop-all'))(path)).text).toContain(
        SHARED_ALPHA,
      );
    },
  );

  it('does not count tools that the caller does not see', async () => {
    const count = async (token: string, path: string, key: string) =>
      (JSON.parse((await (await catalogueOf(token))(path)).text) as Record<string, number>)[key];
    for (const [path, key] of [
      ['/tools', 'total'],
      ['/search?q=revenue', 'searched'],
      ['/health', 'tools'],
    ] as const)
      expect(await count('abcdefghijklmnop-half', path, key), path).toBe(
        (await count('abcdefghijklmnop-all', path, key))! - 1,
      );
  });

  it('answers for a hidden tool as for a name that no tool has, without suggesting it', async () => {
    const ask = await catalogueOf('abcdefghijklmnop-half');
    const hidden = await ask('/tools/alpha?persona=Nova');
    expect(hidden.status).toBe(404);
    expect(hidden.text).not.toContain('Did you mean');
    expect(
      (await (await catalogueOf('abcdefghijklmnop-all'))('/tools/alpha?persona=Nova')).status,
    ).toBe(200);
  });

  it.each(['skills', 'jobs'])(
    'lists no %s that need a tool whose scopes the caller lacks',
    async (kind) => {
      const listed = async (token: string, path: string) => {
        const { text } = await (await catalogueOf(token))(path);
        return (JSON.parse(text) as Record<string, { persona: string | null; name: string }[]>)[
          kind
        ]!.map(({ persona, name }) => `${persona} ${name}`);
      };
      for (const path of [`/${kind}`, '/summary']) {
        const all = await listed('abcdefghijklmnop-all', path);
        const half = await listed('abcdefghijklmnop-half', path);
        expect([path, all.length > half.length, half.every((each) => all.includes(each))]).toEqual([
          path,
          true,
          true,
        ]);
      }
    },
  );
});
