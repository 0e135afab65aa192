import { onAbort } from '../../core/on-abort.js';
import type { ChatEvent } from '../chat-event.js';

/**
 * The events of some work, in the order in which they are told.
 *
 * The work begins when the first event is asked for, and does not wait for who reads them. When the reader leaves, the
 * work's signal fires, and the generator ends when the work has.
 */
export async function* eventStream(signal: AbortSignal | undefined, work: (tell: (event: ChatEvent) => void, signal: AbortSignal) => Promise<void>): AsyncGenerator<ChatEvent, void> {
  const waiting: ChatEvent[] = [];
  const reader = new AbortController();
  const stopListening = onAbort(signal, () => reader.abort());
  if (signal?.aborted === true) reader.abort();
  let wake = () => {};
  let ended = false;
  const tell = (event: ChatEvent) => {
    waiting.push(event);
    wake();
  };
  const working = work(tell, reader.signal).finally(() => {
    ended = true;
    wake();
  });
  working.catch(() => undefined);
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (ended) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    await working;
  } finally {
    stopListening();
    reader.abort();
    await working.catch(() => undefined);
  }
}
