import { createHash } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ToolError, type ToolResult } from '../../src/index.js';
import type { FileKeys } from '../walls/file-keys.js';
import { isInside } from '../walls/path-rules.js';
import { ProgramWall, type ProgramResult, type RunOptions } from '../walls/program-wall.js';

/**
 * Settings that outrank those of the repository, so that a hostile `.git/config` starts nothing and hides nothing.
 *
 * Handed over by environment: unlike `-c` it takes any name, and it reaches the programs that git itself starts.
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
  // `git diff` would write a refreshed index even when told to take no locks.
  ['diff.autoRefreshIndex', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['mailmap.file', ''],
  ['commit.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // An identity is configured or missing; git must not make one up from the names of user and machine.
  ['user.useConfigOnly', 'true'],
];

/** No waiting for a person, messages in English. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C',
};

/** Options of every command that shows differences: no program from the configuration converts or compares files. */
export const PLAIN_DIFF: readonly string[] = Object.freeze([
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--submodule=short',
  '--ignore-submodules=all',
]);

/** The options of one call of git. */
interface GitOptions extends Pick<RunOptions, 'signal' | 'input' | 'timeoutMs'> {
  /** Ways git may reach other repositories, such as `ssh`. @default none */
  readonly protocols?: readonly string[];
  /** Marks paths that are pathspecs with their magic, as `readablePathspecs` makes them. @default false */
  readonly pathspecs?: boolean;
}

/** A tool on a repository: what its `conflictKeys` and `canonicalInput` are called on. */
export interface OnRepository {
  readonly repository: GitRepository;
}

/** Returns an input with its paths as policy and tool read them: relative to the root, in one form. */
export function repositoryInput<In extends object>(this: OnRepository, input: In): In {
  return this.repository.keys.inputBelow(input);
}

/** The git repository at the root of a `ProgramWall`, and only that one. */
export class GitRepository {
  readonly #git: ProgramWall;
  /** The keys that calls touch: files of commits as `git:src/a.ts`, of the work tree as `file:src/a.ts`. */
  readonly keys: FileKeys;

  constructor(programs: ProgramWall = new ProgramWall()) {
    this.#git = programs.withPrograms(['git']);
    this.keys = this.#git.keys;
  }

  /** The keys of all below some paths; of everything when there are none. */
  keysBelow(paths: readonly string[], kind: 'git' | 'file'): readonly string[] {
    return paths.length === 0 ? [`${kind}:`] : paths.flatMap((path) => this.keys.below(path, kind));
  }

  /** Runs a command that only reads; not even the index is refreshed, and no filter of the configuration runs. */
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
   * Runs a command that changes the repository. Hooks do not run.
   *
   * @throws ToolError `FORBIDDEN_PROGRAM` when the repository itself, and not its user, configures a program that git would start.
   */
  async write(argv: readonly string[], options: GitOptions = {}): Promise<ProgramResult> {
    const keys = await this.#checkedConfiguration(options.signal);
    const own = keys.find(
      ({ scope, key }) => (scope === 'local' || scope === 'worktree') && startsProgram(key),
    );
    if (own !== undefined) {
      throw new ToolError(
        'FORBIDDEN_PROGRAM',
        `Expected a repository whose own configuration starts no programs, got ${own.key.slice(0, 100)}. Remove it or put it into your user configuration.`,
      );
    }
    return this.#run(argv, HARDENING, options);
  }

  /** The hash of the commit that a checked revision names, or `undefined` when there is none. */
  async commitOf(revision: string, signal?: AbortSignal): Promise<string | undefined> {
    const { exitCode, stdout } = await this.read(
      ['rev-parse', '--quiet', '--verify', '--end-of-options', `${revision}^{commit}`],
      { signal },
    );
    return exitCode === 0 ? stdout.trim() : undefined;
  }

  /** Returns a digest that changes whenever files change, in the work tree or in the index; what is in them is not read. */
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

  /** Returns the answer when git refused: its own first words, without places of this machine and without passwords. */
  failed(what: string, { stderr, stdout }: ProgramResult): ToolResult<never> {
    const lines = (stderr || stdout)
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('hint:'));
    return fail(
      `Expected git to ${what}; it said: ${redacted(lines.slice(0, 3).join('; ')) || 'nothing'}`,
    );
  }

  /** Refuses repositories that reach beyond the root, and lists what is configured. */
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
        'Expected a git repository with a work tree at the root, got none that git trusts.',
      );
    const real = await Promise.all(
      [top, ...folders].map((folder) => realpath(folder).catch(() => '')),
    );
    // `core.worktree`, a `.git` file or a link could make another folder of the machine the repository.
    if (
      real[0] !== root ||
      real.length !== 3 ||
      !real.every((folder) => folder !== '' && isInside(root, folder))
    ) {
      throw new ToolError(
        'FORBIDDEN_PATH',
        'Expected a repository whose work tree is the root and whose data lie below it; linked work trees are not supported',
      );
    }
    const listed = await this.#run(
      ['config', '--list', '--show-scope', '--name-only', '-z'],
      HARDENING,
      { signal },
    );
    const parts = listed.stdout.split('\0');
    if (listed.exitCode !== 0 || listed.truncated)
      throw new ToolError(
        'EXECUTION_FAILED',
        'Expected a readable git configuration of moderate size',
      );
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
        // Without it a missing object of a partial clone is fetched, by a program that the configuration names.
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
        `Expected git ${argv[0] ?? ''} to end in time, and stopped it; ask for less`,
      );
    return result;
  }
}

/** Paths that are named to git; of more it lists all files. */
const MAX_LISTED = 500;
/** Characters of git's own words that are looked through, and those that are passed on. */
const MAX_SAID = 4_000;
const MAX_PASSED_ON = 500;

/** A text without `user:password@` and without absolute paths. */
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

/** Names of settings, by their first and last part, whose value git starts as a program in writing commands. */
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
