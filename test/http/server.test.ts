import { afterEach, describe, expect, it } from 'vitest';
import { serve, type RunningCatalogue, type ServeOptions } from '../../src/http.js';
import { statuses, talk } from '../host/listening-servers.js';
import { sample, type Json } from './catalogue-fixture.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(options: ServeOptions = {}): Promise<RunningCatalogue> {
  const { capabilities } = await sample();
  const running = await serve(capabilities, { port: 0, page: false, ...options });
  open.push(() => running.close());
  return running;
}

describe('serve', () => {
  it("answers at its URL until it's closed", async () => {
    const { capabilities } = await sample();
    const running = await serve(capabilities, { port: 0 });
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(((await (await fetch(`${running.url}/tools`)).json()) as Json).total).toBe(6);
    expect((await fetch(`${running.url}/`)).headers.get('content-type')).toContain('text/html');
    await running.close();
    await expect(fetch(running.url)).rejects.toThrow();
  });

  it('sends the same bytes and headers as the app, including for 304, HEAD, and errors', async () => {
    const { get } = await sample();
    const { url } = await start();
    for (const path of [
      '/tools',
      '/tools?fields=name',
      '/tools/alpha',
      '/skills',
      '/tools?x',
      '/nowhere',
    ]) {
      const [served, direct] = [await fetch(url + path), await get(path)];
      expect(served.status, path).toBe(direct.status);
      expect(await served.text(), path).toBe(await direct.text());
      for (const [name, value] of direct.headers)
        expect(served.headers.get(name), `${path} ${name}`).toBe(value);
    }
    const etag = (await get('/tools')).headers.get('etag')!;
    expect((await fetch(`${url}/tools`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const head = await fetch(`${url}/tools`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  });

  it('closes at once, even while clients are listening to events', async () => {
    const { capabilities } = await sample();
    const running = await serve(capabilities, { port: 0 });
    const reader = (await fetch(`${running.url}/events`)).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value as Uint8Array)).toContain(
      'event: ready',
    );
    await running.close();
    await expect(reader.read()).rejects.toThrow();
  });

  it('refuses wrong options', async () => {
    for (const wrong of [{ prot: 1 }, { auth: { token: 'x'.repeat(16) } }])
      await expect(start(wrong as ServeOptions)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });

  it('never reads the body of a GET request as another request', async () => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const answer = await talk(
      (await start()).url,
      `GET /tools HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    );
    expect(statuses(answer)).toEqual([200]);
  });
});
