import type { CallEffect } from '../effect.js';
import { httpEffects } from './http.js';
import { reads, undecided, wordsIn, writes, type AuditKnowledge } from './known-value.js';
import { PROGRAM_TABLE, type Program } from './program-table.js';
import { shellCommands } from './shell-text.js';
import { sqlEffects } from './sql.js';

/** The words of a command. An unknown word is undefined. */
type Words = readonly (string | undefined)[];

const READERS = new Set(
  wordsIn(
    `
    rg grep egrep fgrep zgrep ag ack fd fdfind ls dir cat bat head tail wc uniq cut tr nl tac
    rev diff cmp comm file stat du df ps pgrep top htop which where whereis type whoami id
    groups who w users uname nproc lscpu lsblk lsusb lspci uptime free vmstat iostat env
    printenv echo printf pwd true false test [ basename dirname realpath readlink md5sum md5
    sha1sum sha256sum shasum cksum jq xmllint lsof netstat ss ping traceroute nslookup dig
    host whois sw_vers system_profiler mdfind mdls getent man less more column xxd od hexdump
    strings nm objdump otool ffprobe pdftotext pdfinfo exa eza getprop uiautomator ioreg sleep
    cd export set unset cal seq expr bc fold fmt paste join zcat gunzip-l pbpaste wl-paste
    locate getconf locale ulimit exit return read wait lscpu pstree xdpyinfo tasklist ver
    systeminfo [[ base32 clear tput stty pidof zipinfo identify readelf
  `,
  ),
);
const CHANGERS = new Set(
  wordsIn(
    `
    rm rmdir mv cp chmod chown chgrp dd tee truncate kill pkill killall xkill shutdown reboot
    halt mount umount shred install patch scp rsync sftp zip gzip gunzip bzip2 xz ln useradd
    userdel usermod passwd ffmpeg convert magick mogrify sips qpdf unzip screencapture scrot
    input monkey xdotool ydotool cliclick wmctrl xclip xsel pbcopy wl-copy open xdg-open start
    explorer notify-send say osacompile rimraf del taskkill reg netsh sc mkfs fdisk iptables
    ufw lp lpr mail sendmail at prettier createdb dropdb createuser dropuser pg_restore
    mongodump mongorestore mongoimport setprop svc
  `,
  ),
);
const ADDERS = new Set(wordsIn('mkdir touch mktemp screenrecord'));
/** Programs that start another program, each with its options that take a value. */
const WRAPPERS: Readonly<Record<string, string>> = {
  sudo: '-u -g -h -p -C -D',
  doas: '-u -C',
  nice: '-n',
  nohup: '',
  xargs: '-n -I -P -L -d -a -s -E --max-args --max-procs',
  timeout: '-s -k --signal --kill-after',
  gtimeout: '-s -k',
  stdbuf: '-o -e -i',
  npx: '-p --package',
  exec: '-a',
  command: '',
  env: '-u -C --unset --chdir',
  uvx: '',
  xcrun: '--sdk -sdk --toolchain',
};
const SHELLS = /^(?:(?:ba|z|da|k|fi|a)?sh|powershell|pwsh|cmd)$/;
/** Options whose value is SQL. */
const SQL_OPTIONS: Readonly<Record<string, RegExp>> = {
  psql: /^(?:-[A-Za-z]*c|--command)(?:=([^]*))?$/,
  mysql: /^(?:-e([^]+)?|--execute(?:=([^]*))?)$/,
  mariadb: /^(?:-e([^]+)?|--execute(?:=([^]*))?)$/,
  sqlcmd: /^-[qQ]$/,
  sqlite3: /^[^-].*$/,
};
/** Command-line tools of cloud providers. The first verb in the command determines its effect. */
const CLOUDS = new Set(
  wordsIn(
    `
    aws gcloud az doctl flyctl fly heroku vercel netlify wrangler firebase supabase linode-cli
    oci ibmcloud eksctl argocd istioctl flux linkerd vault consul nomad ctr crictl
  `,
  ),
);
const CLOUD_READ =
  /^(?:list|ls|describe|get|show|view|status|info|read|head|search|logs|tail|whoami|version|inspect|ps|history|top|select|scan|query|batch-get|lookup|explain|wait|diff|plan|validate|test-iam-permissions|print|current|presign|simulate|preview|filter|estimate|help|members)(?:$|-)/;
const CLOUD_WRITE =
  /^(?:get-credentials|create|delete|remove|rm|del|update|set|unset|add|put|deploy|undeploy|start|stop|restart|reboot|terminate|run-|batch-write|batch-delete|transact-write|apply|patch|enable|disable|attach|detach|modify|import|cp|mv|sync|mb|rb|publish|send|login|logout|push|pull|reset|rollback|scale|resize|destroy|move|copy|upload|associate|disassociate|register|deregister|authorize|revoke|grant|tag|untag|upgrade|replace|write|kill|cancel|promote|link|unlink|install|uninstall|init|reconcile|restore|purge|drain|join|leave|change|edit|rename|rotate|suspend|resume)(?:$|-|(?<=-))/;
const isOption = (arg: string | undefined) => arg?.startsWith('-') === true;

/**
 * Returns the words of a command, without its options and without the values of options before the
 * subcommand.
 */
function plainWords(args: Words, values: ReadonlySet<string>): Words {
  const words: (string | undefined)[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (!isOption(arg)) words.push(arg);
    else if (arg !== undefined && values.has(arg)) at += 1;
  }
  return words;
}

const lists = new Map<string, ReadonlySet<string>>();
function entriesOf(list = ''): ReadonlySet<string> {
  const entries =
    lists.get(list) ?? new Set(list.split(',').map((each) => each.trim().toLowerCase()));
  lists.set(list, entries);
  return entries;
}
const has = (list: string | undefined, words: string) => entriesOf(list).has(words.toLowerCase());
const hasBelow = (list: string | undefined, words: string) =>
  [...entriesOf(list)].some((entry) => entry.startsWith(`${words} `));

/**
 * Returns the effect of a program's subcommand according to the table. Rules come first, then the
 * lists, where the longest match wins.
 */
function ofProgram(name: string, program: Program, args: Words): CallEffect {
  const { adds, changes, drop, reads: looks, rules = [], values = '' } = program;
  const known = plainWords(args, new Set(wordsIn(values))).map((word) => word ?? '…');
  const words = drop === undefined ? known : known.join(' ').replace(drop, '').split(' ');
  const call = [name, ...words.slice(0, 3)].join(' ').slice(0, 80);
  // Rules are matched against the text from the subcommand on, without the program's options before
  // it.
  const from = values === '' ? 0 : args.indexOf(known[0] === '…' ? undefined : known[0]);
  const text = args
    .slice(Math.max(0, from))
    .map((arg) => arg ?? '…')
    .join(' ');
  if (isHelp(args)) return reads('process-spawn', call);
  for (const [pattern, what] of rules) {
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) continue;
    if (found === '…' || what === 'unknown') return undecided('process-spawn', call);
    return what === 'reads' ? reads('process-spawn', call) : writes('process-spawn', call, ...what);
  }
  const answers = [
    [looks, () => reads('process-spawn', call)],
    [adds, () => writes('process-spawn', call, false)],
    [changes, () => writes('process-spawn', call, true)],
  ] as const;
  const of = (...keys: readonly string[]): CallEffect | undefined =>
    keys.flatMap((key) => answers.flatMap(([list, make]) => (has(list, key) ? [make()] : [])))[0];
  const anything = of(...(words[0] ? [] : ['(none)']), ...(words[0] === '…' ? [] : ['*']));
  for (const length of words[0] ? [3, 2, 1] : []) {
    const some = words.slice(0, length);
    if (some.length < length || some.includes('…')) continue;
    const key = some.join(' ');
    // The next word would select a nested subcommand, but that word is unknown.
    if (words[length] === '…') {
      if (has(changes, `${key} *`) && !hasBelow(looks, key))
        return writes('process-spawn', call, true);
      if (answers.some(([list]) => hasBelow(list, key))) return undecided('process-spawn', call);
    }
    const found = of(key, ...(length > 1 ? [`${some.slice(0, -1).join(' ')} *`] : []));
    if (found !== undefined) return found;
  }
  return anything ?? undecided('process-spawn', call);
}

const isHelp = (args: Words) =>
  /^--(?:help|version)$/.test(args[0] ?? '') ||
  (args.at(-1) === '--help' && !isOption(args.at(-2)));

/**
 * Returns the effect of a curl command, based on the request's method and data, and on the file for
 * the response.
 */
function curlEffects(args: Words): readonly CallEffect[] {
  const text = args.map((arg) => arg ?? '…').join(' ');
  if (/(?:^| )(?:-K|--config)/.test(text)) return [undecided('net-write', 'curl --config')];
  const sends =
    /(?:^| )(?:-[a-zA-Z]*[dFT]|--data\S*|--form|--upload-file|--json)(?:[ =]|$)/.test(text) &&
    !/(?:^| )(?:-G|--get)(?: |$)/.test(text);
  const told = /(?:^| )(?:-[a-zA-Z]*X ?|--request[ =])(\S+)/.exec(text)?.[1];
  const saves =
    /(?:^| )(?:-[a-zA-Z]*[OJ]|--remote-name|-c|--cookie-jar|-D|--dump-header)(?: |$)/.test(text) ||
    /(?:^| )(?:-[a-zA-Z]*o|--output)[ =]?(?![ =]|-(?: |$)|\/dev\/)/.test(text);
  return [
    ...httpEffects(
      told === '…' ? undefined : (told ?? (sends ? 'POST' : 'GET')),
      args.find((arg) => arg?.includes('://') === true),
      args[args.findIndex((arg) => /^(?:-d|--data|--data-raw|--json)$/.test(arg ?? '')) + 1],
    ),
    ...(saves ? [writes('fs-write', 'curl --output', true, true)] : []),
  ];
}

/** Returns the access that the user's `known` option gives for a program. */
function toldOf(known: AuditKnowledge | undefined, name: string, [first]: Words) {
  const programs = known?.programs ?? {};
  const key = [`${name} ${first ?? ''}`, name].find((each) => Object.hasOwn(programs, each));
  return key === undefined ? undefined : programs[key];
}

const OF = { read: reads, write: writes, unknown: undecided };

/**
 * Returns the effect of starting a program, as far as the words of the command show it.
 *
 * @param program The program's name or path.
 * @param args The arguments, or undefined if they're unknown.
 */
export function programEffects(
  program: string,
  args: Words,
  known?: AuditKnowledge,
  depth = 0,
): readonly CallEffect[] {
  const name = program
    .split(/[\\/]/)
    .at(-1)!
    .replace(/\.(?:exe|cmd|bat)$/i, '');
  const call = [name, ...args.slice(0, 2).map((arg) => arg ?? '…')].join(' ').slice(0, 80);
  const unknown = [undecided('process-spawn', call)];
  const told = toldOf(known, name, args);
  if (told !== undefined) return [OF[told]('process-spawn', call)];
  if (depth > 4) return unknown;
  if (
    args.length > 0 &&
    args.every((arg) => /^(?:--?version|-v|-V|version|--help|-h|help)$/.test(arg ?? ''))
  )
    return [reads('process-spawn', call)];
  const inner = ([first, ...rest]: Words, from = args) =>
    first !== undefined
      ? programEffects(first, rest, known, depth + 1)
      : from.length > 0 && from.at(-1) !== undefined
        ? []
        : unknown;
  if (SHELLS.test(name)) {
    const at = args.findIndex((arg) => /^(?:-\w*c|\/c|-Command|-command)$/.test(arg ?? ''));
    const text = at === -1 ? undefined : args[at + 1];
    if (text === undefined) return unknown;
    return shellCommands(text.slice(0, 20_000)).flatMap(({ words, writesTo }) => [
      ...(words.length === 0 ? [] : words[0] === undefined ? unknown : inner(words)),
      ...writesTo.map((target) => writes('fs-write', `> ${target ?? '…'}`, true, true)),
    ]);
  }
  if (Object.hasOwn(WRAPPERS, name) && args.length > 0) {
    const values = new Set(wordsIn(WRAPPERS[name]!));
    let at = 0;
    for (let arg = args[0]; arg !== undefined && isOfWrapper(name, arg); arg = args[at])
      at += values.has(arg) ? 2 : 1;
    return at < args.length ? inner(args.slice(at)) : [reads('process-spawn', call)];
  }
  if (name === 'adb' && args.includes('shell')) {
    const rest = args.slice(args.indexOf('shell') + 1);
    return rest.length === 0 ? unknown : inner(rest);
  }
  if (name === 'curl') return curlEffects(args);
  const sqlOption = Object.hasOwn(SQL_OPTIONS, name) ? SQL_OPTIONS[name] : undefined;
  if (sqlOption !== undefined) {
    const at = args.findIndex((arg) => sqlOption.test(arg ?? ''));
    const inline = sqlOption
      .exec(args[at] ?? '')
      ?.slice(1)
      .find(Boolean);
    return sqlEffects(at === -1 ? undefined : (inline ?? args[at + 1]));
  }
  const execAt = name === 'find' ? args.findIndex((arg) => /^-(?:exec|ok)/.test(arg ?? '')) : -1;
  if (execAt >= 0) return inner(args.slice(execAt + 1));
  const table = name === 'podman' ? 'docker' : name;
  if (Object.hasOwn(PROGRAM_TABLE, table)) return [ofProgram(name, PROGRAM_TABLE[table]!, args)];
  if (READERS.has(name)) return [reads('process-spawn', call)];
  if (CHANGERS.has(name)) return [writes('process-spawn', call, true)];
  if (ADDERS.has(name)) return [writes('fs-write', call, false, name !== 'mktemp')];
  // A verb such as "delete" is trusted for every program. A verb such as "list" is trusted only for
  // cloud tools.
  const words = plainWords(args, new Set(wordsIn('--profile --region --project -o --output')));
  for (const word of words.slice(0, CLOUDS.has(name) ? 6 : 2)) {
    if (word === undefined || /^(?:exec|ssh|console|execute)$/.test(word)) break;
    if (CLOUD_WRITE.test(word)) return [writes('process-spawn', call)];
    if (CLOUD_READ.test(word)) return CLOUDS.has(name) ? [reads('net-read', call)] : unknown;
  }
  return unknown;
}

/**
 * Returns true if a word is an argument of the wrapper, and not of the program that the wrapper
 * starts.
 */
const isOfWrapper = (name: string, arg: string) =>
  isOption(arg) ||
  (name.endsWith('timeout') && /^[\d.]+[smhd]?$/.test(arg)) ||
  (name === 'env' && arg.includes('='));
