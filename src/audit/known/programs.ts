import type { CallEffect } from '../effect.js';
import { httpEffects } from './http.js';
import { reads, undecided, wordsIn, writes, type AuditKnowledge } from './known-value.js';
import { shellCommands } from './shell-text.js';
import { sqlEffects } from './sql.js';

/** What the documentation of a program says of its subcommands: lists of them with commas, `*` for all others, `(none)` for the program alone. */
interface Program {
  readonly reads?: string;
  /** Those that only add. */
  readonly adds?: string;
  readonly changes?: string;
  /** Options with a value that may stand before the subcommand. */
  readonly values?: string;
  /** Options with which it writes whatever the subcommand, and those with which it only reads. */
  readonly writing?: RegExp;
  readonly reading?: RegExp;
}

const PACKAGES: Program = {
  reads:
    'list, ls, view, info, search, outdated, why, audit, config get, config list, root, bin, prefix, ping, whoami, explain, show, freeze, check, index, help, doctor, licenses, version, pkg get, dist-tag ls, cache dir, cache list',
  reading: /^--dry-run$/,
  writing: /^--fix$/,
  adds: 'pack',
  changes:
    'audit fix, version *, deprecate, pkg *, dist-tag *, config *, cache *, set, install, i, ci, add, remove, uninstall, un, rm, update, upgrade, up, link, unlink, dedupe, prune, publish, unpublish, init, rebuild, download, wheel',
  values: '--prefix -C --dir --cwd --registry -w --workspace --index-url',
};
const COMPOSE_VALUES = '-f --file -p --project-name --profile --env-file --project-directory';
const COMPOSE = {
  reads: 'ps, logs, config, images, ls, port, top, version, events',
  changes:
    'up, down, start, stop, restart, rm, kill, pause, unpause, build, pull, push, create, scale, cp',
  values: COMPOSE_VALUES,
};
const within = (
  name: string,
  { reads: read, changes }: { readonly reads: string; readonly changes: string },
) => ({
  reads: read.replace(/[^,]+/g, (each) => `${name} ${each.trim()}`),
  changes: changes.replace(/[^,]+/g, (each) => `${name} ${each.trim()}`),
});
const SYSTEM_PACKAGES: Program = {
  reads:
    'list, search, show, info, policy, depends, rdepends, outdated, config, deps, uses, desc, home, doctor, services list, services info, --prefix',
  changes:
    'install, remove, purge, update, upgrade, autoremove, uninstall, reinstall, add, del, tap, untap, link, unlink, cleanup, services',
};

const PROGRAMS: Readonly<Record<string, Program>> = {
  git: {
    values: '-C -c --git-dir --work-tree --namespace --exec-path',
    reading: /^--dry-run$/,
    writing: /^--(?:output(?:=|$)|lost-found$)/,
    reads:
      'log, status, diff, show, blame, annotate, shortlog, describe, rev-parse, rev-list, ls-files, ls-tree, ls-remote, cat-file, name-rev, merge-base, grep, reflog, reflog show, for-each-ref, show-ref, show-branch, whatchanged, count-objects, check-ignore, check-attr, diff-tree, diff-index, diff-files, var, version, help, remote show, remote get-url, remote, stash list, stash show, worktree list, submodule status, submodule summary, notes list, notes show, tag, branch, config get, config list, bisect log, bisect view, bundle verify, merge-tree, lfs ls-files, verify-commit, verify-tag, range-diff, cherry, fsck, archive, hash-object, symbolic-ref',
    adds: 'clone, init, add, commit, fetch, stash create, remote add, worktree add, submodule add, stash push, stash save, stash, notes add, tag *, branch *, bundle, bundle create, format-patch, revert, bisect start, lfs track',
    changes:
      'push, pull, merge, rebase, reset, checkout, switch, restore, clean, rm, mv, cherry-pick, apply, am, gc, prune, stash pop, stash apply, stash drop, stash clear, remote *, worktree *, submodule *, notes *, stash *, submodule update, notes remove, update-index, update-ref, filter-branch, filter-repo, replace, reflog expire, reflog delete, write-tree, commit-tree, config *, config set, config unset, bisect *, lfs *, sparse-checkout, maintenance',
  },
  kubectl: {
    values:
      '-n --namespace --context --kubeconfig --cluster --user -s --server --token --as -o --output --request-timeout -v',
    reads:
      'get, describe, logs, top, explain, api-resources, api-versions, version, cluster-info, diff, events, auth can-i, auth whoami, config view, config get-contexts, config current-context, config get-clusters, config get-users, rollout status, rollout history, wait, plugin list, kustomize, options',
    adds: 'create, expose, run, autoscale, debug',
    changes:
      'apply, delete, edit, patch, replace, scale, set, label, annotate, rollout *, drain, cordon, uncordon, taint, cp, certificate, config *, config use-context, config set-context, config set, config unset, config delete-context, rollout restart, rollout undo, rollout pause, rollout resume, port-forward, proxy, attach',
    reading: /^--dry-run(?:=client|=server)?$/,
    writing: /^--output-directory/,
  },
  helm: {
    values: '-n --namespace --kube-context --kubeconfig',
    reads:
      'list, ls, status, get, history, show, inspect, search, template, lint, version, env, repo list, dependency list, verify, plugin list, search repo, search hub',
    writing: /^--output-dir/,
    adds: 'install, create, repo add, package, pull, fetch',
    changes:
      'upgrade, uninstall, delete, rollback, repo update, repo remove, push, dependency update, dependency build, plugin *, test, registry',
    reading: /^--dry-run/,
  },
  docker: {
    values: `-H --host --context -l --log-level --config ${COMPOSE_VALUES}`,
    reads: `ls, list, manifest inspect, buildx ls, buildx inspect, secret ls, plugin ls, service ls, service ps, service logs, stack ls, stack ps, node ls, ps, images, inspect, logs, info, version, stats, top, port, diff, history, search, events, network ls, network inspect, volume ls, volume inspect, system df, system info, context ls, context show, context inspect, ${within('compose', COMPOSE).reads}`,
    adds: 'build, create, run, pull, volume create, network create, context create, buildx build, tag, save, export',
    changes: `rm, rmi, kill, stop, start, restart, pause, unpause, rename, update, commit, push, load, import, cp, prune, system prune, builder prune, network connect, network disconnect, network prune, volume rm, network rm, volume prune, secret *, plugin *, config *, login, logout, context use, swarm *, service *, stack *, ${within('compose', COMPOSE).changes}`,
  },
  'docker-compose': COMPOSE,
  npm: PACKAGES,
  pnpm: PACKAGES,
  yarn: { ...PACKAGES, changes: `${PACKAGES.changes!}, (none)` },
  pip: PACKAGES,
  pip3: PACKAGES,
  brew: SYSTEM_PACKAGES,
  apt: SYSTEM_PACKAGES,
  'apt-get': SYSTEM_PACKAGES,
  'apt-cache': { reads: '*' },
  apk: SYSTEM_PACKAGES,
  dnf: SYSTEM_PACKAGES,
  yum: SYSTEM_PACKAGES,
  gh: {
    values: '-R --repo',
    reads:
      [
        'pr',
        'issue',
        'repo',
        'release',
        'run',
        'workflow',
        'gist',
        'label',
        'secret',
        'variable',
        'cache',
        'ruleset',
        'project',
        'ssh-key',
        'gpg-key',
        'alias',
        'extension',
        'codespace',
        'org',
      ]
        .map((noun) =>
          ['list', 'view', 'status', 'diff', 'checks', 'get', 'item-list', 'field-list']
            .map((verb) => `${noun} ${verb}`)
            .join(', '),
        )
        .join(', ') +
      ', search, status, browse -n, auth status, auth token, config get, config list, run watch',
    adds: 'pr create, issue create, repo create, release create, gist create, label create, pr comment, issue comment, repo fork, repo clone',
    changes:
      'pr *, issue *, repo *, release *, run *, workflow *, gist *, label *, secret *, variable *, auth *, cache *, project *, config *, ssh-key *, gpg-key *, alias *, extension *, codespace *',
  },
  terraform: {
    values: '-chdir',
    reads:
      'plan, show, output, validate, state list, state show, version, providers, graph, workspace list, workspace show, console',
    reading: /^-check$/,
    writing: /^-out(?:=|$)/,
    changes:
      'providers *, ' +
      'apply, destroy, init, import, taint, untaint, state *, workspace *, fmt, refresh, force-unlock, get',
  },
  systemctl: {
    reads:
      'status, show, list-units, list-unit-files, list-timers, list-sockets, list-dependencies, is-active, is-enabled, is-failed, cat, get-default, help, (none)',
    changes:
      'start, stop, restart, reload, try-restart, reload-or-restart, kill, enable, disable, reenable, mask, unmask, link, edit, set-property, set-default, isolate, daemon-reload, daemon-reexec, reset-failed, poweroff, reboot, halt, suspend, hibernate, set-environment, unset-environment, revert, preset',
    values: '-H -M -n -o -p -t',
  },
  service: { reads: 'status', reading: /^--status-all$/, changes: '*' },
  launchctl: { reads: 'list, print, blame, help, version', changes: '*' },
  defaults: { reads: 'read, read-type, domains, find, help', changes: '*' },
  crontab: { reading: /^-l$/, changes: '*, (none)' },
  reg: { reads: 'query, compare', changes: '*' },
  sc: { reads: 'query, queryex, qc', changes: '*' },
  simctl: {
    reads:
      'list, getenv, get_app_container, listapps, appinfo, help, pbpaste, runtime list, bootstatus, io enumerate, ui appearance, ui increase_contrast, ui content_size, ui, status_bar list, location list',
    writing: /^-b$/,
    adds: 'io screenshot, io recordVideo, create, clone, diagnose, addmedia',
    changes:
      'boot, shutdown, erase, delete, install, uninstall, launch, terminate, openurl, io *, ui *, ui appearance *, ui increase_contrast *, ui content_size *, status_bar *, location *, privacy, push, pbcopy, pbsync, keychain, logverbose, rename, upgrade, pair, unpair, pair_activate, icloud_sync, install_app_data, runtime *',
  },
  xctrace: { reads: 'list, version, help', adds: 'record, export', changes: 'import, symbolicate' },
  xcresulttool: {
    reads: 'get, graph, metadata, version, formatDescription',
    adds: 'export',
    changes: 'merge',
  },
  devicectl: { reads: 'list, device info', changes: 'device *, manage', writing: /^--json-output/ },
  swift: {
    reads: 'package describe, package dump-package, package show-dependencies, help',
    changes: 'package *, build, run, test, format',
    values: '--package-path -c --configuration --target --product --arch',
  },
  xcodebuild: {
    reading:
      /^-(?:list|showsdks|showBuildSettings|version|showdestinations|showTestPlans|checkFirstLaunchStatus)$/,
    changes: '*, (none)',
  },
  idb: {
    values: '--udid --companion',
    reads:
      'list-targets, list-apps, describe, ui describe-all, ui describe-point, log, crash list, crash show, file ls, file read',
    adds: 'screenshot, video, record',
    changes:
      'ui *, connect, disconnect, boot, shutdown, install, uninstall, launch, terminate, open, focus, approve, revoke, set-location, add-media, clear-keychain, contacts, crash delete, file *, send-notification, simulate-memory-warning, set, xctest, kill',
  },
  ios: {
    reads:
      'list, info, apps, devicename, version, ps, syslog, lang, image list, diskspace, batterycheck',
    adds: 'screenshot',
    changes:
      'install, uninstall, launch, kill, reboot, erase, setlocation, resetlocation, tunnel, forward, image *, profile, pair, activate',
  },
  adb: {
    values: '-s -t -H -P -L',
    reads:
      'devices, get-state, get-serialno, get-devpath, version, logcat, help, features, host-features, jdwp, wait-for-device',
    reading: /^--list$/,
    adds: 'pull, bugreport',
    changes:
      'push, install, install-multiple, uninstall, reboot, connect, disconnect, kill-server, start-server, forward, reverse, root, unroot, remount, emu, tcpip, usb, sideload, pair, reconnect, sync',
    writing: /^-c$/,
  },
  pm: { reads: 'list, path, dump, resolve-activity, query-activities', changes: '*' },
  am: { reads: 'stack list, get-config, get-current-user', changes: '*' },
  settings: { reads: 'get, list', changes: '*' },
  wm: { reads: 'size, density', changes: 'size *, density *, user-rotation *' },
  cmd: { reads: 'package list, package resolve-activity', changes: 'uimode night *' },
  content: { reads: 'query, read', changes: 'insert, update, delete, write, call' },
  ime: { reads: 'list', changes: 'enable, disable, set, reset' },
  uiautomator: { reading: /^\/dev\/(?:tty|stdout)$/, changes: 'runtest' },
  ip: {
    reads:
      'addr, address, link, route, neigh, a, r, -br, addr show, addr list, link show, route show, route list, route get',
    changes: 'addr *, address *, a *, r *, neigh *, link *, route *',
  },
  sysctl: { reads: '*', writing: /^-w$|=/ },
  cargo: {
    reads:
      'metadata, tree, search, version, --version, --list, info, locate-project, pkgid, check --no-run',
    changes:
      'build, run, test, install, uninstall, add, remove, update, publish, clean, new, init, fmt, fix, bench, check, clippy',
  },
  go: {
    reads: 'version, env, list, doc, vet, help',
    changes: 'build, install, get, mod, generate, clean, fmt, work',
  },
  dotnet: {
    reads: '--info, --version, --list-sdks, list',
    changes: 'build, add, remove, new, publish, restore, run, test, tool, nuget, clean',
  },
  make: { reading: /^-n$|^--dry-run$/ },
  'redis-cli': {
    values: '-h -p -a -n -u --user --pass',
    reading: /^--(?:scan|bigkeys|memkeys|hotkeys|stat|latency)$/,
    reads: `config get, client list, client info, client id, memory usage, memory stats, memory doctor, object encoding, object freq, slowlog get, xinfo stream, acl list, ${wordsIn('get mget hget hgetall hmget hkeys hvals hlen hexists keys scan hscan sscan zscan exists ttl pttl type strlen llen lrange lindex scard smembers sismember zcard zrange zrangebyscore zscore zrank xlen xrange xrevrange info ping dbsize echo time getrange bitcount pfcount sinter sunion sdiff ft.search ft.info ft._list json.get').join(', ')}`,
    changes: '*',
  },
  wmic: { reads: '*', changes: 'process call', writing: /^(?:call|delete|create|set)$/i },
};

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
/** Options of curl that have a value, by letter. */
const CURL_VALUES = new Set('XdFToHuAbcCDeEKmwxyYzrQPUt');

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

/** Subcommands of git that list without further words, and else change. */
function gitEffect(
  [subcommand, ...rest]: readonly (string | undefined)[],
  args: readonly (string | undefined)[],
  call: string,
): CallEffect | undefined {
  const options = args.filter(isOption).join(' ');
  if (subcommand === 'branch' || subcommand === 'tag') {
    if (
      /(?:^|\s)(?:-d|-D|--delete|-m|-M|--move|-f|--force|-c|-C|--copy|-u|--set-upstream-to\S*|--unset-upstream|--edit-description)(?:\s|$)/.test(
        options,
      )
    )
      return writes('process-spawn', call, true);
    const lists =
      rest.length === 0 ||
      /(?:^|\s)(?:-l|--list|-a|--all|-r|--remotes|--contains|--merged|--no-merged|--points-at|--show-current|-v|-vv|--format|--sort|-n)/.test(
        options,
      );
    return lists ? reads('process-spawn', call) : writes('process-spawn', call, false, true);
  }
  if (subcommand === 'config' && rest[0] !== 'get' && rest[0] !== 'list') {
    if (/--(?:unset|add|replace-all|edit|remove-section|rename-section)|(?:^|\s)-e\b/.test(options))
      return writes('process-spawn', call, true, true);
    if (/--(?:get|list|get-all|get-regexp|show-origin)\b|(?:^|\s)-l\b/.test(options))
      return reads('process-spawn', call);
    return rest.length < 2
      ? rest[0] === undefined
        ? undecided('process-spawn', call)
        : reads('process-spawn', call)
      : undefined;
  }
  if (subcommand === 'clean' && args.some((arg) => /^-[a-z]*n/.test(arg ?? '')))
    return reads('process-spawn', call);
  if (subcommand === 'commit' || subcommand === 'cherry-pick' || subcommand === 'revert')
    return args.includes('--abort')
      ? undefined
      : writes('process-spawn', call, args.includes('--amend'), false);
  if (subcommand === 'stash' && rest.length === 0) return writes('process-spawn', call, true);
  if (subcommand === 'archive' && /(?:^|\s)(?:-o|--output)/.test(options))
    return writes('process-spawn', call, true, true);
  if (
    (subcommand === 'symbolic-ref' &&
      (rest.length > 1 || /(?:^|\s)(?:-d|--delete)\b/.test(options))) ||
    (subcommand === 'hash-object' && /-w/.test(options))
  )
    return writes('process-spawn', call, true, true);
  return undefined;
}

/** The options of curl, `-sXPOST` taken apart, with their values. */
function* curlOptions(
  args: readonly (string | undefined)[],
): Iterable<readonly [option: string, value: string | undefined]> {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const long = /^(--[\w-]+)(?:=([^]*))?$/.exec(arg);
    if (long !== null) yield [long[1]!, long[2] ?? args[at + 1]];
    else if (arg.startsWith('-')) {
      for (let letter = 1; letter < arg.length; letter += 1) {
        const takes = CURL_VALUES.has(arg[letter]!);
        yield [
          `-${arg[letter]!}`,
          takes ? (arg.length > letter + 1 ? arg.slice(letter + 1) : args[(at += 1)]) : undefined,
        ];
        if (takes) break;
      }
    }
  }
}

function curlEffects(args: readonly (string | undefined)[]): readonly CallEffect[] {
  const given = new Map(curlOptions(args));
  const value = (...names: readonly string[]) =>
    names.map((name) => given.get(name)).find((each) => each !== undefined);
  const any = (pattern: RegExp) => [...given.keys()].find((name) => pattern.test(name));
  if (any(/^(?:-K|--config)$/) !== undefined) return [undecided('net-write', 'curl --config')];
  const sends =
    any(/^(?:-d|--data.*|-F|--form|-T|--upload-file|--json)$/) !== undefined &&
    any(/^(?:-G|--get)$/) === undefined;
  const method =
    any(/^(?:-X|--request)$/) === undefined
      ? any(/^(?:-T|--upload-file)$/) === undefined
        ? sends
          ? 'POST'
          : 'GET'
        : 'PUT'
      : value('-X', '--request');
  const saves =
    any(/^(?:-O|-J|--remote-name|-c|--cookie-jar|-D|--dump-header)$/) !== undefined ||
    (any(/^(?:-o|--output)$/) !== undefined &&
      !/^(?:-|\/dev\/(?:null|stdout))$/.test(value('-o', '--output') ?? ''));
  return [
    ...httpEffects(
      method,
      args.find((arg) => arg?.includes('://') === true),
      value('-d', '--data', '--data-raw', '--json'),
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
  if (name === 'eval' || name === 'trap')
    return args[0] === undefined
      ? [undecided('process-spawn', call)]
      : programEffects(
          'sh',
          ['-c', name === 'trap' ? args[0] : args.map((arg) => arg ?? '$x').join(' ')],
          known,
          depth + 1,
        );
  if (name === 'command' && /^-[vV]$/.test(args[0] ?? '')) return [reads('process-spawn', call)];
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
  if (/^python[\d.]*$/.test(name) && args[0] === '-m') return inner(args.slice(1));
  if (name === 'ssh') {
    const [host, ...words] = plainWords(
      args,
      new Set(wordsIn('-p -i -o -l -F -J -L -R -D -b -c -E -W')),
    );
    return host === undefined || words.length === 0 || words.includes(undefined)
      ? [undecided('process-spawn', call)]
      : programEffects('sh', ['-c', words.join(' ')], known, depth + 1);
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
    return [ofProgram('docker', PROGRAMS['docker']!, args)];
  if (Object.hasOwn(PROGRAMS, name)) return [ofProgram(name, PROGRAMS[name]!, args)];
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
  if (name === 'find' && args.some((arg) => /^-(?:exec|ok)/.test(arg ?? ''))) {
    const starts = args.flatMap((arg, at) => (/^-(?:exec|ok)/.test(arg ?? '') ? [at + 1] : []));
    const started = starts.flatMap((from) =>
      inner(
        args.slice(
          from,
          args.findIndex(
            (arg, at) => at > from && (arg === ';' || arg === '+' || arg === '\\;'),
          ) >>> 0,
        ),
      ),
    );
    return args.includes('-delete') ? [...started, writes('fs-write', call, true)] : started;
  }
  if (name === 'plutil' && args.some((arg, at) => arg === '-o' && args[at + 1] === '-'))
    return [reads('process-spawn', call)];
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
  if (name === 'tar')
    return [
      /^-?-?[a-z]*t[a-z]*$|^--list$/.test(args[0] ?? '')
        ? reads('fs-read', call)
        : writes('fs-write', call, true),
    ];
  if (name === 'unzip' && /^-[lpv]$/.test(args[0] ?? '')) return [reads('fs-read', call)];
  if (
    (name === 'kill' && /^-[0lL]$/.test(args[0] ?? '')) ||
    (name === 'rsync' && args.includes('--dry-run')) ||
    (name === 'xcode-select' && args[0] === '-p') ||
    (name === 'timedatectl' && args.length === 0)
  )
    return [reads('process-spawn', call)];
  if (name === 'prettier' && !args.some((arg) => arg === '--write' || arg === '-w'))
    return [reads('fs-read', call)];
  if (name === 'eslint' || name === 'ruff' || name === 'tsc')
    return [
      args.some(
        (arg) =>
          /^--(?:fix|output-file)|^-o$/.test(arg ?? '') || (name === 'ruff' && arg === 'format'),
      )
        ? writes('fs-write', call, true, true)
        : name !== 'tsc' || args.includes('--noEmit')
          ? reads('process-spawn', call)
          : writes('fs-write', call, true, true),
    ];
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
