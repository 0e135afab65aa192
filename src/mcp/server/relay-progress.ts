import { isPlainObject } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';

/** Progress as the protocol sends it. */
interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

const LONGEST_MESSAGE = 1_000;
/** The amount by which progress is raised if a tool reports no higher number. */
const LEAST_STEP = 0.001;

/**
 * Forwards a call's progress to the client that requested it.
 *
 * Tools report a number as progress, a string as the message for another step, or an object with
 * `progress`, `total` and `message`. A number that isn't higher than the last one is raised,
 * because the protocol requires progress to increase.
 *
 * @returns a function that stops it and resolves when everything is sent.
 */
export function relayProgress(
  executor: ToolExecutor,
  callId: string,
  send: (progress: McpProgress) => Promise<void>,
): () => Promise<void> {
  let last = -1;
  let sent = Promise.resolve();
  const stop = executor.on((event) => {
    if (event.type !== 'call-progress' || event.callId !== callId) return;
    const { progress: told } = event;
    const parts: Readonly<Record<string, unknown>> =
      typeof told === 'number'
        ? { progress: told }
        : isPlainObject(told)
          ? told
          : { message: told };
    const { progress = Math.max(last, 0) + 1, total, message } = parts;
    last = isNumber(progress) && progress > last ? progress : last + LEAST_STEP;
    const next: McpProgress = {
      progress: last,
      ...(isNumber(total) && { total }),
      ...(typeof message === 'string' && { message: message.slice(0, LONGEST_MESSAGE) }),
    };
    sent = sent.then(() => send(next)).catch(() => undefined); // The client may be gone.
  });
  return () => {
    stop();
    return sent;
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
