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
 * The settings are passed in environment variables. Unlike `-c`, environment variables allow any
 * name, and also apply to the programs that git starts.
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
  // Even with locks disabled, `git diff` would write a refreshed index.
  ['diff.autoRefreshIndex', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['mailmap.file', ''],
  ['commit.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // Without this setting, git would make up an identity from the user name and host name if none is
  // configured.
  ['user.useConfigOnly', 'true'],
];

/** Disables prompts and sets messages to English. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C',
};

/**
 * Options for every command that shows differences. These options keep git from starting configured
 * programs that convert or compare files.
 */
export const PLAIN_DIFF: readonly string[] = Object.freeze([
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--submodule=short',
  '--ignore-submodules=all',
]);

/** Options for one git call. */
interface GitOptions extends Pick<RunOptions, 'signal' | 'input' | 'timeoutMs'> {
  /** Protocols allowed for reaching other repositories, such as `ssh`. @default none */
  readonly protocols?: readonly string[];
  /**
   * True if the paths are pathspecs with magic, as returned by `readablePathspecs`.
   * @default false
   */
  readonly pathspecs?: boolean;
}

/** The type of `this` in a git tool's `conflictKeys` and `canonicalInput`. */
export interface OnRepository {
  readonly repository: GitRepository;
}

/** Returns an input with canonical paths relative to the root, for both the policy and the tool. */
export function repositoryInput<In extends object>(this: OnRepository, input: In): In {
  return this.repository.keys.inputBelow(input);
}

/** The git repository at the root of a `ProgramWall`. */
export class GitRepository {
  readonly #git: ProgramWall;
  /**
   * The keys that calls touch: `git:src/a.ts` for committed files, `file:src/a.ts` for the work
   * tree.
   */
  readonly keys: FileKeys;

  constructor(programs: ProgramWall = new ProgramWall()) {
    this.#git = programs.withPrograms(['git']);
    this.keys = this.#git.keys;
  }

  /** Returns the keys for everything below some paths, or for everything if there are no paths. */
  keysBelow(paths: readonly string[], kind: 'git' | 'file'): readonly string[] {
    return paths.length === 0 ? [`${kind}:`] : paths.flatMap((path) => this.keys.below(path, kind));
  }

  /** Runs a read-only command. Git doesn't refresh the index or run configured filters. */
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
   * @throws ToolError `FORBIDDEN_PROGRAM` if the repository's own configuration sets a program that
   * git would start. The user's own configuration may set such programs.
   */
  async write(argv: readonly string[], options: GitOptions = {}): Promise<ProgramResult> {
    const keys = await this.#checkedConfiguration(options.signal);
    const own = keys.find(
      ({ scope, key }) => (scope === 'local' || scope === 'worktree') && startsProgram(key),
    );
    if (own !== undefined) {
      throw new ToolError(
        'FORBIDDEN_PROGRAM',
        `The repository's own configuration starts a program (${own.key.slice(0, 100)}). Remove that setting or move it to your user configuration.`,
      );
    }
    return this.#run(argv, HARDENING, options);
  }

  /**
   * Returns the hash of the commit that a checked revision refers to, or `undefined` if there is
   * none.
   */
  async commitOf(revision: string, signal?: AbortSignal): Promise<string | undefined> {
    const { exitCode, stdout } = await this.read(
      ['rev-parse', '--quiet', '--verify', '--end-of-options', `${revision}^{commit}`],
      { signal },
    );
    return exitCode === 0 ? stdout.trim() : undefined;
  }

  /** Returns the name of the current branch, which is empty if HEAD is detached. */
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
   * Returns a failed result with the first lines of git's message, without local paths and
   * passwords.
   */
  failed(what: string, { stderr, stdout }: ProgramResult): ToolResult<never> {
    const lines = (stderr || stdout)
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('hint:'));
    return fail(
      `Git could not ${what}. Its message: ${redacted(lines.slice(0, 3).join('; ')) || 'none'}`,
    );
  }

  /**
   * Refuses repositories that reach outside the root, and returns the repository's configuration.
   */
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
        "The root isn't a git repository with a work tree, or git doesn't trust it.",
      );
    const real = await Promise.all(
      [top, ...folders].map((folder) => realpath(folder).catch(() => '')),
    );
    // `core.worktree`, a `.git` file or a link could make any folder the repository.
    if (
      real[0] !== root ||
      real.length !== 3 ||
      !real.every((folder) => folder !== '' && isInside(root, folder))
    ) {
      throw new ToolError(
        'FORBIDDEN_PATH',
        "The repository's work tree must be the root, and its data must be below the root. Linked work trees aren't supported.",
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
        // Keeps git from fetching missing objects of a partial clone with a configured program.
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
        `git ${argv[0] ?? ''} took too long and was stopped. Request less at a time.`,
      );
    return result;
  }
}

/** Maximum number of paths passed to git. Above that, git lists all files. */
const MAX_LISTED = 500;
/** Maximum number of characters of git's output that are examined and passed on. */
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
 * Settings whose value is a program that git may start in a command that writes. Each setting is
 * listed by the first and last part of its name.
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
