import { z } from 'zod';
import { Priority, tool, ToolError, type ToolContext } from '../../src/index.js';
import { isMissing } from '../walls/file-errors.js';
import { FileWall } from '../walls/file-wall.js';
import { ProgramWall } from '../walls/program-wall.js';
import { EXECUTING, wholeNumber } from '../options/shared-options.js';

/** Five minutes in milliseconds, enough for the tests of most projects. */
const TIMEOUT_MS = 300_000;
/**
 * Maximum and default number of output lines that are returned. The last lines are kept, because
 * runners print failures and the summary last.
 */
const MAX_LINES = 200;
const USUAL_LINES = 60;

const Input = z.object({
  filter: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('A test file or part of its name, passed to the test runner; all tests if omitted'),
  lines: wholeNumber(USUAL_LINES, MAX_LINES).describe(
    'How many of the last output lines to return',
  ),
});

/** Runs the project's tests and returns whether they passed. */
@tool({
  ...EXECUTING,
  name: 'run_tests',
  description: `Runs the project's tests: the test script of package.json, or node --test if there is none. Returns whether they passed and the last lines of output (at most ${MAX_LINES}). Runs the project's code.`,
  inputSchema: Input,
  priority: Priority.HIGH,
  dangerLevel: 'high',
  sideEffects: ['system', 'filesystem'],
  category: 'testing',
  keywords: ['test', 'run tests', 'unit tests', 'test suite', 'passing', 'failing', 'verify'],
  mandatoryKeywords: ['run the tests', 'run tests', 'npm test'],
  stages: ['verification'],
  taskTypes: ['action', 'analysis'],
  examples: [
    'Run the tests',
    'Do the parser tests pass?',
    'Find out which test fails',
    'Check that nothing is broken',
    'Run npm test',
  ],
  progressParams: ['filter'],
  timeoutMs: TIMEOUT_MS,
  preview: ({ filter }) =>
    `Runs the tests of the project${filter === undefined ? '' : ` with ${JSON.stringify(filter)} in their names`}: npm test, or node --test if there is no test script`,
  invalidates: ['files'],
})
export class RunTests {
  readonly #programs: ProgramWall;

  constructor(
    programs: ProgramWall = new ProgramWall(),
    private readonly files: FileWall = new FileWall(programs.root),
  ) {
    this.#programs = programs.withPrograms(['npm', 'node']);
  }

  async execute({ filter, lines = USUAL_LINES }: z.input<typeof Input>, { signal }: ToolContext) {
    const filters = filter === undefined ? [] : [checkedFilter(filter)];
    const [program, argv] = (await this.#hasTestScript())
      ? ['npm', ['test', ...(filters.length === 0 ? [] : ['--', ...filters])]]
      : ['node', ['--test', ...filters]];
    const { exitCode, stdout, stderr, truncated, timedOut } = await this.#programs.run(
      program,
      argv,
      { signal, timeoutMs: TIMEOUT_MS, keep: 'tail' },
    );
    const written = [stdout, stderr]
      .filter((text) => text.trim() !== '')
      .join('\n')
      .trimEnd()
      .split('\n');
    const lastLines = written.slice(-lines);
    return {
      passed: exitCode === 0 && !timedOut,
      exitCode,
      command: [program, ...argv].join(' '),
      lastLines,
      truncated: truncated || written.length > lines,
      timedOut,
    };
  }

  async #hasTestScript(): Promise<boolean> {
    const text = await this.files.readText('package.json').catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (text === undefined) return false;
    try {
      const manifest = JSON.parse(text) as { scripts?: { test?: unknown } } | null;
      return typeof manifest?.scripts?.test === 'string';
    } catch {
      throw new ToolError('EXECUTION_FAILED', "package.json can't be read, or isn't JSON.");
    }
  }
}

/**
 * Checks a filter that selects tests. The filter mustn't be an option (`--config=…` loads code), or
 * contain anything that the shell started by npm would interpret.
 */
function checkedFilter(filter: string): string {
  if (/^[\w@][\w@./ -]*$|^\.{1,2}\/[\w@./ -]*$/.test(filter) && !filter.split('/').includes('..'))
    return filter;
  throw new ToolError(
    'INVALID_INPUT',
    `A filter can only contain letters, digits, spaces and . _ / @ - and must start with a letter, a digit, _, @ or ./. Got ${JSON.stringify(filter).slice(0, 100)}.`,
  );
}
