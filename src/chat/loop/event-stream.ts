import { onAbort } from '../../core/listeners.js';
import type { ChatEvent } from '../chat-event.js';

/**
 * The events of some work, in the order in which they are told.
 *
 * The work begins when the first event is asked for, and does not wait for who reads them. When the reader leaves, the
 * work's signal fires, and the generator ends when the work has.
 */
export function eventStream(signal: AbortSignal | undefined, work: Work): AsyncGenerator<ChatEvent, void> {
  const reader = new AbortController();
  const events = readEvents(signal, reader, work);
  // A generator itself hears of it at its next event, which a model that hangs never tells; a web stream leaves in between.
  const leave = events.return.bind(events);
  return Object.assign(events, {
    return: (value: void | PromiseLike<void>) => {
      reader.abort();
      return leave(value);
    },
  });
}

type Work = (tell: (event: ChatEvent) => void, signal: AbortSignal) => Promise<void>;

async function* readEvents(signal: AbortSignal | undefined, reader: AbortController, work: Work): AsyncGenerator<ChatEvent, void> {
  const waiting: ChatEvent[] = [];
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
