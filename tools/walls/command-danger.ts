import { DangerLevel } from '../../src/index.js';
import { parseShell, type ShellCommand, type ShellWord } from './shell-words.js';

/** Substitutions inside substitutions that are followed; deeper ones count as hiding something. */
const MAX_DEPTH = 6;

/**
 * The danger of a shell command line: `HIGH`, or `CRITICAL` when it shows something that cannot be taken back or seen through.
 *
 * It only ever raises: a line in which nothing was found is still code. It reads words as the shell does, so quotes,
 * escapes and wrappers do not hide a command, and a command whose name is only known when it runs counts as critical.
 */
export function dangerOfCommand(line: string): DangerLevel {
  return isCriticalLine(line, 0) ? DangerLevel.CRITICAL : DangerLevel.HIGH;
}

/** The danger of one program with its arguments, by the same rules. */
export function dangerOfProgram(program: string, argv: readonly string[]): DangerLevel {
  const words = [program, ...argv].map((text) => ({ text, expands: false }));
  return candidatesIn(words).some((command) => isCriticalProgram(command, 0)) ? DangerLevel.CRITICAL : DangerLevel.HIGH;
}

/** Programs that act as another user, on devices, or on the whole machine. */
const MACHINE_PROGRAMS = new Set([
  ...['sudo', 'doas', 'su', 'pkexec', 'runuser', 'chroot', 'nsenter', 'unshare', 'passwd', 'useradd', 'userdel', 'usermod', 'visudo'],
  ...['mkfs', 'mkswap', 'wipefs', 'fdisk', 'sfdisk', 'parted', 'shred', 'badblocks', 'mount', 'umount', 'losetup', 'cryptsetup'],
  ...['shutdown', 'reboot', 'halt', 'poweroff', 'init', 'telinit', 'systemctl', 'insmod', 'rmmod', 'modprobe', 'iptables', 'nft', 'crontab', 'at'],
]);
/** Programs that run the rest of their words. */
const WRAPPERS = new Set(['env', 'command', 'builtin', 'exec', 'nohup', 'time', 'nice', 'ionice', 'timeout', 'stdbuf', 'setsid', 'xargs', 'busybox', 'watch', 'strace']);
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash', 'fish']);
const INTERPRETERS = new Set([...SHELLS, 'python', 'python2', 'python3', 'node', 'perl', 'ruby', 'php', 'deno', 'bun', 'lua']);
/** Words after which a command starts. */
const RESERVED = new Set(['{', '}', '!', 'if', 'then', 'else', 'elif', 'fi', 'do', 'done', 'while', 'until', 'coproc']);
/** Programs that change every file they name, and those that change the last one only. */
const CHANGES_ALL = new Set(['rm', 'rmdir', 'unlink', 'mv', 'touch', 'mkdir', 'truncate', 'tee', 'chmod', 'chown', 'chgrp', 'chattr', 'setfacl']);
const CHANGES_LAST = new Set(['cp', 'ln', 'install', 'rsync', 'scp']);
const HARMLESS_DEVICES = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

function isCriticalLine(line: string, depth: number): boolean {
  if (depth > MAX_DEPTH) return true;
  const { commands, broken } = parseShell(line);
  return broken || commands.some((command) => isCriticalCommand(command, depth)) || definesBomb(commands);
}

function isCriticalCommand({ words, writesTo, nested, after }: ShellCommand, depth: number): boolean {
  if (writesTo.some(isOutside)) return true;
  if (nested.some((inner) => isCriticalLine(inner, depth + 1))) return true;
  return candidatesIn(words).some((command) => {
    const name = nameOf(command[0]);
    // Text that arrives through a pipe or a substitution and is then run was never seen.
    if (after === '|' && INTERPRETERS.has(name) && readsProgramFromInput(command)) return true;
    if (nested.length > 0 && (SHELLS.has(name) || name === 'eval' || name === 'source' || name === '.')) return true;
    return isCriticalProgram(command, depth);
  });
}

function isCriticalProgram([first, ...rest]: readonly ShellWord[], depth: number): boolean {
  if (first === undefined) return false;
  if (first.expands) return true; // `$CMD`, `r?`, `{rm,-rf,/}`: what runs is not what is written.
  if (/\s/.test(first.text)) return isCriticalLine(first.text, depth + 1); // `env -S 'rm -rf /'`
  const name = nameOf(first);
  if (MACHINE_PROGRAMS.has(name) || name.startsWith('mkfs.')) return true;
  if (SHELLS.has(name)) return isCriticalCode(codeOf(rest), depth);
  if (name === 'eval') return rest.some((word) => word.expands) || isCriticalLine(rest.map((word) => word.text).join(' '), depth + 1);
  if (CHANGES_ALL.has(name) && operandsOf(rest).some(isOutside)) return true;
  if (CHANGES_LAST.has(name) && isOutside(targetOf(rest))) return true;
  // Own ones only: a program may be called `constructor`.
  return Object.hasOwn(PROGRAM_RULES, name) && PROGRAM_RULES[name]?.(rest, depth) === true;
}

function isCriticalCode(code: ShellWord | undefined, depth: number): boolean {
  return code !== undefined && (code.expands || isCriticalLine(code.text, depth + 1));
}

type Rule = (rest: readonly ShellWord[], depth: number) => boolean;

/** What makes single programs critical. */
const PROGRAM_RULES: Readonly<Record<string, Rule>> = {
  rm: (rest) => hasFlag(rest, 'rR', ['--recursive']) && operandsOf(rest).some((word) => word.expands || isBroad(word.text)),
  dd: (rest) => rest.some(({ text, expands }) => text.startsWith('of=') && isOutside({ text: text.slice(3), expands })),
  sed: (rest) => hasFlag(rest, 'i', ['--in-place']) && sedFilesOf(rest).some(isOutside),
  kill: (rest) => rest.some(({ text }, i) => i > 0 && text === '-1'),
  find: (rest, depth) => {
    const from = rest.findIndex(({ text }) => ['-exec', '-execdir', '-ok', '-okdir'].includes(text));
    if (from >= 0 && isCriticalProgram(rest.slice(from + 1), depth)) return true;
    const changes = from >= 0 || rest.some(({ text }) => text === '-delete');
    return changes && rest[0] !== undefined && isOutside(rest[0]);
  },
  git: (rest) => runsThroughGit(rest) || losesOnPush(rest),
  ssh: (rest) => rest.some(({ text }) => text.startsWith('-o')),
  tar: (rest) => rest.some(({ text }) => /^--(?:checkpoint-action|to-command|use-compress-program|info-script|rsh-command)/.test(text) || text === '-I'),
};

/** What `sed` works on: its operands after the script, which is an option where it is glued to one. */
function sedFilesOf(rest: readonly ShellWord[]): readonly ShellWord[] {
  const glued = rest.some(({ text }) => text.startsWith('--expression=') || (text.startsWith('-e') && text.length > 2));
  return operandsOf(rest).slice(glued ? 0 : 1);
}

/** Options of git that take a program to run or a file to write; abbreviations count. */
const GIT_PROGRAM_OPTIONS = ['--upload-pack', '--receive-pack', '--exec', '--exec-path', '--config-env', '--ext-diff', '--open-files-in-pager', '--output', '--extcmd', '--template'];

function runsThroughGit(rest: readonly ShellWord[]): boolean {
  return rest.some(({ text }) => {
    const option = text.split('=', 1)[0] ?? '';
    return text === '-c' || text.startsWith('ext::') || (option.length > 4 && option.startsWith('--') && GIT_PROGRAM_OPTIONS.some((each) => each.startsWith(option)));
  });
}

function losesOnPush(rest: readonly ShellWord[]): boolean {
  const push = rest.findIndex(({ text }) => text === 'push');
  if (push < 0) return false;
  const words = rest.slice(push + 1);
  return hasFlag(words, 'fd', ['--force', '--force-with-lease', '--mirror', '--delete', '--prune']) || words.some(({ text }) => text.startsWith('+') || text.startsWith(':'));
}

/**
 * The commands that a list of words may run: itself without reserved words and assignments, and for a wrapper
 * (`env -u X rm …`) everything that may be the wrapped command, because which options take a value cannot be told.
 */
function candidatesIn(words: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const start = words.findIndex(({ text }) => !RESERVED.has(text) && !/^[A-Za-z_]\w*\+?=/.test(text));
  if (start < 0) return [];
  const command = words.slice(start);
  if (!WRAPPERS.has(nameOf(command[0]))) return [command];
  return command.map((_, i) => command.slice(i)).filter(([first]) => !WRAPPERS.has(nameOf(first)) && !first?.text.startsWith('-'));
}

function nameOf(word: ShellWord | undefined): string {
  return word === undefined ? '' : word.text.slice(word.text.lastIndexOf('/') + 1).toLowerCase();
}

function operandsOf(rest: readonly ShellWord[]): readonly ShellWord[] {
  const end = rest.findIndex(({ text }) => text === '--');
  return rest.filter(({ text }, i) => (end >= 0 && i > end) || (i !== end && !text.startsWith('-')));
}

/** Where copies go: the last operand, or what `-t` names. */
function targetOf(rest: readonly ShellWord[]): ShellWord {
  const named = rest.findIndex(({ text }) => text === '-t' || text === '--target-directory');
  const joined = rest.find(({ text }) => text.startsWith('--target-directory='));
  if (joined !== undefined) return { ...joined, text: joined.text.slice(joined.text.indexOf('=') + 1) };
  return (named >= 0 ? rest[named + 1] : operandsOf(rest).at(-1)) ?? { text: '', expands: false };
}

function hasFlag(rest: readonly ShellWord[], letters: string, long: readonly string[]): boolean {
  return rest.some(({ text }) => {
    if (text.startsWith('--')) return text.length > 3 && long.some((each) => each.startsWith(text.split('=', 1)[0] as string));
    return text.startsWith('-') && [...letters].some((letter) => text.includes(letter));
  });
}

/** A place that may lie outside the work tree: absolute, of a home folder, above, or only known when the line runs. */
function isOutside({ text, expands }: ShellWord): boolean {
  if (HARMLESS_DEVICES.has(text)) return false;
  if (expands && text.startsWith('$')) return true;
  return text.startsWith('/') || text.startsWith('~') || text.split('/').includes('..');
}

/** A target of a recursive delete that takes everything with it. */
function isBroad(text: string): boolean {
  return isOutside({ text, expands: false }) || ['', '.', '*', '.git'].includes(text.split('/').filter((part) => part !== '' && part !== '.')[0] ?? '');
}

/** What `sh -c` is given to run. */
function codeOf(rest: readonly ShellWord[]): ShellWord | undefined {
  const option = rest.findIndex(({ text }) => /^-[a-z]+$/.test(text) && text.includes('c'));
  return option < 0 ? undefined : rest.slice(option + 1).find(({ text }) => !text.startsWith('-'));
}

function readsProgramFromInput(command: readonly ShellWord[]): boolean {
  const operands = command.slice(1).filter(({ text }) => !text.startsWith('-') || text === '-');
  const asked = SHELLS.has(nameOf(command[0])) && command.some(({ text }) => /^-[a-z]+$/.test(text) && text.includes('s'));
  return operands.length === 0 || operands[0]?.text === '-' || asked;
}

/** A function that calls itself, as `:(){ :|:& };:` does. */
function definesBomb(commands: readonly ShellCommand[]): boolean {
  return commands.some(({ words }, i) => {
    const name = words.at(-1)?.text;
    const body = commands.slice(i + 1);
    if (name === undefined || body[0]?.after !== ')' || !body[0].words[0]?.text.startsWith('{')) return false;
    const end = body.findIndex((each) => each.words[0]?.text === '}');
    return body.slice(0, end < 0 ? undefined : end).some((each) => each.words.some(({ text }) => text === name || text === `{${name}`));
  });
}
