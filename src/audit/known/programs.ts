import type { CallEffect } from '../effect.js';
import { httpEffects } from './http.js';
import { reads, undecided, wordsIn, writes, type AuditKnowledge } from './known-value.js';
import { shellCommands } from './shell-text.js';
import { sqlEffects } from './sql.js';

/** What the documentation of a program says of its subcommands: lists of them with commas, `*` for all others. */
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

const PACKAGES = { reads: 'list, ls, view, info, search, outdated, why, audit, config get, config list, root, bin, prefix, ping, whoami, explain, show, freeze, check, index, help, doctor, licenses, pack --dry-run', changes: 'install, i, ci, add, remove, uninstall, un, rm, update, upgrade, up, link, unlink, dedupe, prune, publish, unpublish, version, init, config set, config delete, cache clean, rebuild, download, wheel', values: '--prefix -C --dir --cwd --registry -w --workspace --index-url' };
const COMPOSE = { reads: 'ps, logs, config, images, ls, port, top, version, events', changes: 'up, down, start, stop, restart, rm, kill, pause, unpause, build, pull, push, create, scale, cp', values: '-f --file -p --project-name --profile --env-file --project-directory' };
const within = (name: string, { reads: read, changes }: { readonly reads: string; readonly changes: string }) => ({ reads: read.replace(/[^,]+/g, (each) => `${name} ${each.trim()}`), changes: changes.replace(/[^,]+/g, (each) => `${name} ${each.trim()}`) });
const SYSTEM_PACKAGES: Program = { reads: 'list, search, show, info, policy, depends, rdepends, outdated, config, deps, uses, desc, home, doctor, --prefix', changes: 'install, remove, purge, update, upgrade, autoremove, uninstall, reinstall, add, del, tap, untap, link, unlink, cleanup, services' };

const PROGRAMS: Readonly<Record<string, Program>> = {
  git: {
    values: '-C -c --git-dir --work-tree --namespace --exec-path',
    reads: 'log, status, diff, show, blame, annotate, shortlog, describe, rev-parse, rev-list, ls-files, ls-tree, ls-remote, cat-file, name-rev, merge-base, grep, reflog, reflog show, for-each-ref, show-ref, show-branch, whatchanged, count-objects, check-ignore, check-attr, diff-tree, diff-index, diff-files, var, version, help, remote show, remote get-url, remote, stash list, stash show, worktree list, submodule status, submodule summary, notes list, notes show, tag, branch, config get, config list, bisect log, bisect view, lfs ls-files, verify-commit, verify-tag, range-diff, cherry, fsck, archive, hash-object, symbolic-ref',
    adds: 'clone, init, add, commit, fetch, remote add, worktree add, submodule add, stash push, stash save, stash, notes add, tag *, branch *, bundle, format-patch, revert, bisect start, lfs track',
    changes: 'push, pull, merge, rebase, reset, checkout, switch, restore, clean, rm, mv, cherry-pick, apply, am, gc, prune, stash pop, stash apply, stash drop, stash clear, remote remove, remote rm, remote rename, remote set-url, worktree remove, worktree prune, submodule update, notes remove, update-index, update-ref, filter-branch, filter-repo, replace, reflog expire, reflog delete, config *, config set, config unset, bisect *, lfs *, sparse-checkout, maintenance',
  },
  kubectl: {
    values: '-n --namespace --context --kubeconfig --cluster --user -s --server --token --as -o --output --request-timeout -v',
    reads: 'get, describe, logs, top, explain, api-resources, api-versions, version, cluster-info, diff, events, auth can-i, auth whoami, config view, config get-contexts, config current-context, config get-clusters, config get-users, rollout status, rollout history, wait, plugin list, kustomize, options',
    adds: 'create, expose, run, autoscale, debug', changes: 'apply, delete, edit, patch, replace, scale, set, label, annotate, rollout *, drain, cordon, uncordon, taint, cp, certificate, config *, config use-context, config set-context, config set, config unset, config delete-context, rollout restart, rollout undo, rollout pause, rollout resume, port-forward, proxy, attach',
    reading: /^--dry-run(?:=client|=server)?$/,
  },
  helm: { values: '-n --namespace --kube-context --kubeconfig', reads: 'list, ls, status, get, history, show, inspect, search, template, lint, version, env, repo list, dependency list, verify, pull --dry-run', adds: 'install, create, repo add, package', changes: 'upgrade, uninstall, delete, rollback, repo update, repo remove, push, dependency update, dependency build, plugin, test, registry', reading: /^--dry-run/ },
  docker: { values: '-H --host --context -l --log-level --config', reads: `ps, images, inspect, logs, info, version, stats, top, port, diff, history, search, events, container ls, container inspect, container logs, image ls, image inspect, network ls, network inspect, volume ls, volume inspect, system df, system info, context ls, context show, ${within('compose', COMPOSE).reads}`, adds: 'build, create, run, pull, volume create, network create, tag, save, export', changes: `rm, rmi, kill, stop, start, restart, pause, unpause, rename, update, commit, push, load, import, cp, prune, system prune, volume rm, network rm, image rm, container rm, container prune, image prune, volume prune, login, logout, context use, swarm, service, stack, ${within('compose', COMPOSE).changes}` },
  'docker-compose': COMPOSE, npm: PACKAGES, pnpm: PACKAGES, yarn: PACKAGES, pip: PACKAGES, pip3: PACKAGES, brew: SYSTEM_PACKAGES, apt: SYSTEM_PACKAGES, 'apt-get': SYSTEM_PACKAGES, 'apt-cache': { reads: '*' }, apk: SYSTEM_PACKAGES, dnf: SYSTEM_PACKAGES, yum: SYSTEM_PACKAGES,
  gh: { values: '-R --repo', reads: ['pr', 'issue', 'repo', 'release', 'run', 'workflow', 'gist', 'label', 'secret', 'variable', 'cache', 'ruleset', 'project'].map((noun) => `${noun} list, ${noun} view, ${noun} status, ${noun} diff, ${noun} checks`).join(', ') + ', search, status, browse -n, auth status, config get, config list, run watch', adds: 'pr create, issue create, repo create, release create, gist create, label create, pr comment, issue comment, repo fork, repo clone', changes: 'pr *, issue *, repo *, release *, run *, workflow *, gist *, label *, secret *, variable *, auth *, cache *, project *, config *' },
  terraform: { values: '-chdir', reads: 'plan, show, output, validate, state list, state show, version, providers, graph, workspace list, workspace show, fmt -check, console', changes: 'apply, destroy, init, import, taint, untaint, state *, workspace *, fmt, refresh, force-unlock, get' },
  systemctl: { reads: 'status, show, list-units, list-unit-files, list-timers, list-sockets, list-dependencies, is-active, is-enabled, is-failed, cat, get-default, help', changes: '*', values: '-H -M -n -o -p -t' },
  service: { reads: '--status-all', changes: '*' }, launchctl: { reads: 'list, print, blame, help, version', changes: '*' }, defaults: { reads: 'read, read-type, domains, find, help', changes: '*' }, crontab: { reads: '-l', changes: '*' },
  simctl: { reads: 'list, getenv, get_app_container, listapps, appinfo, help, pbpaste, diagnose, runtime list, io enumerate', adds: 'io screenshot, io recordVideo, create, clone', changes: '*' },
  devicectl: { reads: 'list, device info', changes: '*' },
  xcodebuild: { reading: /^-(?:list|showsdks|showBuildSettings|version|showdestinations|showTestPlans|checkFirstLaunchStatus)$/, changes: '*' },
  idb: { reads: 'list-targets, list-apps, describe, ui describe-all, ui describe-point, log, crash list, crash show, file ls, file read', changes: '*' },
  ios: { reads: 'list, info, apps, devicename, version, ps, syslog, lang, image list, diskspace, batterycheck', changes: '*' },
  adb: { values: '-s -t -H -P -L', reads: 'devices, get-state, get-serialno, get-devpath, version, logcat, bugreport, help, forward --list, features, host-features, jdwp', adds: 'pull', changes: '*', writing: /^-c$/ },
  pm: { reads: 'list, path, dump, resolve-activity, query-activities', changes: '*' }, am: { reads: 'stack list, get-config, get-current-user', changes: '*' }, settings: { reads: 'get, list', changes: '*' }, wm: { reads: 'size, density', changes: '*' }, cmd: { reads: 'package list, package resolve-activity', },
  ip: { reads: 'addr, address, link, route, neigh, a, r, -br, addr show, link show, route show', changes: 'addr *, link *, route *' }, sysctl: { reads: '*', writing: /^-w$|=/ },
  cargo: { reads: 'metadata, tree, search, version, --version, --list, info, locate-project, pkgid, check --no-run', changes: 'build, run, test, install, uninstall, add, remove, update, publish, clean, new, init, fmt, fix, bench, check, clippy' }, go: { reads: 'version, env, list, doc, vet, help', changes: 'build, install, get, mod, generate, clean, fmt, work' },
  dotnet: { reads: '--info, --version, --list-sdks, list' , changes: 'build, add, remove, new, publish, restore, run, test, tool, nuget, clean' }, make: { reading: /^-n$|^--dry-run$/ },
  'redis-cli': { values: '-h -p -a -n -u --user --pass', reads: wordsIn('get mget hget hgetall hmget hkeys hvals hlen keys scan hscan sscan zscan exists ttl pttl type strlen llen lrange lindex scard smembers sismember zcard zrange zscore zrank xlen xrange xinfo info ping dbsize memory client config object echo time').join(', '), changes: '*' },
};

const READERS = new Set(wordsIn('rg grep egrep fgrep zgrep ag ack fd fdfind ls dir cat bat head tail wc uniq cut tr nl tac rev diff cmp comm file stat du df ps pgrep top htop which where whereis type whoami id groups who w users uname hostname arch nproc lscpu lsblk lsusb lspci uptime free vmstat iostat env printenv echo printf pwd true false test [ basename dirname realpath readlink md5sum md5 sha1sum sha256sum shasum cksum tree jq xmllint lsof netstat ss ping traceroute nslookup dig host whois ifconfig sw_vers system_profiler mdfind mdls getent journalctl dmesg man less more column xxd od hexdump strings nm objdump otool ffprobe pdftotext pdfinfo exa eza getprop dumpsys uiautomator ioreg plutil sleep cd export set unset source . date cal seq expr bc fold fmt paste join zcat gunzip-l pbpaste wl-paste locate sort awk gawk mawk sed yq find getconf locale ulimit exit return read wait trap lscpu pstree screencap xdpyinfo wmic tasklist ver systeminfo'));
/** Options with which a reader writes. */
const WRITING_READERS: Readonly<Record<string, RegExp>> = { sed: /^-[nEr]*i|^--in-place/, yq: /^-i$|^--inplace/, sort: /^-o|^--output/, find: /^-(?:delete|fprint|fls)/, awk: /^-i$/, date: /^-s$|^--set/, hostname: /^[^-]/, tree: /^-o$/, journalctl: /^--(?:vacuum|rotate|flush)/, dmesg: /^-(?:c|C)$|--clear/, plutil: /^-(?:replace|insert|remove|convert)/, ifconfig: /^(?:up|down)$/, jq: /^$/, env: /^$/ };
const CHANGERS = new Set(wordsIn('rm rmdir mv cp chmod chown chgrp dd tee truncate kill pkill killall xkill shutdown reboot halt mount umount shred install patch scp rsync sftp zip gzip gunzip bzip2 xz ln useradd userdel usermod passwd ffmpeg convert magick mogrify sips qpdf unzip screencapture scrot input monkey xdotool ydotool cliclick wmctrl xclip xsel pbcopy wl-copy open xdg-open start explorer notify-send say osacompile rimraf del taskkill reg netsh sc mkfs fdisk iptables ufw lp lpr mail sendmail at prettier'));
const ADDERS = new Set(wordsIn('mkdir touch mktemp'));
const WRAPPERS = new Set(wordsIn('sudo doas nice nohup xargs timeout gtimeout stdbuf unbuffer caffeinate setsid ionice chroot npx bunx pnpx exec arch'));
const SHELLS = new Set(wordsIn('sh bash zsh dash ksh fish ash powershell pwsh cmd.exe'));
const SQL_OPTIONS: Readonly<Record<string, RegExp>> = { psql: /^(?:-c|--command)$/, mysql: /^(?:-e|--execute)$/, mariadb: /^(?:-e|--execute)$/, sqlcmd: /^-[qQ]$/, 'clickhouse-client': /^(?:-q|--query)$/, bq: /^query$/ };
/** Cloud programs whose last plain words are a verb. */
const CLOUDS = new Set(wordsIn('aws gcloud az doctl flyctl fly heroku vercel netlify wrangler firebase supabase linode-cli oci ibmcloud eksctl argocd istioctl flux linkerd crictl ctr nerdctl podman vault consul nomad'));
const CLOUD_READ = /^(?:list|ls|describe|get|show|view|status|info|read|head|search|logs|tail|whoami|version|inspect|ps|images|history|top|select|scan|query|batch-get|lookup|explain|wait|diff|plan|validate|test-iam-permissions|print|current)(?:$|-)/;

const isOption = (arg: string | undefined) => arg?.startsWith('-') === true;

/** Returns the words of a command that are no options, and no values of options before the subcommand. */
function plainWords(args: readonly (string | undefined)[], values: ReadonlySet<string>): readonly (string | undefined)[] {
  const words: (string | undefined)[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (!isOption(arg)) words.push(arg);
    else if (arg !== undefined && values.has(arg)) at += 1;
  }
  return words;
}

const lists = new Map<string, ReadonlySet<string>>();
function has(list: string | undefined, words: string): boolean {
  if (list === undefined) return false;
  let set = lists.get(list);
  if (set === undefined) lists.set(list, (set = new Set(list.split(',').map((each) => each.trim()))));
  return set.has(words);
}

function ofProgram(name: string, program: Program, args: readonly (string | undefined)[]): CallEffect {
  const words = plainWords(args, new Set(wordsIn(program.values ?? '')));
  const call = [name, ...words.slice(0, 3).map((word) => word ?? '…')].join(' ').slice(0, 80);
  if (args.some((arg) => arg !== undefined && (program.reading?.test(arg) === true || arg === '--help' || arg === '--version'))) return reads('process-spawn', call);
  if (args.some((arg) => arg !== undefined && program.writing?.test(arg) === true)) return writes('process-spawn', call, true);
  if (words.length === 0 && args.length > 0 && args.every((arg) => arg !== undefined)) return has(program.reads, args[0]!) || has(program.reads, '*') ? reads('process-spawn', call) : undecided('process-spawn', call);
  if (name === 'git' && words.length > 0) {
    const special = gitEffect(words, args, call);
    if (special !== undefined) return special;
  }
  for (const length of [3, 2, 1]) {
    const known = words.slice(0, length);
    if (known.length < length || known.includes(undefined)) continue;
    const text = known.join(' ');
    const isRest = `${known.slice(0, -1).join(' ')} *`;
    for (const [list, of] of [[program.reads, () => reads('process-spawn', call)], [program.adds, () => writes('process-spawn', call, false)], [program.changes, () => writes('process-spawn', call, true)]] as const) if (has(list, text)) return of();
    if (length > 1 && has(program.adds, isRest)) return writes('process-spawn', call, false);
    if (length > 1 && has(program.changes, isRest)) return writes('process-spawn', call, true);
  }
  if (words[0] === undefined && words.length > 0) return undecided('process-spawn', call);
  return has(program.reads, '*') ? reads('process-spawn', call) : has(program.changes, '*') ? writes('process-spawn', call, true) : undecided('process-spawn', call);
}

/** Subcommands of git that list without further words, and else change. */
function gitEffect([subcommand, ...rest]: readonly (string | undefined)[], args: readonly (string | undefined)[], call: string): CallEffect | undefined {
  const options = args.filter(isOption).join(' ');
  if (subcommand === 'branch' || subcommand === 'tag') {
    if (/(?:^|\s)(?:-d|-D|--delete|-m|-M|--move|-f|--force)\b/.test(options)) return writes('process-spawn', call, true);
    const lists = rest.length === 0 || /(?:^|\s)(?:-l|--list|-a|--all|-r|--remotes|--contains|--merged|--no-merged|--points-at|--show-current|-v|-vv|--format|--sort|-n)/.test(options);
    return lists ? reads('process-spawn', call) : writes('process-spawn', call, false, true);
  }
  if (subcommand === 'config') return /--(?:get|list|get-all|get-regexp|show-origin)\b|(?:^|\s)-l\b/.test(options) || (rest.length < 2 && !/--(?:unset|add|replace-all|edit)/.test(options)) ? reads('process-spawn', call) : undefined;
  if (subcommand === 'archive' && /(?:^|\s)(?:-o|--output)/.test(options)) return writes('process-spawn', call, true, true);
  if ((subcommand === 'symbolic-ref' && rest.length > 1) || (subcommand === 'hash-object' && /-w/.test(options))) return writes('process-spawn', call, true, true);
  return undefined;
}

function curlEffects(args: readonly (string | undefined)[]): readonly CallEffect[] {
  const at = args.findIndex((arg) => arg === '-X' || arg === '--request');
  const inline = args.map((arg) => /^(?:-X|--request=)(\w+)$/.exec(arg ?? '')?.[1]).find((method) => method !== undefined);
  const sends = args.some((arg) => /^(?:-d|--data.*|-F|--form|-T|--upload-file|--json)$/.test(arg ?? ''));
  const method = at === -1 ? (inline ?? (sends ? 'POST' : 'GET')) : args[at + 1];
  const url = args.find((arg) => arg?.includes('://') === true);
  const saves = args.some((arg) => /^(?:-o|-O|--output|--remote-name|-J)$/.test(arg ?? ''));
  return [...httpEffects(method, url), ...(saves ? [writes('fs-write', 'curl --output', true, true)] : [])];
}

/**
 * Returns what starting a program does, as far as its words are known.
 *
 * @param program its name or path.
 * @param args undefined for an argument that is not known.
 */
export function programEffects(program: string, args: readonly (string | undefined)[], known?: AuditKnowledge, depth = 0): readonly CallEffect[] {
  const name = program.split(/[\\/]/).at(-1)!.replace(/\.exe$/i, '');
  const call = [name, ...args.slice(0, 2).map((arg) => arg ?? '…')].join(' ').slice(0, 80);
  const own = known?.programs;
  const told = own === undefined ? undefined : [`${name} ${args[0] ?? ''}`, name].map((key) => (Object.hasOwn(own, key) ? own[key] : undefined)).find((access) => access !== undefined);
  if (told !== undefined) return [told === 'read' ? reads('process-spawn', call) : told === 'write' ? writes('process-spawn', call) : undecided('process-spawn', call)];
  if (depth > 4) return [undecided('process-spawn', call)];
  const inner = (words: readonly (string | undefined)[]) => (words.length === 0 ? [] : words[0] === undefined ? [undecided('process-spawn', call)] : programEffects(words[0], words.slice(1), known, depth + 1));
  if (SHELLS.has(name) || name === 'cmd') {
    const at = args.findIndex((arg) => /^(?:-\w*c|\/c|-Command|-command)$/.test(arg ?? ''));
    const text = at === -1 ? undefined : args[at + 1];
    if (text !== undefined) return shellCommands(text.slice(0, 20_000)).flatMap(({ words, writesTo }) => [...inner(words), ...writesTo.map((target) => writes('fs-write', `> ${target ?? '…'}`, true, true))]);
    if (name !== 'cmd') return [undecided('process-spawn', call)];
  }
  if (WRAPPERS.has(name)) {
    const words = args.slice(args.findIndex((arg) => arg === undefined || !(isOption(arg) || /^[\d.]+[smhd]?$/.test(arg))));
    return args.length === 0 ? [] : inner(words);
  }
  if (name === 'env' && args.length > 0) return inner(args.filter((arg) => arg === undefined || !(isOption(arg) || arg.includes('='))));
  if (name === 'xcrun') {
    const words = plainWords(args, new Set(['--sdk', '-sdk', '--toolchain']));
    return args.some((arg) => /^-?-(?:find|show|version)/.test(arg ?? '')) ? [reads('process-spawn', call)] : inner(words);
  }
  if (name === 'adb') {
    const at = args.findIndex((arg) => arg === 'shell' || arg === 'exec-out');
    if (at !== -1) return args.slice(at + 1).every((arg) => arg !== undefined) ? programEffects('sh', ['-c', args.slice(at + 1).join(' ')], known, depth + 1) : inner(args.slice(at + 1));
  }
  if (name === 'curl') return curlEffects(args);
  if (name === 'wget') return [args.some((arg) => arg === '--spider' || arg === '-O-' || arg === '-qO-') ? reads('net-read', call) : writes('fs-write', call, true, true)];
  if (name === 'sqlite3') return sqlEffects(plainWords(args, new Set(['-separator', '-cmd']))[1]);
  const sqlOption = SQL_OPTIONS[name];
  if (sqlOption !== undefined && Object.hasOwn(SQL_OPTIONS, name)) {
    const at = args.findIndex((arg) => sqlOption.test(arg ?? ''));
    return args.some((arg) => arg === '-l' || arg === '--list') ? [reads('db-read', call)] : sqlEffects(at === -1 ? undefined : args[at + 1]);
  }
  if (Object.hasOwn(PROGRAMS, name)) return [ofProgram(name, PROGRAMS[name]!, args)];
  if (CLOUDS.has(name)) {
    const words = plainWords(args, new Set(['--profile', '--region', '--project', '-o', '--output']));
    return [words.slice(0, 4).some((word) => word !== undefined && CLOUD_READ.test(word)) ? reads('net-read', call) : words.length === 0 || words.slice(0, 3).includes(undefined) ? undecided('net-write', call) : writes('net-write', call)];
  }
  if (name === 'find' && args.some((arg) => /^-(?:exec|ok)/.test(arg ?? ''))) {
    const at = args.findIndex((arg) => /^-(?:exec|ok)/.test(arg ?? ''));
    return inner(args.slice(at + 1));
  }
  if (name === 'plutil' && args.some((arg, at) => arg === '-o' && args[at + 1] === '-')) return [reads('process-spawn', call)];
  if (READERS.has(name)) return [Object.hasOwn(WRITING_READERS, name) && args.some((arg) => arg !== undefined && arg !== '' && WRITING_READERS[name]!.test(arg)) ? writes('fs-write', call, true) : reads(/^(?:ping|traceroute|nslookup|dig|host|whois)$/.test(name) ? 'net-read' : 'process-spawn', call)];
  if (name === 'tar') return [/^-?-?[a-z]*t[a-z]*$|^--list$/.test(args[0] ?? '') ? reads('fs-read', call) : writes('fs-write', call, true)];
  if (name === 'unzip' && args[0] === '-l') return [reads('fs-read', call)];
  if (name === 'kill' && args[0] === '-0') return [reads('process-spawn', call)];
  if (name === 'prettier' && !args.some((arg) => arg === '--write' || arg === '-w')) return [reads('fs-read', call)];
  if (name === 'eslint' || name === 'ruff' || name === 'tsc') return [args.some((arg) => /^--fix/.test(arg ?? '')) ? writes('fs-write', call, true, true) : name !== 'tsc' || args.includes('--noEmit') ? reads('process-spawn', call) : writes('fs-write', call, true, true)];
  if (CHANGERS.has(name)) return [writes(/^(?:rm|rmdir|mv|cp|chmod|chown|dd|tee|truncate)$/.test(name) ? 'fs-write' : 'process-spawn', call, true)];
  if (ADDERS.has(name)) return [writes('fs-write', call, false, name !== 'mktemp')];
  if (args.length > 0 && args.every((arg) => /^(?:--version|-v|-V|version|--help|-h|help)$/.test(arg ?? '')) ) return [reads('process-spawn', call)];
  return [undecided('process-spawn', call)];
}
