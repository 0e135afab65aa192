import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, relative, sep } from 'node:path';

/** The largest file in bytes: 1 MiB, far above real manifests. */
const MAX_BYTES = 1_048_576;
/** The number of times that a file is read again because it changes meanwhile. */
const MOST_ATTEMPTS = 5;

/** The text of a file, or a sentence that says why there is none. */
export type FileText = { readonly text: string } | { readonly fault: string };

/**
 * Reads a small file of UTF-8 text as it was at one moment.
 *
 * It reads twice and compares, so that a concurrent writer yields the old text, the new one, or a fault, and never a
 * mix of both. Never throws.
 */
export async function readTextFile(path: string): Promise<FileText> {
  try {
    let before = await readBytes(path);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      if (typeof before === 'string') return { fault: before };
      const after = await readBytes(path);
      if (typeof after !== 'string' && before.equals(after)) return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(after) };
      before = after;
    }
    return { fault: 'Expected a file that holds still, got one that changes with every look. Write it beside and rename it.' };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { fault: 'Expected UTF-8 text, got other bytes. Save the file as UTF-8.' };
    return { fault: code === 'ENOENT' ? 'Expected a file, got none.' : `Expected a file that can be read, got ${code ?? 'an error'}.` };
  }
}

const TOO_LONG = 'Expected at most 1 MiB, got more. Split it into several files.';

async function readBytes(path: string): Promise<Buffer | string> {
  let file: FileHandle | undefined;
  try {
    // A named pipe would block the open.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return 'Expected a file, got a folder or a device.';
    if (stats.size > MAX_BYTES) return TOO_LONG;
    // One byte more than it has, so that growth is noticed.
    let buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (length > MAX_BYTES) return TOO_LONG;
      if (bytesRead === 0) return buffer.subarray(0, length);
      if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * buffer.length, MAX_BYTES + 1));
    }
  } finally {
    await file?.close();
  }
}

/**
 * Returns the name of a file in messages: relative to the working directory, with `/`.
 *
 * If they share nothing but the root of the file system, that would be an absolute path in other words: then it is
 * relative to a folder above it, which is named.
 */
export function shownPath(path: string, above = dirname(path), directory = process.cwd()): string {
  const steps = relative(directory, path).split(sep);
  const climbs = steps.filter((step) => step === '..').length;
  const isApart = isAbsolute(steps.join(sep)) || (climbs > 0 && climbs >= directory.split(sep).filter((step) => step !== '').length);
  return isApart ? [basename(above), ...relative(above, path).split(sep)].filter((step) => step !== '').join('/') : steps.join('/') || '.';
}
