import { describe, expect, it } from 'vitest';
import { createDiscoveryApp, type DiscoveryOptions } from '../../src/http.js';
import { sample } from './catalogue-fixture.js';

async function answerTo(
  init: RequestInit & { readonly path?: string },
  options: DiscoveryOptions = {},
): Promise<Response> {
  const { capabilities } = await sample();
  return createDiscoveryApp(capabilities, options).request(init.path ?? '/tools', init);
}

const token = 'abcdefghijklmnopqrstuvwxyz';

describe('the Host header of a request', () => {
  it.each([
    'localhost',
    'localhost:4780',
    'LocalHost:80',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:4780',
    '[::1]',
    '[::1]:4780',
  ])("is accepted if it's %s", async (host) => {
    expect((await answerTo({ headers: { host } })).status).toBe(200);
  });

  it.each([
    'evil.com',
    'evil.com:4780',
    'localhost.evil.com',
    'evil-localhost',
    'localhost@evil.com',
    'evil.com#localhost',
    '127.0.0.1.evil.com',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    'localhost:80:80',
    'localhost:',
    'localhost:123456',
    '192.168.0.1',
    'localhost/..',
  ])("is refused if it's %s, to prevent DNS rebinding", async (host) => {
    const response = await answerTo({ headers: { host } });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      error: {
        code: 'HOST_NOT_ALLOWED',
        message: expect.stringMatching(/^The host .* isn't allowed/),
      },
    });
  });

  it('is refused if it lists two hosts', async () => {
    expect((await answerTo({ headers: { host: 'localhost, evil.com' } })).status).toBe(403);
  });

  it('is accepted only if the host in an absolute request URL is also allowed', async () => {
    expect(
      (await answerTo({ path: 'http://evil.com/tools', headers: { host: 'localhost' } })).status,
    ).toBe(403);
  });

  it('must be one of allowedHosts, if that option is set', async () => {
    const options = { allowedHosts: ['tools.example'] };
    expect(
      (
        await answerTo(
          { headers: { host: 'Tools.Example:8443' }, path: 'http://tools.example/tools' },
          options,
        )
      ).status,
    ).toBe(200);
    expect((await answerTo({ headers: { host: 'localhost' } }, options)).status).toBe(403);
  });
});

describe('the Origin header of a request', () => {
  it.each([
    'null',
    'https://evil.com',
    'http://localhost:9999',
    'http://evil.com',
    'file://',
    'http://localhost:4780.evil.com',
  ])("is refused if it's %s", async (origin) => {
    const response = await answerTo({ headers: { host: 'localhost:4780', origin } });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it("is accepted if it's the server's own origin", async () => {
    expect(
      (await answerTo({ headers: { host: 'localhost:4780', origin: 'http://localhost:4780' } }))
        .status,
    ).toBe(200);
  });

  it("is accepted if it's in allowedOrigins, with CORS headers that don't allow credentials", async () => {
    const options = { allowedOrigins: ['https://tools.example'] };
    const response = await answerTo(
      { headers: { host: 'localhost', origin: 'https://tools.example' } },
      options,
    );
    expect([
      response.status,
      response.headers.get('access-control-allow-origin'),
      response.headers.get('vary'),
      response.headers.get('access-control-allow-credentials'),
    ]).toEqual([200, 'https://tools.example', 'Origin', null]);
    const preflight = await answerTo(
      {
        method: 'OPTIONS',
        headers: {
          host: 'localhost',
          origin: 'https://tools.example',
          'access-control-request-method': 'GET',
        },
      },
      { ...options, auth: { token } },
    );
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization,if-none-match',
    ]);
    expect(
      (
        await answerTo(
          { headers: { host: 'localhost', origin: 'https://tools.example.evil.com' } },
          options,
        )
      ).status,
    ).toBe(403);
  });

  it("leads to no CORS headers if allowedOrigins isn't set", async () => {
    const headers = [
      ...(
        await answerTo({ headers: { host: 'localhost', origin: 'http://localhost' } })
      ).headers.keys(),
    ];
    expect(headers.filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
      [],
    );
  });
});

describe('the bearer token', () => {
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    `Basic ${token}`,
    token,
    `Bearer ${token} ${token}`,
  ])("is refused if it's %s", async (authorization) => {
    const response = await answerTo(
      { headers: authorization === undefined ? {} : { authorization } },
      { auth: { token } },
    );
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="tooldex"');
    expect(await response.text()).not.toContain(token);
  });

  it('is required on every route except the page', async () => {
    expect(
      (await answerTo({ headers: { authorization: `Bearer ${token}` } }, { auth: { token } }))
        .status,
    ).toBe(200);
    expect(
      (await answerTo({ headers: { authorization: `bearer  ${token}` } }, { auth: { token } }))
        .status,
    ).toBe(200);
    for (const path of [
      '/tools/alpha',
      '/search?q=a',
      '/skills',
      '/tasks',
      '/jobs',
      '/summary',
      '/findings',
      '/health',
      '/openapi.json',
      '/events',
      '/nowhere',
    ])
      expect((await answerTo({ path }, { auth: { token } })).status, path).toBe(401);
    expect((await answerTo({ path: '/' }, { auth: { token } })).status).toBe(200);
  });
});

describe('the health check /healthz', () => {
  it.each([{}, { auth: { token } }])(
    'requires neither a token nor an allowed host (%o)',
    async (options) => {
      const request = { path: 'http://10.0.0.7/healthz', headers: { host: '10.0.0.7:4780' } };
      expect((await answerTo(request, options)).status).toBe(200);
    },
  );
});

describe('a request', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'with the method %s gets 405 and the allowed methods',
    async (method) => {
      for (const path of ['/tools', '/nowhere', '/']) {
        const response = await answerTo({ method, path });
        expect([response.status, response.headers.get('allow')], path).toEqual([405, 'GET, HEAD']);
      }
    },
  );

  it("gets the security headers in its response, even when it's refused", async () => {
    for (const [path, headers] of [
      ['/tools', {}],
      ['/healthz', {}],
      ['/', {}],
      ['/nowhere', {}],
      ['/tools?x', {}],
      ['/events', {}],
      ['/tools', { host: 'evil.com' }],
    ] as const) {
      const response = await answerTo({ path, headers });
      await response.body?.cancel();
      expect(Object.fromEntries(response.headers), path).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
      expect(response.headers.get('cache-control')).toMatch(/^(no-store|private, no-cache)$/);
    }
  });
});
