import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority, SideEffect, Stage, tool, ToolError, type ToolContext } from '../../src/index.js';

/** Entries of folders looked at in one call: a large project. */
const MAX_ENTRIES = 50_000;
/** Folders inside folders. */
const MAX_DEPTH = 30;
/** Paths of one answer. */
const MAX_TESTS = 2_000;
/** Folders of other people's code and of git's own data. */
const SKIPPED = new Set(['node_modules', '.git']);

const Input = z.object({
  contains: z.string().max(200).default('').describe('Only tests whose path contains this text, in any case'),
  limit: z.number().int().min(1).max(MAX_TESTS).default(500).describe('How many paths at most'),
});

/** Finds test files by the names that test runners look for. */
@tool({
  name: 'list_tests',
  description: `Lists the project's test files by their usual names (*.test.ts, *_test.go, test_*.py and the like), sorted. At most ${MAX_TESTS}. Runs nothing and changes nothing.`,
  inputSchema: Input,
  priority: Priority.MEDIUM,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.READ_ONLY,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  category: 'testing',
  keywords: ['test', 'tests', 'list tests', 'find tests', 'test files', 'spec', 'coverage'],
  mandatoryKeywords: ['list the tests', 'test files'],
  stages: [Stage.READING, Stage.PLANNING, Stage.VERIFICATION],
  taskTypes: ['analysis', 'search'],
  examples: ['Which tests are there?', 'Find the test files of the parser', 'List the tests'],
  progressParams: ['contains'],
  timeoutMs: 30_000,
  allowParallel: true,
  version: '1.0.0',
})
export class ListTests {
  constructor(private readonly root: string = process.cwd()) {}

  async execute({ contains, limit }: z.infer<typeof Input>, { signal }: ToolContext): Promise<{ tests: string[]; truncated: boolean }> {
    const wanted = contains.toLowerCase();
    const { paths, complete } = await this.#walk(signal);
    const tests = paths.filter((path) => path.toLowerCase().includes(wanted)).sort();
    return { tests: tests.slice(0, limit), truncated: !complete || tests.length > limit };
  }

  /** Links are not followed, so the walk neither leaves the root nor runs in circles. */
  async #walk(signal: AbortSignal | undefined): Promise<{ readonly paths: readonly string[]; readonly complete: boolean }> {
    const paths: string[] = [];
    const folders = [{ path: '', depth: 0 }];
    let complete = true;
    let entries = 0;
    for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
      const { path, depth } = next;
      const folder = await opendir(join(this.root, path)).catch(() => undefined);
      if (folder === undefined) continue; // Gone, or not ours to read.
      for await (const entry of folder) {
        if (signal?.aborted) throw new ToolError('ABORTED', 'The search for tests was aborted');
        if (++entries > MAX_ENTRIES) return { paths, complete: false };
        const below = path === '' ? entry.name : `${path}/${entry.name}`;
        if (entry.isDirectory() && !SKIPPED.has(entry.name)) {
          if (depth < MAX_DEPTH) folders.push({ path: below, depth: depth + 1 });
          else complete = false;
        } else if (entry.isFile() && isTestFile(entry.name)) paths.push(below);
      }
    }
    return { paths, complete };
  }
}

const SCRIPT_ENDINGS = ['js', 'cjs', 'mjs', 'jsx', 'ts', 'cts', 'mts', 'tsx'].flatMap((ending) => [`.test.${ending}`, `.spec.${ending}`]);
const OTHER_ENDINGS = ['_test.go', '_test.py', '_spec.rb', '_test.rb', 'Test.java', 'Tests.cs', 'Test.php', 'Test.kt', '_test.dart', '_test.exs'];

function isTestFile(name: string): boolean {
  return (name.startsWith('test_') && name.endsWith('.py')) || [...SCRIPT_ENDINGS, ...OTHER_ENDINGS].some((ending) => name.endsWith(ending));
}
