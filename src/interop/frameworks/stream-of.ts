/**
 * Yields what some work emits while it runs, and returns the work's result. The work starts at the
 * first request for an event, and doesn't wait for the reader.
 *
 * @throws the work's error, after everything that was emitted before.
 */
export async function* streamOf<Event, Result>(
  work: (emit: (event: Event) => void) => Promise<Result>,
): AsyncGenerator<Event, Result, void> {
  const emitted: Event[] = [];
  let isRunning = true;
  let wake = (): void => undefined;
  const emit = (event: Event): void => {
    emitted.push(event);
    wake();
  };
  const running = work(emit).finally(() => {
    isRunning = false;
    wake();
  });
  const settled = running.catch(() => undefined); // The rejection is handled by `return running` below.
  try {
    while (isRunning || emitted.length > 0) {
      if (emitted.length > 0) yield emitted.shift()!;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    await settled; // A reader who leaves early goes on only when the work has ended.
  }
  return running;
}
