import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { ToolError } from '../../src/index.js';
import { FileKeys } from './file-keys.js';
import { isInside } from './path-rules.js';

/** Bytes kept of each output stream: some thousands of lines, more than a model can use of one answer. */
const MAX_OUTPUT_BYTES = 256 * 1024;
/** Milliseconds before a program is killed: far above a quick command, short enough for an agent to wait. */
const TIMEOUT_MS = 30_000;
/** Arguments of one call: above any honest command line. */
const MAX_ARGUMENTS = 1_000;
/** Bytes of all arguments together: what Linux accepts for a single one. */
const MAX_ARGUMENT_BYTES = 128 * 1024;
/** Bytes written to a program's standard input: a long document. */
const MAX_INPUT_BYTES = 1024 * 1024;
/** Milliseconds that the output of a program that has ended is waited for: what it wrote is in the pipes already. */
const PIPE_GRACE_MS = 100;

/** The variables a program sees: where things are and which language to speak; no keys, and none that load code. */
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
/** The programs that may be run when nothing else is said: this project's own runtime and its scripts. */
export const DEFAULT_PROGRAMS: readonly string[] = Object.freeze(['node', 'npm']);

interface ProgramWallOptions {
  /** The folder programs run in. @default the process's working directory */
  readonly root?: string;
  /** Bare names of the programs that may be run. @default node and npm */
  readonly allowedPrograms?: readonly string[];
  /** Names of the environment variables that programs see. @default a short list of harmless ones */
  readonly env?: readonly string[];
  /** The bytes of each output that are kept. @default 262,144 */ readonly maxOutputBytes?: number;
  /** The milliseconds after which a program is stopped. @default 30,000 */ readonly timeoutMs?: number;
}

export interface RunOptions {
  /** Stops the program when it aborts. @default none */ readonly signal?: AbortSignal | undefined;
  /** The working directory: the root or a folder below it. @default the root */
  readonly cwd?: string | undefined;
  /** Text for standard input, which is closed after it; without it there is none. */
  readonly input?: string | undefined;
  /** Variables that a tool itself sets; never taken from a model's input. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** The milliseconds after which the program is stopped. @default the wall's */ readonly timeoutMs?:
    number | undefined;
  /** The part of too long an output that is kept. @default 'head' */
  readonly keep?: 'head' | 'tail';
}

/** Returns an input with its folder as the policy and the wall read it: relative to the root, in one form. */
export function programInput<In extends object>(
  this: { readonly programs: ProgramWall },
  input: In,
): In {
  return this.programs.keys.inputBelow(input);
}

export interface ProgramResult {
  /** `null` when a signal ended the program. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

/**
 * Runs programs from an allow-list, without a shell, inside one folder, and never longer than their time.
 *
 * It decides which programs start, with which environment, where, and for how long. What an allowed program then does
 * with its arguments is beyond it: allowing an interpreter allows everything the interpreter can do.
 *
 * The environment of programs is chosen, but this process keeps its own, and the system lets programs of the same user read it:
 * on Linux an allowed program that reads files sees it in `/proc/<pid>/environ`. Secrets that programs must not have do not
 * belong into the environment of the agent; or run programs as another user or in a container.
 *
 * A program and all of its process group are killed when the call ends. A descendant that left the group (`setsid`, or
 * `detached` in Node) is not found and lives on: Node has no means to hold it. The call does not wait for it, and what
 * it writes is no longer read. Where that matters, run the whole agent in a container.
 */
export class ProgramWall {
  readonly root: string;
  readonly allowedPrograms: readonly string[];
  /** The keys of what lies below the root. */
  readonly keys: FileKeys;
  readonly #options: ProgramWallOptions;

  constructor(options: ProgramWallOptions = {}) {
    this.#options = options;
    this.root = resolve(options.root ?? process.cwd());
    this.keys = new FileKeys(this.root);
    this.allowedPrograms = options.allowedPrograms ?? DEFAULT_PROGRAMS;
  }

  /** The same wall with another allow-list, for tools that always run one known program. */
  withPrograms(allowedPrograms: readonly string[]): ProgramWall {
    return new ProgramWall({ ...this.#options, root: this.root, allowedPrograms });
  }

  /**
   * Runs a program to its end and returns what it wrote.
   *
   * A program that takes too long is killed and its output so far returned with `timedOut`. Whatever else runs in its
   * process group is killed with it, also when it ends by itself.
   *
   * @throws ToolError `FORBIDDEN_PROGRAM`, `FORBIDDEN_PATH`, `INVALID_INPUT`, `LIMIT_EXCEEDED`, `ABORTED`, `EXECUTION_FAILED`
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
        `Expected at most ${MAX_INPUT_BYTES} bytes of standard input, got ${Buffer.byteLength(options.input)}.`,
      );
    }
    const root = await realpath(this.root).catch(() => {
      throw new ToolError(
        'EXECUTION_FAILED',
        'Expected the root of the programs to be a folder that exists',
      );
    });
    const cwd = await folderInside(root, options.cwd ?? '.');
    const searchPath = await trustedPath(root);
    const file = await findProgram(program, searchPath);
    if (options.signal?.aborted) throw aborted(program);
    const env = { ...this.#environment(), PATH: searchPath.join(delimiter), ...options.env };
    const { maxOutputBytes = MAX_OUTPUT_BYTES, timeoutMs = TIMEOUT_MS } = this.#options;
    const { input, signal, keep = 'head' } = options;
    return launch({
      program,
      file,
      argv,
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
    // A path could name a file that the model has just written; a leading hyphen could be read as an option.
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
      `Expected at most ${MAX_ARGUMENTS} arguments of ${MAX_ARGUMENT_BYTES} bytes together, got ${argv.length} of ${bytes} bytes.`,
    );
  }
}

async function folderInside(root: string, folder: string): Promise<string> {
  if (folder.includes('\0'))
    throw new ToolError('INVALID_INPUT', 'Expected a working directory without NUL characters');
  const wanted = resolve(root, folder);
  if (!isInside(root, wanted)) throw outside();
  const real = await realpath(wanted).catch(() => undefined);
  // Checked again after links are followed: a link below the root may lead out of it.
  if (real !== undefined && !isInside(root, real)) throw outside();
  if (real === undefined || !(await stat(real)).isDirectory())
    throw new ToolError(
      'INVALID_INPUT',
      'Expected the working directory to be a folder that exists below the root',
    );
  return real;
}

function outside(): ToolError {
  return new ToolError(
    'FORBIDDEN_PATH',
    'Expected the working directory to be the root or below it, got one outside.',
  );
}

/**
 * The folders in which programs are looked for: absolute ones outside the root.
 *
 * `.` or `node_modules/.bin` on the path would let a repository bring its own `git`.
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
    `Expected the program "${program}" to be installed, got none on the path.`,
  );
}

interface Launch extends Pick<RunOptions, 'input' | 'signal'> {
  readonly program: string;
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly keep: 'head' | 'tail';
  readonly maxOutputBytes: number;
  readonly timeoutMs: number;
}

function launch({
  program,
  file,
  argv,
  cwd,
  env,
  input,
  signal,
  keep,
  maxOutputBytes,
  timeoutMs,
}: Launch): Promise<ProgramResult> {
  return new Promise((settle, reject) => {
    // `detached` makes the program the leader of its own process group, so that the whole group can be killed.
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

    // A descendant that left the group may still hold the pipes; nothing waits for it.
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
      clearTimeout(timer); // It ended in time, whoever else holds its pipes.
      killGroup(child);
      // The immediate comes after one more look at the pipes, so that a busy process loses nothing either.
      grace = setTimeout(() => setImmediate(closePipes), PIPE_GRACE_MS);
    });
    child.once('error', () => {
      release();
      reject(
        new ToolError(
          'EXECUTION_FAILED',
          `Expected the program "${program}" to start, but the system refused`,
        ),
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
    child.kill('SIGKILL'); // The group is gone, or the system has no groups.
  }
}

function aborted(program: string): ToolError {
  return new ToolError('ABORTED', `The call of "${program}" was aborted`);
}

/** One output stream, of which only the first or the last bytes are kept. */
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
