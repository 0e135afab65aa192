import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import type { Clock } from '../core/clock.js';

/**
 * The interval between comments, in milliseconds. Comments keep proxies from closing idle
 * connections, and reveal dead connections.
 */
const HEARTBEAT_MS = 15_000;
/** Milliseconds that a browser waits before it reconnects. */
const RETRY_MS = 2_000;

/**
 * Sends changes to a client as server-sent events: `ready` at the start, then `change` for each new
 * revision. The data is `{"revision": …}`, and the id is the revision.
 *
 * The next event is sent when the client has read the last event. Each event contains the latest
 * revision, so a slow client skips revisions and the server buffers only one event.
 */
export function streamChanges(
  context: Context,
  capabilities: CapabilityRegistry,
  clock: Clock,
  onEnd: () => void,
): Response {
  return streamSSE(context, async (stream) => {
    let hasChanged = false;
    let wake = () => {};
    const stopListening = capabilities.onChange(() => {
      hasChanged = true;
      wake();
    });
    const send = (event: string, retry?: number) => {
      const { revision } = capabilities;
      const data = JSON.stringify({ revision });
      return stream.writeSSE({
        event,
        data,
        id: String(revision),
        ...(retry !== undefined && { retry }),
      });
    };
    stream.onAbort(() => wake());
    await send('ready', RETRY_MS);
    while (!stream.aborted) {
      const sleep = new Promise<void>((resolve) => (wake = resolve));
      const stopBeat = clock.after(HEARTBEAT_MS, wake);
      if (!hasChanged) await sleep;
      stopBeat();
      if (hasChanged) {
        hasChanged = false;
        await send('change');
      } else if (!stream.aborted) await stream.write(': alive\n\n');
    }
    stopListening();
    onEnd();
  });
}
