import { posix } from 'node:path';
import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { type BehindFileWall, FileWall } from '../walls/file-wall.js';
import { READING, wholeNumber } from '../options/shared-options.js';

/** Maximum number of paths in one result. */
const MAX_TESTS = 2_000;
const USUAL_TESTS = 500;

const Input = z.object({
  contains: z
    .string()
    .max(200)
    .default('')
    .describe('Only tests whose path contains this text, case-insensitively'),
  limit: wholeNumber(USUAL_TESTS, MAX_TESTS).describe('Maximum number of paths'),
});

/** Finds test files by the names that test runners look for. */
@tool({
  ...READING,
  name: 'list_tests',
  description: `Lists the project's test files by their usual names (*.test.ts, *_test.go, test_*.py and the like), sorted. At most ${MAX_TESTS}. Doesn't run tests. Read-only.`,
  inputSchema: Input,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'testing',
  keywords: ['test', 'list tests', 'find tests', 'test files', 'spec', 'coverage'],
  mandatoryKeywords: ['list the tests', 'test files'],
  stages: ['reading', 'planning', 'verification'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'What tests does this project have?',
    'Find the test files of the parser',
    'List the tests',
  ],
  progressParams: ['contains'],
  timeoutMs: 30_000,
  conflictKeys(this: BehindFileWall) {
    return { reads: this.files.keys.below('.') };
  },
})
export class ListTests {
  constructor(private readonly files: FileWall = new FileWall(process.cwd())) {}

  async execute(
    { contains = '', limit = USUAL_TESTS }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    return orFail(async () => {
      const wanted = contains.toLowerCase();
      const { files, truncated } = await this.files.walk('.', signal);
      const tests = files
        .filter((path) => isTestFile(posix.basename(path)) && path.toLowerCase().includes(wanted))
        .sort();
      return { tests: tests.slice(0, limit), truncated: truncated || tests.length > limit };
    });
  }
}

const SCRIPT_ENDINGS = ['js', 'cjs', 'mjs', 'jsx', 'ts', 'cts', 'mts', 'tsx'].flatMap((ending) => [
  `.test.${ending}`,
  `.spec.${ending}`,
]);
const OTHER_ENDINGS = [
  '_test.go',
  '_test.py',
  '_spec.rb',
  '_test.rb',
  'Test.java',
  'Tests.cs',
  'Test.php',
  'Test.kt',
  '_test.dart',
  '_test.exs',
];

function isTestFile(name: string): boolean {
  return (
    (name.startsWith('test_') && name.endsWith('.py')) ||
    [...SCRIPT_ENDINGS, ...OTHER_ENDINGS].some((ending) => name.endsWith(ending))
  );
}
