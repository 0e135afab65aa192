import { isPlainObject } from '../../core/plain-data.js';
import type { ToolEvent } from '../../core/tool-event.js';

/** Progress as the protocol sends it. */
interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

type Send = (progress: McpProgress) => Promise<void>;

const LONGEST_MESSAGE = 1_000;
/** Notifications that wait for a slow client; beyond them the oldest are dropped. */
const MOST_WAITING = 100;
/** The step by which progress rises when a tool has something to say, but no higher number. */
const LEAST_STEP = 0.001;

/**
 * Passes on what tools tell of their progress to the clients that asked for it.
 *
 * A number is the progress; of an object `progress`, `total` and `message` are taken; a text is the message of one step
 * more, as is anything else without a number. The protocol wants progress to rise: what does not, and says nothing
 * either, is left out.
 */
export class ProgressRelay {
  readonly #calls = new Map<string, (progress: unknown) => void>();

  /** Hears every event of the executor. */
  hear(event: ToolEvent): void {
    if (event.type === 'call-progress') this.#calls.get(event.callId)?.(event.progress);
  }

  /** Sends the progress of one call until the returned function is called, which resolves when all is sent. */
  follow(callId: string, send: Send): () => Promise<void> {
    const waiting: McpProgress[] = [];
    let sending: Promise<void> | undefined;
    let last: number | undefined;
    const sendAll = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await send(next).catch(() => undefined); // The client has gone.
      sending = undefined;
    };
    this.#calls.set(callId, (told) => {
      const progress = progressOf(told, last);
      if (progress === undefined) return;
      last = progress.progress;
      waiting.push(progress);
      if (waiting.length > MOST_WAITING) waiting.shift();
      sending ??= sendAll();
    });
    return async () => {
      this.#calls.delete(callId);
      await sending;
    };
  }
}

function progressOf(told: unknown, last: number | undefined): McpProgress | undefined {
  const { progress, total, message } = partsOf(told);
  const text = typeof message === 'string' && message !== '' ? message.slice(0, LONGEST_MESSAGE) : undefined;
  const rises = (number: number) => (last === undefined ? number >= 0 : number > last);
  const number = !isNumber(progress) ? (last ?? 0) + 1 : rises(progress) || text === undefined ? progress : (last ?? 0) + LEAST_STEP;
  if (!rises(number)) return undefined;
  return { progress: number, ...(isNumber(total) && { total }), ...(text !== undefined && { message: text }) };
}

function partsOf(told: unknown): { readonly progress?: unknown; readonly total?: unknown; readonly message?: unknown } {
  if (typeof told === 'number') return { progress: told };
  if (typeof told === 'string') return { message: told };
  return isPlainObject(told) ? told : {};
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
