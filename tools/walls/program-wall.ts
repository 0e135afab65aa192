import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path';
import { ToolError } from '../../src/index.js';
import { FileKeys } from './file-keys.js';
import { isInside } from './path-rules.js';

/**
 * Maximum number of bytes of each output stream that are kept: thousands of lines, more than a
 * model can use.
 */
const MAX_OUTPUT_BYTES = 256 * 1024;
/** Default timeout in milliseconds, after which a program is killed. */
const TIMEOUT_MS = 30_000;
/** Maximum number of arguments per call. */
const MAX_ARGUMENTS = 1_000;
/** Maximum size in bytes of all arguments combined. Linux has this limit for a single argument. */
const MAX_ARGUMENT_BYTES = 128 * 1024;
/** Maximum size in bytes of a program's standard input: a long document. */
const MAX_INPUT_BYTES = 1024 * 1024;
/**
 * Milliseconds to wait for a program's last output after it has ended. All of this output is
 * already in the pipes.
 */
const PIPE_GRACE_MS = 100;

/**
 * The environment variables that programs get: paths and language. Variables with keys, or that
 * load code, aren't included.
 */
export const DEFAULT_ENVIRONMENT: readonly string[] = Object.freeze([
  'PATH',
  'HOME',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
]);
/** The programs allowed by default: Node and npm, to run the project's own scripts. */
export const DEFAULT_PROGRAMS: readonly string[] = Object.freeze(['node', 'npm']);

interface ProgramWallOptions {
  /** The folder in which programs run. @default the process's working directory */
  readonly root?: string;
  /** Names of the allowed programs, without a path. @default node and npm */
  readonly allowedPrograms?: readonly string[];
  /**
   * Names of the environment variables that programs see.
   * @default a short list of harmless variables
   */
  readonly env?: readonly string[];
  /** Maximum number of bytes kept of each output stream. @default 262,144 */ readonly maxOutputBytes?: number;
  /** Timeout in milliseconds, after which a program is stopped. @default 30,000 */ readonly timeoutMs?: number;
}

export interface RunOptions {
  /** Stops the program when the signal aborts. @default none */ readonly signal?:
    AbortSignal | undefined;
  /** The working directory: the root or a folder below it. @default the root */
  readonly cwd?: string | undefined;
  /** The text for standard input. If omitted, the program has no standard input. */
  readonly input?: string | undefined;
  /**
   * Environment variables that the tool sets. Never take them from a model's input.
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Timeout in milliseconds, after which the program is stopped. @default the wall's timeout */ readonly timeoutMs?:
    number | undefined;
  /** The part of the output to keep if it's too long. @default 'head' */
  readonly keep?: 'head' | 'tail';
}

/**
 * Returns an input with a canonical folder relative to the root. The policy and the tool both see
 * this folder.
 */
export function programInput<In extends object>(
  this: { readonly programs: ProgramWall },
  input: In,
): In {
  return this.programs.keys.inputBelow(input);
}

/** The output of a program, and the way it ended. */
export type ProgramResult = {
  /** The exit code. `null` if a signal ended the program. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
};

/**
 * Runs programs from an allow-list, without a shell, inside one folder and with a timeout.
 *
 * The wall decides which programs start, in which environment and folder, and for how long. It
 * can't control what an allowed program does: if you allow an interpreter, you allow everything
 * that the interpreter can do.
 *
 * Programs don't inherit this process's environment, but the system lets every program of the same
 * user read that environment. On Linux, an allowed program that can read files finds the
 * environment in `/proc/<pid>/environ`. So keep secrets out of the agent's environment if programs
 * mustn't see those secrets, or run programs as another user or in a container.
 *
 * When the call ends, the program and its whole process group are killed. A descendant that has
 * left the group (`setsid`, or `detached` in Node) survives, because Node can't find it. The call
 * doesn't wait for such a descendant, and its output is no longer read. If you have to stop such a
 * descendant, run the whole agent in a container.
 */
export class ProgramWall {
  readonly root: string;
  readonly allowedPrograms: readonly string[];
  /** The keys of files below the root. */
  readonly keys: FileKeys;
  readonly #options: ProgramWallOptions;

  constructor(options: ProgramWallOptions = {}) {
    this.#options = options;
    this.root = resolve(options.root ?? process.cwd());
    this.keys = new FileKeys(this.root);
    this.allowedPrograms = options.allowedPrograms ?? DEFAULT_PROGRAMS;
  }

  /** Returns a copy with a different allow-list, for tools that always run one known program. */
  withPrograms(allowedPrograms: readonly string[]): ProgramWall {
    return new ProgramWall({ ...this.#options, root: this.root, allowedPrograms });
  }

  /**
   * Runs a program until it ends and returns its output.
   *
   * A program that exceeds the timeout is killed, and its output so far is returned with
   * `timedOut`. All other programs in its process group are also killed, even if the program ends
   * by itself.
   *
   * @throws ToolError `FORBIDDEN_PROGRAM`, `FORBIDDEN_PATH`, `INVALID_INPUT`, `LIMIT_EXCEEDED`,
   * `ABORTED`, `EXECUTION_FAILED`
   */
  async run(
    program: string,
    argv: readonly string[],
    options: RunOptions = {},
  ): Promise<ProgramResult> {
    this.#checkProgram(program);
    checkArguments(argv);
    if (options.input !== undefined && Buffer.byteLength(options.input) > MAX_INPUT_BYTES) {
      throw new ToolError(
        'LIMIT_EXCEEDED',
        `Standard input can have at most ${MAX_INPUT_BYTES} bytes, got ${Buffer.byteLength(options.input)}.`,
      );
    }
    const root = await realpath(this.root).catch(() => {
      throw new ToolError('EXECUTION_FAILED', "The root folder for programs doesn't exist.");
    });
    const cwd = await folderInside(root, options.cwd ?? '.');
    const searchPath = await trustedPath(root);
    const file = await findProgram(program, searchPath);
    if (options.signal?.aborted) throw aborted(program);
    const env = { ...this.#environment(), PATH: searchPath.join(delimiter), ...options.env };
    const { maxOutputBytes = MAX_OUTPUT_BYTES, timeoutMs = TIMEOUT_MS } = this.#options;
    const { input, signal, keep = 'head' } = options;
    return launch(file, argv, {
      cwd,
      env,
      input,
      signal,
      keep,
      maxOutputBytes,
      timeoutMs: options.timeoutMs ?? timeoutMs,
    });
  }

  #checkProgram(program: string): void {
    // A path could lead to a file that the model wrote. A hyphen could start an option.
    const bare =
      program !== '' &&
      !program.startsWith('-') &&
      !program.startsWith('.') &&
      !/[/\\\0]/.test(program);
    if (bare && this.allowedPrograms.includes(program)) return;
    throw new ToolError(
      'FORBIDDEN_PROGRAM',
      `Expected the bare name of an allowed program (${this.allowedPrograms.join(', ') || 'none'}), got ${JSON.stringify(program).slice(0, 100)}.`,
      {
        details: { allowed: [...this.allowedPrograms] },
      },
    );
  }

  #environment(): Record<string, string> {
    const env: Record<string, string> = {};
    for (const name of this.#options.env ?? DEFAULT_ENVIRONMENT) {
      const value = process.env[name];
      if (value !== undefined) env[name] = value;
    }
    return env;
  }
}

function checkArguments(argv: readonly string[]): void {
  if (!argv.every((each) => typeof each === 'string' && !each.includes('\0'))) {
    throw new ToolError(
      'INVALID_INPUT',
      'Expected arguments to be a list of strings without NUL characters',
    );
  }
  const bytes = argv.reduce((sum, each) => sum + Buffer.byteLength(each) + 1, 0);
  if (argv.length > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES) {
    throw new ToolError(
      'LIMIT_EXCEEDED',
      `Expected at most ${MAX_ARGUMENTS} arguments and ${MAX_ARGUMENT_BYTES} bytes in total, got ${argv.length} and ${bytes}.`,
    );
  }
}

async function folderInside(root: string, folder: string): Promise<string> {
  if (folder.includes('\0'))
    throw new ToolError('INVALID_INPUT', 'Expected a working directory without NUL characters');
  const wanted = resolve(root, folder);
  if (!isInside(root, wanted)) throw outside();
  const real = await realpath(wanted).catch(() => undefined);
  // Checks the folder again, because a link below the root may lead outside.
  if (real !== undefined && !isInside(root, real)) throw outside();
  if (real === undefined || !(await stat(real)).isDirectory())
    throw new ToolError(
      'INVALID_INPUT',
      "The working directory doesn't exist below the root, or isn't a folder.",
    );
  return real;
}

function outside(): ToolError {
  return new ToolError(
    'FORBIDDEN_PATH',
    'The working directory is outside the root. Use the root or a folder below it.',
  );
}

/**
 * Returns the folders in which programs are looked up: the absolute `PATH` entries outside the
 * root.
 *
 * With `.` or `node_modules/.bin` on the `PATH`, a repository could supply its own `git`.
 */
async function trustedPath(root: string): Promise<string[]> {
  const trusted: string[] = [];
  for (const entry of (process.env['PATH'] ?? '').split(delimiter)) {
    if (!isAbsolute(entry)) continue;
    const real = await realpath(entry).catch(() => undefined);
    if (real !== undefined && !isInside(root, real)) trusted.push(entry);
  }
  return trusted;
}

async function findProgram(program: string, searchPath: readonly string[]): Promise<string> {
  for (const folder of searchPath) {
    const file = join(folder, program);
    const runnable = await access(file, constants.X_OK)
      .then(async () => (await stat(file)).isFile())
      .catch(() => false);
    if (runnable) return file;
  }
  throw new ToolError(
    'EXECUTION_FAILED',
    `The program "${program}" isn't installed or isn't on the PATH.`,
  );
}

interface Launch extends Pick<RunOptions, 'input' | 'signal'> {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly keep: 'head' | 'tail';
  readonly maxOutputBytes: number;
  readonly timeoutMs: number;
}

function launch(
  file: string,
  argv: readonly string[],
  { cwd, env, input, signal, keep, maxOutputBytes, timeoutMs }: Launch,
): Promise<ProgramResult> {
  const program = basename(file);
  return new Promise((settle, reject) => {
    // `detached` gives the program its own process group, which can be killed as a whole.
    const child = spawn(file, argv, {
      cwd,
      env,
      shell: false,
      detached: true,
      windowsHide: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const stdout = new OutputBuffer(maxOutputBytes, keep);
    const stderr = new OutputBuffer(maxOutputBytes, keep);
    let timedOut = false;

    // A descendant that left the group may still have the pipes open. The call doesn't wait for
    // that descendant.
    const closePipes = () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const stop = () => {
      killGroup(child);
      closePipes();
    };
    const timer = setTimeout(() => {
      timedOut = true;
      stop();
    }, timeoutMs);
    signal?.addEventListener('abort', stop, { once: true });
    let grace: NodeJS.Timeout | undefined;
    const release = () => {
      clearTimeout(timer);
      clearTimeout(grace);
      signal?.removeEventListener('abort', stop);
    };

    child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk));
    child.stdin?.on('error', () => undefined); // A program may end without reading its input.
    child.stdin?.end(input);
    child.once('exit', () => {
      clearTimeout(timer); // The program ended in time, even if its pipes are still open.
      killGroup(child);
      // `setImmediate` runs after the pipes are polled once more, so no output is lost.
      grace = setTimeout(() => setImmediate(closePipes), PIPE_GRACE_MS);
    });
    child.once('error', () => {
      release();
      reject(
        new ToolError('EXECUTION_FAILED', `The system refused to start the program "${program}".`),
      );
    });
    child.once('close', (exitCode) => {
      release();
      if (signal?.aborted) reject(aborted(program));
      else
        settle({
          exitCode,
          stdout: stdout.text(),
          stderr: stderr.text(),
          truncated: stdout.truncated || stderr.truncated,
          timedOut,
        });
    });
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // The group is gone, or the system doesn't support groups.
  }
}

function aborted(program: string): ToolError {
  return new ToolError('ABORTED', `The call of "${program}" was aborted`);
}

/** The output of one stream. Only its first or last bytes are kept. */
class OutputBuffer {
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(
    private readonly limit: number,
    private readonly keep: 'head' | 'tail',
  ) {}

  get truncated(): boolean {
    return this.#total > this.limit;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    if (this.keep === 'head' && this.#kept >= this.limit) return;
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
    while (this.keep === 'tail' && this.#kept - (this.#chunks[0]?.length ?? 0) >= this.limit)
      this.#kept -= this.#chunks.shift()?.length ?? 0;
  }

  text(): string {
    const kept = Buffer.concat(this.#chunks);
    return (
      this.keep === 'head'
        ? kept.subarray(0, this.limit)
        : kept.subarray(Math.max(0, kept.length - this.limit))
    ).toString('utf8');
  }
}
