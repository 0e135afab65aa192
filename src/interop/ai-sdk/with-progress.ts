import type { CallExecutor } from '../bridge/call-executor.js';

/** What a call reports while it runs, each as `{ progress }`, and at the end its answer. */
export async function* withProgress(executor: CallExecutor, call: { readonly callId: string; readonly toolName: string }, run: () => Promise<unknown>): AsyncGenerator<unknown, void> {
  const reported: unknown[] = [];
  let running = true;
  let wake = (): void => undefined;
  const stop = executor.on?.((event) => {
    if (event.type !== 'call-progress' || event.callId !== call.callId || event.toolName !== call.toolName) return;
    reported.push(event.progress);
    wake();
  });
  try {
    const answer = run().finally(() => {
      running = false;
      wake();
    });
    answer.catch(() => undefined); // It is awaited below.
    while (running || reported.length > 0) {
      if (reported.length > 0) yield { progress: reported.shift() };
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    yield await answer;
  } finally {
    stop?.();
  }
}
