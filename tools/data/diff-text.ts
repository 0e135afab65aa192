import { FILE_HEADERS_ONLY, formatPatch, structuredPatch, type StructuredPatch } from 'diff';
import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum length of each text in characters. */
const MAX_SIDE = 1_000_000;
/** Maximum length of the diff in characters. A longer diff is of no use to a reader. */
const MAX_DIFF = 200_000;
/**
 * Maximum number of removed and added lines in the shortest diff. The search time grows with the
 * square of this number.
 */
const MAX_EDITS = 2_000;

const Input = z.object({
  before: z.string().max(MAX_SIDE).describe('Old text'),
  after: z.string().max(MAX_SIDE).describe('New text'),
  context: wholeNumber(3, 20, 0).describe('Number of unchanged lines to show around each change'),
});

/** Compares two texts line by line. */
@tool({
  ...DATA_TOOL,
  name: 'diff_text',
  description:
    'Compares two texts line by line and returns a unified diff with the number of added and removed lines. At most 1 million characters each; diffs over 200000 characters fail.',
  inputSchema: Input,
  keywords: [
    'diff',
    'compare texts',
    'difference',
    'changes',
    'unified diff',
    'versions',
    'what changed',
  ],
  mandatoryKeywords: ['diff text', 'compare texts'],
  stages: ['analysis', 'verification'],
  taskTypes: ['analysis', 'edit'],
  examples: [
    'What changed between these two versions?',
    'Compare these two texts',
    'Show me a diff of the old and new configuration',
  ],
})
export class DiffText {
  execute({ before, after, context = 3 }: z.input<typeof Input>) {
    const shortest = structuredPatch('before', 'after', before, after, undefined, undefined, {
      context,
      maxEditLength: MAX_EDITS,
    });
    const patch = shortest ?? replacement(before, after, context);
    const diff = patch.hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY);
    if (diff.length > MAX_DIFF)
      return fail(
        `The diff has ${diff.length} characters, but at most ${MAX_DIFF} are allowed. Compare smaller parts.`,
      );
    const count = (mark: string) =>
      patch.hunks.reduce(
        (sum, { lines }) => sum + lines.filter((line) => line.startsWith(mark)).length,
        0,
      );
    return {
      equal: before === after,
      diff,
      added: count('+'),
      removed: count('-'),
      minimal: shortest !== undefined,
    };
  }
}

/** Returns a patch that replaces everything between the first and the last difference. */
function replacement(before: string, after: string, context: number): StructuredPatch {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < fresh.length - start &&
    old.at(-1 - end) === fresh.at(-1 - end)
  )
    end += 1;
  const first = Math.max(0, start - context);
  const [oldEnd, freshEnd] = [old.length - end, fresh.length - end];
  const following = old.slice(oldEnd, oldEnd + context);
  const lines = [
    ...marked(' ', old.slice(first, start)),
    ...marked('-', old.slice(start, oldEnd)),
    ...marked('+', fresh.slice(start, freshEnd)),
    ...marked(' ', following),
  ];
  const hunk = {
    oldStart: first + 1,
    oldLines: oldEnd + following.length - first,
    newStart: first + 1,
    newLines: freshEnd + following.length - first,
    lines,
  };
  return {
    oldFileName: 'before',
    newFileName: 'after',
    oldHeader: undefined,
    newHeader: undefined,
    hunks: [hunk],
  };
}

/**
 * Returns the lines of a text with their line breaks, so that a missing line break after the last
 * line is a difference.
 */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n')
      ? [mark + line.slice(0, -1)]
      : [mark + line, '\\ No newline at end of file'],
  );
}
