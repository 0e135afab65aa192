/** The largest message that a server may send: 16 MiB. Above the SDK's own 10 MiB, so that one tool of that size costs only itself. */
export const MAX_MESSAGE_BYTES = 16 * 2 ** 20;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * A `fetch` whose answers break off when one message of them is larger than 16 MiB.
 *
 * The SDK reads a body to its end whatever its size. An event stream may last for days, so there each event is counted
 * by itself; it ends with an empty line.
 *
 * @param onTooLarge told of such a message: the SDK would let the call wait whose answer it was.
 */
export function boundedFetch(onTooLarge: () => void): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    const isTooLarge = isStream ? countEvents() : countAll();
    const bound = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        if (!isTooLarge(chunk)) return controller.enqueue(chunk);
        controller.error(new Error(`expected messages of at most ${MAX_MESSAGE_BYTES} bytes, found a larger one`));
        onTooLarge();
      },
    });
    const bounded = new Response(response.body.pipeThrough(bound), response);
    // Which address answered tells a redirect, and a Response made anew forgets it.
    Object.defineProperty(bounded, 'url', { value: response.url });
    Object.defineProperty(bounded, 'redirected', { value: response.redirected });
    return bounded;
  };
}

function countAll(): (chunk: Uint8Array) => boolean {
  let size = 0;
  return (chunk) => (size += chunk.length) > MAX_MESSAGE_BYTES;
}

function countEvents(): (chunk: Uint8Array) => boolean {
  let size = 0;
  let lineIsEmpty = true;
  return (chunk) => {
    for (const byte of chunk) {
      size += 1;
      if (byte === LINE_FEED) {
        if (lineIsEmpty) size = 0;
        lineIsEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) lineIsEmpty = false;
      if (size > MAX_MESSAGE_BYTES) return true;
    }
    return false;
  };
}
