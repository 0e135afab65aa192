import type { CallEffect } from '../effect.js';
import { httpEffects } from './http.js';
import { reads, undecided, wordsIn, writes, type AuditKnowledge } from './known-value.js';
import { PROGRAM_TABLE, type Program } from './program-table.js';
import { shellCommands } from './shell-text.js';
import { sqlEffects } from './sql.js';

const READERS = new Set(
  wordsIn(
    'rg grep egrep fgrep zgrep ag ack fd fdfind ls dir cat bat head tail wc uniq cut tr nl tac rev diff cmp comm file stat du df ps pgrep top htop which where whereis type whoami id groups who w users uname hostname arch nproc lscpu lsblk lsusb lspci uptime free vmstat iostat env printenv echo printf pwd true false test [ basename dirname realpath readlink md5sum md5 sha1sum sha256sum shasum cksum tree jq xmllint lsof netstat ss ping traceroute nslookup dig host whois ifconfig sw_vers system_profiler mdfind mdls getent journalctl dmesg man less more column xxd od hexdump strings nm objdump otool ffprobe pdftotext pdfinfo exa eza getprop dumpsys uiautomator ioreg plutil sleep cd export set unset date cal seq expr bc fold fmt paste join zcat gunzip-l pbpaste wl-paste locate sort awk gawk mawk sed yq find getconf locale ulimit exit return read wait lscpu pstree screencap xdpyinfo tasklist ver systeminfo [[ base64 base32 clear tput stty logcat pidof zipinfo identify pg_dump pg_dumpall mysqldump mongoexport readelf timedatectl loginctl',
  ),
);
/** Options with which a reader writes. */
const WRITING_READERS: Readonly<Record<string, RegExp>> = {
  sed: /^-[nEr]*i|^--in-place/,
  yq: /^-i$|^--inplace/,
  gawk: /^-i$|^inplace$/,
  pg_dump: /^(?:-f|--file)/,
  pg_dumpall: /^(?:-f|--file)/,
  mysqldump: /^(?:-r|--result-file|-T|--tab)/,
  mongoexport: /^(?:-o$|--out)/,
  logcat: /^-c$/,
  dumpsys: /^(?:set|reset|unplug|enable|disable|write)$/,
  timedatectl: /^set/,
  loginctl: /^(?:kill|terminate|lock|unlock|enable|disable)/,
  screencap: /^[^-]/,
  base64: /^--output/,
  sort: /^-o|^--output/,
  find: /^-(?:delete|fprint|fls)/,
  awk: /^-i$/,
  date: /^-s$|^--set/,
  hostname: /^[^-]/,
  tree: /^-o$/,
  journalctl: /^--(?:vacuum|rotate|flush)/,
  dmesg: /^-(?:c|C)$|--clear/,
  plutil: /^-(?:replace|insert|remove|convert)/,
  ifconfig: /^(?:up|down)$/,
};
const CHANGERS = new Set(
  wordsIn(
    'rm rmdir mv cp chmod chown chgrp dd tee truncate kill pkill killall xkill shutdown reboot halt mount umount shred install patch scp rsync sftp zip gzip gunzip bzip2 xz ln useradd userdel usermod passwd ffmpeg convert magick mogrify sips qpdf unzip screencapture scrot input monkey xdotool ydotool cliclick wmctrl xclip xsel pbcopy wl-copy open xdg-open start explorer notify-send say osacompile rimraf del taskkill reg netsh sc mkfs fdisk iptables ufw lp lpr mail sendmail at prettier createdb dropdb createuser dropuser pg_restore mongodump mongorestore mongoimport setprop svc',
  ),
);
const ADDERS = new Set(wordsIn('mkdir touch mktemp screenrecord'));
/** Programs that start the one that follows, with their options that have a value. */
const WRAPPERS: Readonly<Record<string, string>> = {
  sudo: '-u -g -h -p -C -D',
  doas: '-u -C',
  nice: '-n',
  nohup: '',
  xargs: '-n -I -P -L -d -a -s -E --max-args --max-procs',
  timeout: '-s -k --signal --kill-after',
  gtimeout: '-s -k',
  stdbuf: '-o -e -i',
  unbuffer: '',
  caffeinate: '-t -w',
  setsid: '',
  ionice: '-c -n',
  npx: '-p --package',
  bunx: '-p',
  pnpx: '',
  exec: '-a',
  arch: '',
  command: '',
  env: '-u -C --unset --chdir',
  uv: '',
  uvx: '',
  dlx: '',
};
const SHELLS = new Set(wordsIn('sh bash zsh dash ksh fish ash powershell pwsh cmd.exe'));
const SQL_OPTIONS: Readonly<Record<string, RegExp>> = {
  psql: /^(?:-[A-Za-z]*c|--command)(?:=([^]*))?$/,
  mysql: /^(?:-e([^]+)?|--execute(?:=([^]*))?)$/,
  mariadb: /^(?:-e([^]+)?|--execute(?:=([^]*))?)$/,
  sqlcmd: /^-[qQ]$/,
  'clickhouse-client': /^(?:-q|--query)(?:=([^]*))?$/,
  bq: /^query$/,
};
/** Programs of clouds, whose first word that is a verb decides. */
const CLOUDS = new Set(
  wordsIn(
    'aws gcloud az doctl flyctl fly heroku vercel netlify wrangler firebase supabase linode-cli oci ibmcloud eksctl argocd istioctl flux linkerd vault consul nomad ctr crictl',
  ),
);
const CLOUD_READ =
  /^(?:list|ls|describe|get|show|view|status|info|read|head|search|logs|tail|whoami|version|inspect|ps|history|top|select|scan|query|batch-get|lookup|explain|wait|diff|plan|validate|test-iam-permissions|print|current|presign|simulate|preview|filter|estimate|help|members)(?:$|-)/;
const CLOUD_WRITE =
  /^(?:get-credentials|create|delete|remove|rm|del|update|set|unset|add|put|deploy|undeploy|start|stop|restart|reboot|terminate|run-|batch-write|batch-delete|transact-write|apply|patch|enable|disable|attach|detach|modify|import|cp|mv|sync|mb|rb|publish|send|login|logout|push|pull|reset|rollback|scale|resize|destroy|move|copy|upload|associate|disassociate|register|deregister|authorize|revoke|grant|tag|untag|upgrade|replace|write|kill|cancel|promote|link|unlink|install|uninstall|init|reconcile|restore|purge|drain|join|leave|change|edit|rename|rotate|suspend|resume)(?:$|-|(?<=-))/;
const isOption = (arg: string | undefined) => arg?.startsWith('-') === true;

/** Returns the words of a command that are no options, and no values of options before the subcommand. */
function plainWords(
  args: readonly (string | undefined)[],
  values: ReadonlySet<string>,
): readonly (string | undefined)[] {
  const words: (string | undefined)[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (!isOption(arg)) words.push(arg);
    else if (arg !== undefined && values.has(arg)) at += 1;
  }
  return words;
}

const lists = new Map<string, ReadonlySet<string>>();
function entriesOf(list: string): ReadonlySet<string> {
  let entries = lists.get(list);
  if (entries === undefined)
    lists.set(list, (entries = new Set(list.split(',').map((each) => each.trim()))));
  return entries;
}
const has = (list: string | undefined, words: string) =>
  list !== undefined && entriesOf(list).has(words);
const hasBelow = (list: string | undefined, words: string) =>
  list !== undefined && [...entriesOf(list)].some((entry) => entry.startsWith(`${words} `));

function ofProgram(
  name: string,
  program: Program,
  args: readonly (string | undefined)[],
): CallEffect {
  const words = wordsFor(name, plainWords(args, new Set(wordsIn(program.values ?? ''))));
  const call = [name, ...words.slice(0, 3).map((word) => word ?? '…')].join(' ').slice(0, 80);
  if (args.some((arg) => arg !== undefined && program.reading?.test(arg) === true) || isHelp(args))
    return reads('process-spawn', call);
  if (args.some((arg) => arg !== undefined && program.writing?.test(arg) === true))
    return writes('process-spawn', call, true);
  if (words.length === 0)
    return has(program.reads, '(none)') || has(program.reads, '*')
      ? reads('process-spawn', call)
      : has(program.changes, '(none)')
        ? writes('process-spawn', call, true)
        : undecided('process-spawn', call);
  if (name === 'git') {
    const special = gitEffect(words, args, call);
    if (special !== undefined) return special;
  }
  for (const length of [3, 2, 1]) {
    const known = words.slice(0, length);
    if (known.length < length || known.includes(undefined)) continue;
    const text = known.join(' ');
    const isRest = `${known.slice(0, -1).join(' ')} *`;
    // The word that decides between the subcommand and those below it is not known.
    if (words.length > length && words[length] === undefined) {
      if (has(program.changes, `${text} *`) && !hasBelow(program.reads, text))
        return writes('process-spawn', call, true);
      if ([program.reads, program.adds, program.changes].some((list) => hasBelow(list, text)))
        return undecided('process-spawn', call);
    }
    for (const [list, of] of [
      [program.reads, () => reads('process-spawn', call)],
      [program.adds, () => writes('process-spawn', call, false)],
      [program.changes, () => writes('process-spawn', call, true)],
    ] as const)
      if (has(list, text)) return of();
    if (length > 1 && has(program.adds, isRest)) return writes('process-spawn', call, false);
    if (length > 1 && has(program.changes, isRest)) return writes('process-spawn', call, true);
  }
  if (words[0] === undefined) return undecided('process-spawn', call);
  return has(program.reads, '*')
    ? reads('process-spawn', call)
    : has(program.changes, '*')
      ? writes('process-spawn', call, true)
      : undecided('process-spawn', call);
}

const isHelp = (args: readonly (string | undefined)[]) =>
  /^--(?:help|version)$/.test(args[0] ?? '') ||
  (args.at(-1) === '--help' && !isOption(args.at(-2)));

/** The words of programs that have a device, a service or a kind of thing between those that decide. */
function wordsFor(
  name: string,
  words: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  const [first, second, ...rest] = words;
  if (name === 'simctl' && words.length > 2 && /^(?:io|ui|status_bar|location)$/.test(first ?? ''))
    return [first, ...rest];
  if (name === 'service' && words.length > 1) return [second, first];
  if (name === 'docker' && words.length > 1 && (first === 'container' || first === 'image'))
    return [first === 'image' && second === 'rm' ? 'rmi' : second, ...rest];
  return name === 'redis-cli' ? words.map((word) => word?.toLowerCase()) : words;
}

/** Options with which git's branch and tag list, where they have further words. */
const LISTS =
  /^(?:-l|--list|-a|--all|-r|--remotes|--contains|--merged|--no-merged|--points-at|--show-current|-v|-vv|--format|--sort|-n)/;
/** Options with which a subcommand of git changes something that is there, and those with which it only looks. */
const GIT_CHANGES =
  /^(?:-[dDmMfcCu]|--delete|--move|--force|--copy|--set-upstream-to|--unset|--edit-description|--add|--replace-all|--edit|--(?:remove|rename)-section|--amend|-w|-o|--output)/;

/** Subcommands of git whose options and number of words decide. */
function gitEffect(
  [subcommand = '', ...rest]: readonly (string | undefined)[],
  args: readonly (string | undefined)[],
  call: string,
): CallEffect | undefined {
  const has = (pattern: RegExp) => args.some((arg) => isOption(arg) && pattern.test(arg ?? ''));
  if (
    /^(?:branch|tag|config|archive|hash-object|symbolic-ref)$/.test(subcommand) &&
    has(GIT_CHANGES)
  )
    return writes('process-spawn', call, true, true);
  switch (subcommand) {
    case 'branch':
    case 'tag':
      return rest.length === 0 || has(LISTS)
        ? reads('process-spawn', call)
        : writes('process-spawn', call, false, true);
    case 'config':
      if (has(/^(?:--get|--list|-l|--show-origin)/)) return reads('process-spawn', call);
      return rest.length === 1 && rest[0] !== undefined ? reads('process-spawn', call) : undefined;
    case 'clean':
      return has(/^-[a-z]*n/) ? reads('process-spawn', call) : undefined;
    case 'commit':
    case 'cherry-pick':
    case 'revert':
      return has(/^--abort/) ? undefined : writes('process-spawn', call, has(/^--amend/), false);
    case 'symbolic-ref':
      return rest.length > 1 ? writes('process-spawn', call, true, true) : undefined;
    default:
      return undefined;
  }
}

/** Returns the effect of curl, by its method, its data and where it saves the answer. */
function curlEffects(args: readonly (string | undefined)[]): readonly CallEffect[] {
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

function ghApiEffects(args: readonly (string | undefined)[]): readonly CallEffect[] {
  const at = args.findIndex((arg) => arg === '-X' || arg === '--method');
  const sends = args.some((arg) => /^(?:-f|-F|--field|--raw-field|--input)$/.test(arg ?? ''));
  const query = args
    .map((arg) => /^query=([^]*)/.exec(arg ?? '')?.[1])
    .find((text) => text !== undefined);
  return httpEffects(
    at === -1 ? (sends ? 'POST' : 'GET') : args[at + 1],
    plainWords(args, new Set(['-X', '--method', '-f', '-F', '-H', '-q', '--jq']))[1],
    query === undefined ? undefined : { query },
  );
}

/**
 * Returns what starting a program does, as far as its words are known.
 *
 * @param program its name or path.
 * @param args undefined for an argument that is not known.
 */
export function programEffects(
  program: string,
  args: readonly (string | undefined)[],
  known?: AuditKnowledge,
  depth = 0,
): readonly CallEffect[] {
  const name = program
    .split(/[\\/]/)
    .at(-1)!
    .replace(/\.(?:exe|cmd|bat)$/i, '');
  const call = [name, ...args.slice(0, 2).map((arg) => arg ?? '…')].join(' ').slice(0, 80);
  const own = known?.programs;
  const told =
    own === undefined
      ? undefined
      : [`${name} ${args[0] ?? ''}`, name]
          .map((key) => (Object.hasOwn(own, key) ? own[key] : undefined))
          .find((access) => access !== undefined);
  if (told !== undefined)
    return [
      told === 'read'
        ? reads('process-spawn', call)
        : told === 'write'
          ? writes('process-spawn', call)
          : undecided('process-spawn', call),
    ];
  if (depth > 4) return [undecided('process-spawn', call)];
  if (
    args.length > 0 &&
    args.every((arg) => /^(?:--?version|-v|-V|version|--help|-h|help)$/.test(arg ?? ''))
  )
    return [reads('process-spawn', call)];
  const inner = (words: readonly (string | undefined)[]) =>
    words.length === 0
      ? []
      : words[0] === undefined
        ? [undecided('process-spawn', call)]
        : programEffects(words[0], words.slice(1), known, depth + 1);
  if (SHELLS.has(name) || name === 'cmd') {
    const at = args.findIndex((arg) => /^(?:-\w*c|\/c|-Command|-command)$/.test(arg ?? ''));
    const text = at === -1 ? undefined : args[at + 1];
    if (text !== undefined)
      return shellCommands(text.slice(0, 20_000)).flatMap(({ words, writesTo }) => [
        ...inner(words),
        ...writesTo.map((target) => writes('fs-write', `> ${target ?? '…'}`, true, true)),
      ]);
    if (name !== 'cmd') return [undecided('process-spawn', call)];
  }
  if (Object.hasOwn(WRAPPERS, name) && !(name === 'env' && args.length === 0)) {
    const values = new Set(wordsIn(WRAPPERS[name]!));
    let at = 0;
    for (
      let arg = args[0];
      arg !== undefined &&
      (isOption(arg) ||
        (name.endsWith('timeout') && /^[\d.]+[smhd]?$/.test(arg)) ||
        (name === 'env' && arg.includes('=')));
      arg = args[at]
    )
      at += values.has(arg) ? 2 : 1;
    return args.length === 0
      ? [undecided('process-spawn', call)]
      : at < args.length
        ? inner(args.slice(at))
        : [reads('process-spawn', call)];
  }
  if (name === 'xcrun') {
    const words = plainWords(args, new Set(['--sdk', '-sdk', '--toolchain']));
    // Options of the program that xcrun starts are its own.
    const from = words.length === 0 ? args.length : args.indexOf(words[0]);
    return args.some((arg) => /^-?-(?:find|show|version)|^-f$/.test(arg ?? ''))
      ? [reads('process-spawn', call)]
      : inner(args.slice(from));
  }
  if (name === 'adb') {
    const at = args.findIndex((arg) => arg === 'shell' || arg === 'exec-out');
    if (at !== -1 && args.length === at + 1) return [undecided('process-spawn', call)];
    if (at !== -1)
      return args.slice(at + 1).every((arg) => arg !== undefined)
        ? programEffects('sh', ['-c', args.slice(at + 1).join(' ')], known, depth + 1)
        : inner(args.slice(at + 1));
  }
  if (name === 'curl') return curlEffects(args);
  if (name === 'wget') {
    if (args.some((arg) => /^--(?:post|method|body)/.test(arg ?? '')))
      return [writes('net-write', call)];
    return [
      /(?:^| )(?:--spider|-\w*O ?(?:-|\/dev\/(?:null|stdout)))(?: |$)/.test(args.join(' '))
        ? reads('net-read', call)
        : writes('fs-write', call, true, true),
    ];
  }
  if (name === 'sqlite3') return sqlEffects(plainWords(args, new Set(['-separator', '-cmd']))[1]);
  const sqlOption = SQL_OPTIONS[name];
  if (sqlOption !== undefined && Object.hasOwn(SQL_OPTIONS, name)) {
    const at = args.findIndex((arg) => sqlOption.test(arg ?? ''));
    const inline = sqlOption
      .exec(args[at] ?? '')
      ?.slice(1)
      .find((text) => text !== undefined);
    return args.some((arg) => arg === '-l' || arg === '--list')
      ? [reads('db-read', call)]
      : sqlEffects(at === -1 ? undefined : (inline ?? args[at + 1]));
  }
  if (name === 'gh' && args[0] === 'api') return ghApiEffects(args);
  if (name === 'simctl' && args[0] === 'spawn') return inner(args.slice(2));
  if (name === 'podman' || name === 'nerdctl')
    return [ofProgram('docker', PROGRAM_TABLE['docker']!, args)];
  if (Object.hasOwn(PROGRAM_TABLE, name)) return [ofProgram(name, PROGRAM_TABLE[name]!, args)];
  if (CLOUDS.has(name)) {
    const words = plainWords(
      args,
      new Set(['--profile', '--region', '--project', '-o', '--output']),
    );
    for (const word of words.slice(0, 6).map((each) => each?.split(':').at(-1))) {
      if (
        word === undefined ||
        (/^(?:run|exec|ssh|console|execute)$/.test(word) && !(word === 'run' && name === 'gcloud'))
      )
        break;
      if (CLOUD_WRITE.test(word)) return [writes('net-write', call)];
      if (CLOUD_READ.test(word)) return [reads('net-read', call)];
    }
    return [undecided('net-write', call)];
  }
  if (name === 'find' && args.some((arg) => /^-(?:exec|ok)/.test(arg ?? '')))
    return [
      ...inner(args.slice(args.findIndex((arg) => /^-(?:exec|ok)/.test(arg ?? '')) + 1)),
      ...(args.includes('-delete') ? [writes('fs-write', call, true)] : []),
    ];
  if (/awk$/.test(name) && args.some((arg) => />\s*"|system\s*\(|\|\s*"/.test(arg ?? '')))
    return [undecided('process-spawn', call)];
  if (READERS.has(name)) {
    const writing = Object.hasOwn(WRITING_READERS, name) ? WRITING_READERS[name]! : undefined;
    if (args.some((arg) => arg !== undefined && writing?.test(arg) === true))
      return [name === 'screencap' ? undecided('fs-write', call) : writes('fs-write', call, true)];
    // A word that is not known may be one with which it writes.
    if (args.includes(undefined) && writing?.test('…') === true)
      return [undecided('fs-write', call)];
    return [
      reads(
        /^(?:ping|traceroute|nslookup|dig|host|whois)$/.test(name) ? 'net-read' : 'process-spawn',
        call,
      ),
    ];
  }
  if (CHANGERS.has(name))
    return [
      writes(
        /^(?:rm|rmdir|mv|cp|chmod|chown|dd|tee|truncate)$/.test(name)
          ? 'fs-write'
          : 'process-spawn',
        call,
        true,
      ),
    ];
  if (ADDERS.has(name)) return [writes('fs-write', call, false, name !== 'mktemp')];
  // Of other programs a subcommand that is a verb of change tells as much; one that reads does not.
  const verbs = plainWords(args, new Set()).slice(0, 2);
  return [
    verbs.some(
      (word, at) =>
        word !== undefined &&
        (at === 0 || !CLOUD_READ.test(verbs[0] ?? '')) &&
        CLOUD_WRITE.test(word),
    )
      ? writes('process-spawn', call)
      : undecided('process-spawn', call),
  ];
}
