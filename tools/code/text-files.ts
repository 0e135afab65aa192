import { isToolError, type ToolContext } from '../../src/index.js';
import type { FileWall } from '../walls/file-wall.js';
import { globMatcher } from '../walls/glob-matcher.js';

/** Maximum bytes read per call: 64 MiB of text, which takes a few seconds. */
const MAX_TOTAL_BYTES = 67_108_864;

/** Statistics of one pass over many files. The numbers are updated during the pass. */
interface Pass {
  filesRead: number;
  /**
   * The number of files that were skipped because they aren't text, are too large, or can't be
   * read.
   */
  filesSkipped: number;
  /** True if the pass stopped early because it reached a limit. */
  truncated: boolean;
}

export function newPass(): Pass {
  return { filesRead: 0, filesSkipped: 0, truncated: false };
}

/** Yields the text files at or below a path. Skipped files are counted in `pass`. */
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

/**
 * Returns the lines of a text without their line endings. A line break at the end of the text
 * doesn't begin another line.
 */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
