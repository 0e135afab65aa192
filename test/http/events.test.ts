import { describe, expect, it } from 'vitest';
import { createDiscoveryApp } from '../../src/http.js';
import { ManualClock } from '../../src/testing.js';
import { toolEntry } from '../capability/manifest-tree.js';
import { sample } from './catalogue-fixture.js';

/** Reads a stream of events piece by piece. */
class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  constructor(response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** Returns the next event or comment, without the blank line after it. */
  async next(): Promise<string> {
    for (let end = this.#text.indexOf('\n\n'); ; end = this.#text.indexOf('\n\n')) {
      if (end !== -1) {
        const event = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return event;
      }
      const { done, value } = await this.#reader.read();
      if (done) return 'ended';
      this.#text += new TextDecoder().decode(value);
    }
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

describe('GET /events', () => {
  it('sends the current revision, and a change event after a manifest is edited', async () => {
    const { get, tree, capabilities } = await sample();
    const response = await get('/events');
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const reader = new EventReader(response);
    expect(await reader.next()).toBe('event: ready\ndata: {"revision":1}\nid: 1\nretry: 2000');
    tree.write('functions.json', [toolEntry('new')]);
    await capabilities.refresh();
    expect(await reader.next()).toBe('event: change\ndata: {"revision":2}\nid: 2');
    await reader.close();
  });

  it('sends comments to keep connections open until the last client disconnects', async () => {
    const clock = new ManualClock();
    const { capabilities } = await sample();
    const app = createDiscoveryApp(capabilities, { page: false, clock });
    expect(clock.pending).toBe(0);
    const readers = [
      new EventReader(await app.request('/events')),
      new EventReader(await app.request('/events')),
    ];
    for (const reader of readers) await reader.next();
    clock.advance(15_000);
    for (const reader of readers) expect(await reader.next()).toBe(': alive');
    clock.advance(15_000);
    for (const reader of readers) expect(await reader.next()).toBe(': alive');
    await readers[0]!.close();
    expect(clock.pending).toBe(1);
    await readers[1]!.close();
    expect(clock.pending).toBe(0);
  });

  it('refuses clients beyond the limit until another client disconnects', async () => {
    const { get } = await sample({ maxListeners: 2 });
    const readers = [new EventReader(await get('/events')), new EventReader(await get('/events'))];
    const refused = await get('/events');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    await readers[0]!.close();
    expect((await get('/events')).status).toBe(200);
  });

  it("buffers only a few events for a client that isn't reading, and later sends the latest revision", async () => {
    const { get, tree, capabilities } = await sample();
    const slow = new EventReader(await get('/events'));
    const good = new EventReader(await get('/events'));
    await good.next();
    for (let revision = 2; revision <= 20; revision++) {
      tree.write('functions.json', [toolEntry(`tool_${revision}`)]);
      await capabilities.refresh();
      expect(await good.next()).toContain(`id: ${revision}`);
    }
    let events = 0;
    while (!(await slow.next()).endsWith('id: 20')) events += 1;
    expect(events).toBeLessThan(5);
    await Promise.all([slow.close(), good.close()]);
  });
});
