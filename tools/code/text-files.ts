import { isToolError, type ToolContext } from '../../src/index.js';
import type { FileWall } from '../walls/file-wall.js';
import { globMatcher } from '../walls/glob-matcher.js';

/** Bytes read by one call: 64 MiB of text, a few seconds. */
const MAX_TOTAL_BYTES = 67_108_864;

/** The record of a pass over many files, filled while it runs. */
interface Pass {
  filesRead: number;
  /** Files that are not text, too large, or not readable. */
  filesSkipped: number;
  /** Marks a pass that reached a bound before the end. */
  truncated: boolean;
}

export function newPass(): Pass {
  return { filesRead: 0, filesSkipped: 0, truncated: false };
}

/** The text files at or below a path one after another, and in `pass` what became of the others. */
export async function* textFiles(
  wall: FileWall,
  path: string,
  include: string | undefined,
  { signal }: ToolContext,
  pass: Pass,
): AsyncGenerator<{ path: string; text: string }> {
  const matches = include === undefined ? () => true : globMatcher(include);
  const start = await wall.stat(path);
  const walked =
    start?.kind === 'file'
      ? { files: [start.path], truncated: false }
      : await wall.walk(path, signal);
  pass.truncated = walked.truncated;
  let bytesLeft = MAX_TOTAL_BYTES;
  for (const file of walked.files) {
    signal?.throwIfAborted();
    if (!matches(file)) continue;
    const text = await readOrNothing(wall, file);
    if (text === undefined) {
      pass.filesSkipped++;
      continue;
    }
    bytesLeft -= text.length;
    if (bytesLeft < 0) {
      pass.truncated = true;
      return;
    }
    pass.filesRead++;
    yield { path: file, text };
  }
}

async function readOrNothing(wall: FileWall, path: string): Promise<string | undefined> {
  try {
    return await wall.readText(path);
  } catch (error) {
    if (isToolError(error)) return undefined;
    throw error;
  }
}

/** The lines of a text without their ends; what follows the last line end is not a line. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
