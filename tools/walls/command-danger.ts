import { DangerLevel } from '../../src/index.js';
import { parseShell, type ShellCommand, type ShellWord } from './shell-words.js';

/** Substitutions inside substitutions that are followed; deeper ones count as hiding something. */
const MAX_DEPTH = 6;
/** Words of a program that may run them: each is looked at with all that follow, and more than these nobody reads. */
const MAX_WORDS = 500;

/**
 * The danger of a shell command line: `HIGH`, or `CRITICAL` when it shows something that cannot be taken back or seen through.
 *
 * It only ever raises: a line in which nothing was found is still code. It reads words as the shell does, so quotes,
 * escapes and wrappers do not hide a command. Code that is not read here (of interpreters, of functions and traps, of
 * `xargs` and `find -exec`, from standard input) is critical whatever it is. A script or program of the project is not
 * looked into: what `make` or `sh build.sh` does, this cannot tell.
 */
export function dangerOfCommand(line: string): DangerLevel {
  return isCriticalLine(line, 0) ? DangerLevel.CRITICAL : DangerLevel.HIGH;
}

/** The danger of one program with its arguments, by the same rules. */
export function dangerOfProgram(program: string, argv: readonly string[] = []): DangerLevel {
  const words = [program, ...argv].map((text) => ({ text, expands: false }));
  return isCriticalCommand({ words, writesTo: [], nested: [] }, 0)
    ? DangerLevel.CRITICAL
    : DangerLevel.HIGH;
}

/** Programs that act as another user, on devices, on the whole machine, or on another one. */
const MACHINE_PROGRAMS = new Set([
  ...[
    'sudo',
    'doas',
    'su',
    'pkexec',
    'runuser',
    'chroot',
    'nsenter',
    'unshare',
    'passwd',
    'useradd',
    'userdel',
    'usermod',
    'visudo',
    'ssh',
  ],
  ...[
    'mkfs',
    'mkswap',
    'wipefs',
    'fdisk',
    'sfdisk',
    'parted',
    'shred',
    'badblocks',
    'mount',
    'umount',
    'losetup',
    'cryptsetup',
  ],
  ...[
    'shutdown',
    'reboot',
    'halt',
    'poweroff',
    'telinit',
    'systemctl',
    'insmod',
    'rmmod',
    'modprobe',
    'iptables',
    'nft',
    'crontab',
    'at',
    'batch',
  ],
]);
/** Words that keep code for later, or put it together from what is not on the line. */
const UNSEEN = new Set(['eval', 'trap', 'function', 'alias', 'xargs', 'parallel']);
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash', 'fish']);
/** Names without the number of their version. */
const INTERPRETERS = new Set([
  'python',
  'node',
  'nodejs',
  'perl',
  'ruby',
  'php',
  'deno',
  'bun',
  'lua',
  'tclsh',
  'pwsh',
  'tsx',
  'ts-node',
  'osascript',
]);
/** Words after which a command starts. */
const RESERVED = new Set([
  '{',
  '}',
  '!',
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'do',
  'done',
  'while',
  'until',
  'coproc',
]);
/** Programs that change every file they name, and those that change the last one only. */
const CHANGES_ALL = new Set([
  'rm',
  'rmdir',
  'unlink',
  'mv',
  'touch',
  'mkdir',
  'truncate',
  'tee',
  'chmod',
  'chown',
  'chgrp',
  'chattr',
  'setfacl',
  'curl',
  'wget',
  'zip',
  'unzip',
  'gzip',
  'gunzip',
]);
const CHANGES_LAST = new Set(['cp', 'ln', 'install', 'rsync', 'scp', 'uniq']);
/** Programs and words of the shell whose further words are texts, names or files. All others may run theirs, as `env` and `flock` do. */
const RUNS_NOTHING = new Set([
  ...[
    'echo',
    'printf',
    'test',
    '[',
    '[[',
    'true',
    'false',
    ':',
    'pwd',
    'date',
    'sleep',
    'which',
    'type',
    'read',
    'exit',
    'return',
    'wait',
    'for',
    'case',
    'select',
  ],
  ...[
    'cat',
    'ls',
    'grep',
    'egrep',
    'fgrep',
    'head',
    'tail',
    'wc',
    'cut',
    'tr',
    'diff',
    'cmp',
    'basename',
    'dirname',
    'realpath',
    'readlink',
    'stat',
    'file',
    'du',
    'df',
    'ps',
    'jq',
  ],
]);
/** The programs that run others with one of the words below. */
const PACKAGE_MANAGERS = new Set(['npm', 'pnpm', 'yarn']);
const RUNS_PROGRAM = new Set(['exec', 'x', 'dlx']);
const HARMLESS_DEVICES = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);
/** Assignments by which a later program loads or starts something else. */
const REDIRECTING =
  /^(?:PATH|IFS|CDPATH|ENV|BASH_ENV|SHELL|SHELLOPTS|PROMPT_COMMAND|PS4|NODE_OPTIONS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|(?:LD|DYLD)_\w+|GIT_(?!AUTHOR_|COMMITTER_)\w+|\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|COMMAND))\+?=/;

function isCriticalLine(line: string, depth: number): boolean {
  if (depth > MAX_DEPTH) return true;
  const { commands, opaque } = parseShell(line);
  return opaque || commands.some((command) => isCriticalCommand(command, depth));
}

function isCriticalCommand({ words, writesTo, nested }: ShellCommand, depth: number): boolean {
  if (writesTo.some(isOutside) || words.some(({ text }) => REDIRECTING.test(text))) return true;
  if (nested.some((inner) => isCriticalLine(inner, depth + 1))) return true;
  const start = words.findIndex(
    ({ text }) => !RESERVED.has(text) && !/^[A-Za-z_]\w*\+?=/.test(text),
  );
  const command = start < 0 ? [] : words.slice(start);
  if (isCriticalProgram(command, depth)) return true;
  return (
    mayRunItsWords(command) &&
    (command.length > MAX_WORDS ||
      command.some((_, i) => i > 0 && isCriticalArgument(command.slice(i), depth)))
  );
}

/** Returns true if words would be critical as the command that another program runs; its options cannot be told from its values. */
function isCriticalArgument(command: readonly ShellWord[], depth: number): boolean {
  const [first] = command;
  if (first === undefined) return false;
  if (first.text.startsWith('-')) return isCriticalValue(first, depth);
  // A glob is a list of files to most programs; a variable can be anything.
  return first.expands ? /[$`]/.test(first.text) : isCriticalProgram(command, depth);
}

/** `env -S'rm -rf /'`, `--command='rm -rf /'`: code that is glued to an option. */
function isCriticalValue(option: ShellWord, depth: number): boolean {
  const value = placeIn(option).text;
  return /\s/.test(value) && isCriticalLine(value, depth + 1);
}

function mayRunItsWords(command: readonly ShellWord[]): boolean {
  const name = nameOf(command[0]);
  if (PACKAGE_MANAGERS.has(name)) return command.some(({ text }) => RUNS_PROGRAM.has(text));
  return (
    !RUNS_NOTHING.has(name) &&
    !isInterpreter(name) &&
    !CHANGES_ALL.has(name) &&
    !CHANGES_LAST.has(name) &&
    !Object.hasOwn(PROGRAM_RULES, name)
  );
}

function isCriticalProgram([first, ...rest]: readonly ShellWord[], depth: number): boolean {
  if (first === undefined) return false;
  if (first.expands) return true; // `$CMD`, `r?`, `{rm,-rf,/}`: what runs is not what is written.
  if (/\s/.test(first.text)) return isCriticalLine(first.text, depth + 1); // `env -S 'rm -rf /'`
  const name = nameOf(first);
  if (MACHINE_PROGRAMS.has(name) || UNSEEN.has(name) || name.startsWith('mkfs.')) return true;
  if (SHELLS.has(name)) return isCriticalShell(rest, depth);
  if (isInterpreter(name)) return !isScript(name, rest);
  if (CHANGES_ALL.has(name) && rest.map(placeIn).some(isOutside)) return true;
  if (CHANGES_LAST.has(name) && isOutside(targetOf(rest))) return true;
  // Own ones only: a program may be called `constructor`.
  return Object.hasOwn(PROGRAM_RULES, name) && PROGRAM_RULES[name]?.(rest) === true;
}

function isInterpreter(name: string): boolean {
  return SHELLS.has(name) || INTERPRETERS.has(name.replace(/[\d.]+$/, ''));
}

/** Shell code is read like the line itself; a script is a file of the project; all else comes from somewhere unseen. */
function isCriticalShell(rest: readonly ShellWord[], depth: number): boolean {
  if (rest.length === 1 && rest[0]?.text === '--version') return false;
  const end = rest.findIndex(({ text }) => !/^[-+]/.test(text));
  const options = rest.slice(0, Math.max(end, 0)).map(({ text }) => text);
  const [operand] = rest.slice(Math.max(end, 0));
  if (
    end < 0 ||
    operand === undefined ||
    operand.expands ||
    !options.every((text) => text === '--' || /^-[celux]+$/.test(text))
  )
    return true;
  return options.some((text) => text.includes('c'))
    ? isCriticalLine(operand.text, depth + 1)
    : isOutside(operand);
}

/** Modules of Python that run no code of their arguments. */
const PLAIN_MODULES = new Set(['json.tool', 'mypy', 'pip', 'pytest', 'unittest', 'venv']);

/** Returns true if an interpreter is given a file of the project to run, and no code. */
function isScript(name: string, rest: readonly ShellWord[]): boolean {
  const [first, second] = rest;
  if (first === undefined || first.expands) return false;
  if (first.text === '--version' || first.text === '--help') return rest.length === 1;
  if (name.startsWith('python') && first.text === '-m')
    return second !== undefined && PLAIN_MODULES.has(second.text);
  if (name === 'node' && first.text === '--test')
    return rest.slice(1).every(({ text }) => !text.startsWith('-'));
  // They run code and addresses by a word.
  if (
    (name === 'deno' || name === 'bun') &&
    rest.some(
      ({ text }) => text === 'eval' || text === 'repl' || text === 'x' || text.includes('://'),
    )
  )
    return false;
  return !/^[-+]/.test(first.text) && !isOutside(first);
}

const TAR_PROGRAM_OPTIONS = [
  '--checkpoint-action',
  '--to-command',
  '--use-compress-program',
  '--info-script',
  '--new-volume-script',
  '--rsh-command',
  '--rmt-command',
];

type Rule = (rest: readonly ShellWord[]) => boolean;

const isCriticalScript: Rule = (rest) =>
  rest[0] === undefined || rest[0].expands || rest[0].text.startsWith('-') || isOutside(rest[0]);
const leavesFolder: Rule = (rest) =>
  operandsOf(rest).length !== 1 || rest.some((word) => word.expands || isOutside(word));
/** Returns true for awk code with any sign that it starts programs or writes files: only code without one is plain. */
const isCriticalAwk: Rule = (rest) =>
  hasFlag(rest, 'fe', ['--file', '--source', '--exec']) ||
  operandsOf(rest).some(({ text, expands }) => expands || /system|getline|[|>@]/.test(text));

/** The rules that make single programs critical; what they are given is known and no command. */
const PROGRAM_RULES: Readonly<Record<string, Rule>> = {
  rm: (rest) =>
    hasFlag(rest, 'rR', ['--recursive']) &&
    operandsOf(rest).some((word) => word.expands || isBroad(word.text)),
  dd: (rest) =>
    rest.some(
      ({ text, expands }) => text.startsWith('of=') && isOutside({ text: text.slice(3), expands }),
    ),
  sed: isCriticalSed,
  awk: isCriticalAwk,
  gawk: isCriticalAwk,
  mawk: isCriticalAwk,
  kill: (rest) => rest.some(({ text }, i) => i > 0 && text === '-1'),
  init: (rest) => rest.some(({ text }) => /^[\dsS]$/.test(text)),
  cd: leavesFolder,
  pushd: leavesFolder,
  popd: () => true,
  source: isCriticalScript,
  '.': isCriticalScript,
  find: (rest) => rest.some(({ text }) => /^-(?:delete|exec|ok|fprint|fls)/.test(text)),
  git: isCriticalGit,
  rsync: (rest) => hasFlag(rest, 'e', ['--rsh', '--rsync-path', '--delete']),
  sort: (rest) =>
    hasFlag(rest, '', ['--compress-program']) ||
    (hasFlag(rest, 'o', ['--output']) && rest.map(placeIn).some(isOutside)),
  tar: (rest) =>
    hasFlag(rest, 'IF', TAR_PROGRAM_OPTIONS) ||
    /^[A-Za-z]*[IF]/.test(rest[0]?.text ?? '') ||
    rest.map(placeIn).some(isOutside),
};

/** One command of sed, perhaps with an address: printing, deleting, or replacing without the flags that run or write. */
const PLAIN_SED =
  /^(?:[\d,$]*|\/[^/\\\n]*\/)(?:[dpq=]|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[\dgpIi]*)$/;

function isCriticalSed(rest: readonly ShellWord[]): boolean {
  // Its scripts: what follows or is glued to -e, or the first operand where there is none.
  const given = rest.flatMap((word, i) => {
    if (word.text === '-e' || word.text === '--expression') return rest.slice(i + 1, i + 2);
    return word.text.startsWith('-e') || word.text.startsWith('--expression=')
      ? [placeIn(word)]
      : [];
  });
  const scripts = given.length > 0 ? given : operandsOf(rest).slice(0, 1);
  if (
    hasFlag(rest, 'f', ['--file']) ||
    scripts.some(({ text, expands }) => (expands && /[$`]/.test(text)) || !PLAIN_SED.test(text))
  )
    return true;
  return (
    hasFlag(rest, 'i', ['--in-place']) &&
    operandsOf(rest).some((word) => !scripts.includes(word) && isOutside(word))
  );
}

/** Options of git that take a program to run or a file to write; abbreviations count. */
const GIT_PROGRAM_OPTIONS = [
  '--upload-pack',
  '--receive-pack',
  '--exec',
  '--exec-path',
  '--config-env',
  '--ext-diff',
  '--open-files-in-pager',
  '--output',
  '--extcmd',
  '--template',
];
/** Commands of git that lose nothing, with the options and words that are exceptions. All others, aliases among them, are critical. */
const GIT_COMMANDS: Readonly<
  Record<
    string,
    {
      readonly letters?: string;
      readonly long?: readonly string[];
      readonly words?: readonly string[];
    }
  >
> = {
  ...Object.fromEntries(
    [
      'add',
      'blame',
      'cat-file',
      'cherry-pick',
      'commit',
      'describe',
      'diff',
      'fetch',
      'help',
      'init',
      'log',
      'ls-files',
      'ls-remote',
      'ls-tree',
      'merge',
      'pull',
      'revert',
      'rev-parse',
      'shortlog',
      'show',
      'status',
      'version',
    ].map((name) => [name, {}]),
  ),
  branch: { letters: 'dDfMC', long: ['--delete', '--force'] },
  clone: { letters: 'uc' },
  grep: { letters: 'O' },
  mv: { letters: 'f', long: ['--force'] },
  push: {
    letters: 'fd',
    long: ['--force', '--force-with-lease', '--mirror', '--delete', '--prune'],
  },
  remote: { words: ['remove', 'rm', 'rename', 'prune', 'set-url', 'update'] },
  reset: { long: ['--hard', '--merge', '--keep'] },
  stash: { words: ['drop', 'clear'] },
  switch: { letters: 'fC', long: ['--force', '--discard-changes', '--force-create'] },
  tag: { letters: 'df', long: ['--delete', '--force'] },
};

function isCriticalGit(rest: readonly ShellWord[]): boolean {
  if (rest.some(({ text }) => isGitProgramOption(text))) return true;
  let at = 0;
  for (; rest[at]?.text.startsWith('-'); at++) {
    const folder = rest[at + 1];
    if (rest[at]?.text === '-c') return true; // A setting can name a program.
    if (rest[at]?.text === '-C' && folder !== undefined && isOutside(folder)) return true;
    if (rest[at]?.text === '-C') at++;
  }
  const [command, ...words] = rest.slice(at);
  if (command === undefined) return false;
  const known = Object.hasOwn(GIT_COMMANDS, command.text) ? GIT_COMMANDS[command.text] : undefined;
  if (
    known === undefined ||
    hasFlag(words, known.letters ?? '', known.long ?? []) ||
    words.some(({ text }) => known.words?.includes(text))
  )
    return true;
  // `+main` and `:main` force and delete.
  return (
    command.text === 'push' &&
    words.some(({ text }) => text.startsWith('+') || text.startsWith(':'))
  );
}

function isGitProgramOption(text: string): boolean {
  const option = text.split('=', 1)[0] ?? '';
  return (
    text.startsWith('ext::') ||
    (option.length > 4 &&
      option.startsWith('--') &&
      GIT_PROGRAM_OPTIONS.some((each) => each.startsWith(option)))
  );
}

function nameOf(word: ShellWord | undefined): string {
  return word === undefined
    ? ''
    : word.text.slice(word.text.lastIndexOf('/') + 1).toLowerCase() || word.text;
}

function operandsOf(rest: readonly ShellWord[]): readonly ShellWord[] {
  const end = rest.findIndex(({ text }) => text === '--');
  return rest.filter(
    ({ text }, i) => (end >= 0 && i > end) || (i !== end && !text.startsWith('-')),
  );
}

/** Returns the place that a word names, also one that is glued to its option: `-o/etc/x`, `--output=/etc/x`. */
function placeIn({ text, expands }: ShellWord): ShellWord {
  return {
    text: text.startsWith('--')
      ? text.slice(text.indexOf('=') + 1)
      : text.startsWith('-')
        ? text.slice(2)
        : text,
    expands,
  };
}

/** Returns the target of a copy: the last operand, or the place that `-t` names. */
function targetOf(rest: readonly ShellWord[]): ShellWord {
  const named = rest.findIndex(({ text }) => text === '-t' || text === '--target-directory');
  const joined = rest.find(({ text }) => text.startsWith('--target-directory='));
  if (joined !== undefined)
    return { ...joined, text: joined.text.slice(joined.text.indexOf('=') + 1) };
  return (named >= 0 ? rest[named + 1] : operandsOf(rest).at(-1)) ?? { text: '', expands: false };
}

function hasFlag(rest: readonly ShellWord[], letters: string, long: readonly string[]): boolean {
  return rest.some(({ text }) => {
    if (text.startsWith('--'))
      return (
        text.length > 3 && long.some((each) => each.startsWith(text.split('=', 1)[0] as string))
      );
    return text.startsWith('-') && [...letters].some((letter) => text.includes(letter));
  });
}

/** A place that may lie outside the work tree or in git's own folder: absolute, of a home folder, above, or only known when the line runs. */
function isOutside({ text, expands }: ShellWord): boolean {
  if (HARMLESS_DEVICES.has(text)) return false;
  if (expands && /[$`{]/.test(text)) return true;
  return (
    text.startsWith('/') ||
    text.startsWith('~') ||
    text.split('/').some((part) => part === '..' || part === '.git')
  );
}

/** A target of a recursive delete that takes everything with it. */
function isBroad(text: string): boolean {
  return (
    isOutside({ text, expands: false }) ||
    ['', '.', '*'].includes(text.split('/').filter((part) => part !== '' && part !== '.')[0] ?? '')
  );
}
