import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, fail, Priority, SideEffect, Stage, tool, type ToolResult } from '../../src/index.js';
import { diffLines, type DiffLine } from './formats/line-diff.js';

/** Characters of each text. */
const MAX_SIDE = 1_000_000;
/** Characters of the diff: longer ones are of no use to a reader. */
const MAX_DIFF = 200_000;

const Input = z.object({
  before: z.string().max(MAX_SIDE).describe('Old text'),
  after: z.string().max(MAX_SIDE).describe('New text'),
  context: z.number().int().min(0).max(20).default(3).describe('Equal lines to show around each change'),
});

export interface TextDiff {
  readonly equal: boolean;
  /** Unified diff; empty when the texts are equal. */
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
  /** Says that no shorter diff exists; not known for very different long texts. */
  readonly minimal: boolean;
}

/** Compares two texts line by line. */
@tool({
  name: 'diff_text',
  description: 'Compares two texts line by line and returns a unified diff with the numbers of added and removed lines. At most 1 million characters each; diffs over 200000 characters fail.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.COMPUTE,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  category: 'data',
  keywords: ['diff', 'compare texts', 'difference', 'changes', 'unified diff', 'versions', 'what changed'],
  mandatoryKeywords: ['diff text', 'compare texts'],
  stages: [Stage.ANALYSIS, Stage.VERIFICATION],
  taskTypes: ['analysis', 'edit'],
  examples: ['What changed between these two versions?', 'Compare these two texts', 'Show me a diff of the old and new configuration'],
  progressParams: ['before', 'after', 'context'],
  timeoutMs: 10_000,
  allowParallel: true,
  conflictKeys: () => ({ reads: [] }),
  version: '1.0.0',
})
export class DiffText {
  execute({ before, after, context = 3 }: z.input<typeof Input>): TextDiff | ToolResult<never> {
    const { lines, minimal } = diffLines(splitLines(before), splitLines(after));
    const diff = unified(lines, context);
    if (diff.length > MAX_DIFF) return fail(`Expected a diff of at most ${MAX_DIFF} characters, got ${diff.length}. Compare smaller parts.`);
    const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
    return { equal: before === after, diff, added: count('added'), removed: count('removed'), minimal };
  }
}

/** Lines with their ends, so that a missing line end at the end of a text is a difference too. */
function splitLines(text: string): string[] {
  const lines = text.split('\n').map((line) => `${line}\n`);
  const last = (lines.pop() ?? '\n').slice(0, -1);
  return last === '' ? lines : [...lines, last];
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;

function unified(lines: readonly DiffLine[], context: number): string {
  const parts: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let at = 0;
  for (const [start, end] of hunks(lines, context)) {
    // Everything between two hunks is the same in both.
    oldLine += start - at;
    newLine += start - at;
    const hunk = lines.slice(start, end);
    const oldCount = hunk.filter(({ kind }) => kind !== 'added').length;
    const newCount = hunk.filter(({ kind }) => kind !== 'removed').length;
    parts.push(`@@ -${range(oldLine, oldCount)} +${range(newLine, newCount)} @@\n`);
    for (const { kind, text } of hunk) parts.push(MARKS[kind], text, text.endsWith('\n') ? '' : '\n\\ No newline at end of file\n');
    oldLine += oldCount;
    newLine += newCount;
    at = end;
  }
  return parts.length === 0 ? '' : `--- before\n+++ after\n${parts.join('')}`;
}

/** A range without lines is named by the line before it. */
function range(first: number, count: number): string {
  return `${count === 0 ? first - 1 : first},${count}`;
}

/** Runs of changes with their surroundings; those that touch are one. */
function hunks(lines: readonly DiffLine[], context: number): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    const start = Math.max(0, index - context);
    const end = Math.min(lines.length, index + 1 + context);
    const last = found.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = end;
    else found.push([start, end]);
  }
  return found;
}
