import type { Readable } from 'node:stream';
import { isToolError, ToolError } from '../core/errors.js';

/**
 * The UTF-8 text of a stream, without a byte order mark.
 *
 * @throws ToolError `INVALID_ARGUMENT` when it cannot be read, holds more bytes, or is no UTF-8.
 */
export async function readBounded(stream: Readable, maxBytes: number, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ToolError('INVALID_ARGUMENT', `expected at most ${maxBytes} bytes in ${name}, found more`);
      chunks.push(chunk);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (isToolError(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'an error';
    throw new ToolError('INVALID_ARGUMENT', `expected ${name} to be a file of UTF-8 text that can be read, found ${code}`, { cause: error });
  }
}
