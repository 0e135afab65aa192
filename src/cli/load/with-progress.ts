import { paint, plainLine, type Dialog } from '../terminal/terminal.js';

const FIRST_MS = 1_000;
const NEXT_MS = 5_000;

/**
 * Waits for slow work. If a person is watching, says on standard error what for: after one second, and
 * then every five.
 */
export async function withProgress<T>(
  terminal: Dialog,
  what: string,
  work: Promise<T>,
): Promise<T> {
  if (!terminal.interactive) return work;
  const started = Date.now();
  const tell = () => {
    const seconds = Math.round((Date.now() - started) / 1_000);
    terminal.err(paint('dim', plainLine(`waiting for ${what} (${seconds} s)`)));
    timer = setTimeout(tell, NEXT_MS);
  };
  let timer = setTimeout(tell, FIRST_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
