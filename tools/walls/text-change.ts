import { createHash } from 'node:crypto';
import { createTwoFilesPatch } from 'diff';
import type { Preview } from '../../src/index.js';

/**
 * Maximum number of changed lines shown in a preview. For larger changes, sizes are more useful
 * than a diff.
 */
const MAX_CHANGED_LINES = 2_000;

/**
 * Returns the preview of a change to a file. If the change is too long for a diff, the digest of
 * the old text still identifies the change.
 */
export function textChange(path: string, before: string | undefined, after: string): Preview {
  const bytes = Buffer.byteLength(after);
  if (before === undefined)
    return {
      summary: `Creates ${path} (${bytes} bytes)`,
      diff: createTwoFilesPatch('/dev/null', path, '', after),
      reversible: true,
    };
  const digest = createHash('sha256').update(before).digest('hex').slice(0, 12);
  const diff = createTwoFilesPatch(path, path, before, after, undefined, undefined, {
    context: 3,
    maxEditLength: MAX_CHANGED_LINES,
  });
  return {
    summary: `Changes ${path} (SHA-256 ${digest}…), ${Buffer.byteLength(before)} to ${bytes} bytes`,
    ...(diff !== undefined && { diff }),
    reversible: false,
  };
}
