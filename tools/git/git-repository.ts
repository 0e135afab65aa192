import { createHash } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ToolError, type ToolResult } from '../../src/index.js';
import type { FileKeys } from '../walls/file-keys.js';
import { isInside } from '../walls/path-rules.js';
import { ProgramWall, type ProgramResult, type RunOptions } from '../walls/program-wall.js';

/**
 * Settings that override the repository's own, so that a hostile `.git/config` can't start programs
 * or hide changes.
 *
 * Passed through the environment: unlike `-c`, it allows any name and reaches the programs that git
 * starts.
 */
const HARDENING: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.pager', 'cat'],
  ['core.editor', 'true'],
  ['core.askPass', ''],
  ['core.quotePath', 'false'],
  ['color.ui', 'false'],
  ['log.showSignature', 'false'],
  ['diff.submodule', 'short'],
  // `git diff` would write a refreshed index even if told to take no locks.
  ['diff.autoRefreshIndex', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['mailmap.file', ''],
  ['commit.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // Without a configured identity, git must not invent one from the user's and machine's names.
  ['user.useConfigOnly', 'true'],
];

/** No prompts, and messages in English. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C',
};

/**
 * Options for every command that shows differences, so that no configured program converts or
 * compares files.
 */
export const PLAIN_DIFF: readonly string[] = Object.freeze([
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--submodule=short',
  '--ignore-submodules=all',
]);

/** Options of one git call. */
interface GitOptions extends Pick<RunOptions, 'signal' | 'input' | 'timeoutMs'> {
  /** Protocols for reaching other repositories, such as `ssh`. @default none */
  readonly protocols?: readonly string[];
  /**
   * True if the paths are pathspecs with magic, as `readablePathspecs` returns them.
   * @default false
   */
  readonly pathspecs?: boolean;
}

/** The object on which a git tool's `conflictKeys` and `canonicalInput` are called. */
export interface OnRepository {
  readonly repository: GitRepository;
}

/** Returns an input with canonical paths relative to the root, for both policy and tool. */
export function repositoryInput<In extends object>(this: OnRepository, input: In): In {
  return this.repository.keys.inputBelow(input);
}

/** The git repository at the root of a `ProgramWall`, and only that one. */
export class GitRepository {
  readonly #git: ProgramWall;
  /**
   * The keys that calls touch: `git:src/a.ts` for files in commits, `file:src/a.ts` for the work
   * tree.
   */
  readonly keys: FileKeys;

  constructor(programs: ProgramWall = new ProgramWall()) {
    this.#git = programs.withPrograms(['git']);
    this.keys = this.#git.keys;
  }

  /** Returns the keys of everything below some paths, or of everything if there are none. */
  keysBelow(paths: readonly string[], kind: 'git' | 'file'): readonly string[] {
    return paths.length === 0 ? [`${kind}:`] : paths.flatMap((path) => this.keys.below(path, kind));
  }

  /** Runs a readonly command. Doesn't refresh the index and runs no configured filter. */
  async read(argv: readonly string[], options: GitOptions = {}): Promise<ProgramResult> {
    const keys = await this.#checkedConfiguration(options.signal);
    const filters = keys
      .filter(({ key }) => isFilterKey(key))
      .map(({ key }): [string, string] => [key, key.endsWith('.required') ? 'false' : '']);
    return this.#run(argv, [...HARDENING, ...filters], {
      ...options,
      env: { GIT_OPTIONAL_LOCKS: '0' },
    });
  }

  /**
   * Runs a command that changes the repository, without hooks.
   *
   * @throws ToolError `FORBIDDEN_PROGRAM` if the repository's own configuration, and not its
   * user's, names a program that git would start.
   */
  async write(argv: readonly string[], options: GitOptions = {}): Promise<ProgramResult> {
    const keys = await this.#checkedConfiguration(options.signal);
    const own = keys.find(
      ({ scope, key }) => (scope === 'local' || scope === 'worktree') && startsProgram(key),
    );
    if (own !== undefined) {
      throw new ToolError(
        'FORBIDDEN_PROGRAM',
        `The repository's own configuration starts a program (${own.key.slice(0, 100)}). Remove that setting, or put it into your user configuration.`,
      );
    }
    return this.#run(argv, HARDENING, options);
  }

  /**
   * Returns the hash of the commit that a checked revision names, or `undefined` if there is none.
   */
  async commitOf(revision: string, signal?: AbortSignal): Promise<string | undefined> {
    const { exitCode, stdout } = await this.read(
      ['rev-parse', '--quiet', '--verify', '--end-of-options', `${revision}^{commit}`],
      { signal },
    );
    return exitCode === 0 ? stdout.trim() : undefined;
  }

  /** Returns the name of the current branch. Empty if HEAD is detached. */
  async currentBranch(signal?: AbortSignal): Promise<string> {
    const argv = ['symbolic-ref', '--quiet', '--short', 'HEAD'];
    return (await this.read(argv, { signal })).stdout.trim();
  }

  /**
   * Returns a digest that changes whenever files change in the work tree or index. Doesn't read
   * their content.
   */
  async stateOf(paths: readonly string[], signal?: AbortSignal): Promise<string> {
    const staged = await this.read(
      ['ls-files', '--stage', '-z', '--', ...(paths.length > MAX_LISTED ? [] : paths)],
      { signal },
    );
    const files = await Promise.all(
      paths.map((path) =>
        lstat(join(this.#git.root, path), { bigint: true }).then(
          ({ mode, size, mtimeNs, ctimeNs }) => [mode, size, mtimeNs, ctimeNs].join(),
          () => 'missing',
        ),
      ),
    );
    return createHash('sha256')
      .update([staged.stdout, ...files].join('\n'))
      .digest('hex');
  }

  /**
   * Returns a failure with the first lines of git's own message, without local paths and passwords.
   */
  failed(what: string, { stderr, stdout }: ProgramResult): ToolResult<never> {
    const lines = (stderr || stdout)
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('hint:'));
    return fail(
      `Git could not ${what}. It said: ${redacted(lines.slice(0, 3).join('; ')) || 'nothing'}`,
    );
  }

  /** Refuses repositories that reach beyond the root, and returns their configuration. */
  async #checkedConfiguration(
    signal: AbortSignal | undefined,
  ): Promise<readonly { readonly scope: string; readonly key: string }[]> {
    const where = await this.#run(
      ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'],
      HARDENING,
      { signal },
    );
    const root = await realpath(this.#git.root);
    const [top, ...folders] = where.stdout.trimEnd().split('\n');
    if (where.exitCode !== 0 || top === undefined)
      throw new ToolError(
        'EXECUTION_FAILED',
        'There is no git repository at the root that git trusts and that has a work tree.',
      );
    const real = await Promise.all(
      [top, ...folders].map((folder) => realpath(folder).catch(() => '')),
    );
    // `core.worktree`, a `.git` file or a link could make another folder of the machine the
    // repository.
    if (
      real[0] !== root ||
      real.length !== 3 ||
      !real.every((folder) => folder !== '' && isInside(root, folder))
    ) {
      throw new ToolError(
        'FORBIDDEN_PATH',
        "The repository's work tree must be the root, and its data must be below the root. Linked work trees are not supported.",
      );
    }
    const listed = await this.#run(
      ['config', '--list', '--show-scope', '--name-only', '-z'],
      HARDENING,
      { signal },
    );
    const parts = listed.stdout.split('\0');
    if (listed.exitCode !== 0 || listed.truncated)
      throw new ToolError('EXECUTION_FAILED', 'The git configuration is unreadable or too large.');
    return Array.from({ length: Math.floor(parts.length / 2) }, (_, i) => ({
      scope: parts[2 * i] as string,
      key: parts[2 * i + 1] as string,
    }));
  }

  async #run(
    argv: readonly string[],
    settings: readonly (readonly [string, string])[],
    { protocols = [], pathspecs = false, env, ...options }: GitOptions & Pick<RunOptions, 'env'>,
  ): Promise<ProgramResult> {
    const result = await this.#git.run('git', ['--no-pager', ...argv], {
      ...options,
      env: {
        ...ENVIRONMENT,
        GIT_LITERAL_PATHSPECS: pathspecs ? '0' : '1',
        // Otherwise git fetches a missing object of a partial clone, with a program that the
        // configuration names.
        GIT_ALLOW_PROTOCOL: protocols.join(':') || 'none',
        ...Object.fromEntries(
          settings.flatMap(([key, value], i) => [
            [`GIT_CONFIG_KEY_${i}`, key],
            [`GIT_CONFIG_VALUE_${i}`, value],
          ]),
        ),
        GIT_CONFIG_COUNT: String(settings.length),
        ...env,
      },
    });
    if (result.timedOut)
      throw new ToolError(
        'TIMEOUT',
        `git ${argv[0] ?? ''} took too long and was stopped. Ask for less.`,
      );
    return result;
  }
}

/** Maximum paths passed to git. For more, it lists all files. */
const MAX_LISTED = 500;
/** Maximum characters of git's output that are examined and passed on. */
const MAX_SAID = 4_000;
const MAX_PASSED_ON = 500;

/** Removes `user:password@` and absolute paths from a text. */
export function redacted(text: string): string {
  return text
    .slice(0, MAX_SAID)
    .replace(/[^\s'"/@:]+:[^\s'"/@]*@/g, '')
    .replace(/(^|[\s'"(=])\/[^\s'"]*/g, '$1<path>')
    .slice(0, MAX_PASSED_ON);
}

function isFilterKey(key: string): boolean {
  return key.startsWith('filter.');
}

/**
 * Settings, by first and last part of their name, whose value git starts as a program in writing
 * commands.
 */
const PROGRAM_SETTINGS: ReadonlySet<string> = new Set([
  'core.sshcommand',
  'core.gitproxy',
  'core.alternaterefscommand',
  'credential.helper',
  'remote.receivepack',
  'remote.uploadpack',
  'remote.vcs',
  'merge.driver',
  'gpg.program',
]);

function startsProgram(key: string): boolean {
  const parts = key.toLowerCase().split('.');
  return isFilterKey(key) || PROGRAM_SETTINGS.has(`${parts[0]}.${parts.at(-1)}`);
}
