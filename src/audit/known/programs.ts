import type { CallEffect } from '../effect.js';
import { HOLE } from '../evaluate/values.js';
import { wordsIn } from './words.js';
import { sqlEffects } from './sql.js';

/** Programs that only read, whatever their arguments, unless a pattern below says otherwise. */
const READERS = new Set(
  wordsIn(`ls cat head tail grep egrep fgrep rg ag wc stat file find fd tree du df pwd which whereis type echo
    printf date whoami id uname hostname uptime ps top lsof env printenv sort uniq cut tr diff cmp comm jq yq awk sed
    nl od xxd hexdump strings md5sum sha1sum sha256sum shasum basename dirname realpath readlink test true false seq
    sleep expr ping traceroute nslookup dig host netstat ss ifconfig sw_vers system_profiler sysctl lscpu lsblk free
    man info less more column paste join fold tac rev base64 cksum nproc arch locale cd exit pgrep groups tokei cloc
    ffprobe exiftool identify pdftotext pdfinfo mdls mdfind otool nm ldd tsc eslint shellcheck`),
);
const CHANGES_ANYWAY: Readonly<Record<string, RegExp>> = {
  sed: /(?:^| )(?:-[nEr]*i|--in-place)/,
  sort: /(?:^| )(?:-o|--output)/,
  find: /(?:^| )-(?:delete|fprint|fls|exec|ok)/,
  awk: />\s*"|system\s*\(|\|\s*"/,
  date: /(?:^| )(?:-s|--set)/,
  sysctl: /(?:^| )-w|=/,
  tsc: /^(?!.*--noEmit)/,
  eslint: /--fix/,
  exiftool: /(?:^| )-\w+=/,
};
const WRITERS = new Set(
  wordsIn(`rm rmdir mv cp mkdir touch chmod chown chgrp ln dd tee truncate install rsync scp sftp ssh kill pkill
    killall reboot shutdown halt mount umount useradd userdel passwd crontab at patch unzip zip tar gzip gunzip
    xcodebuild make cmake open osascript say mail sendmail wget apt apt-get yum dnf pacman snap launchctl service
    ffmpeg convert magick shred unlink mkfifo redis-cli mongosh`),
);
const DELETES =
  /^(?:rm|rmdir|kill|pkill|killall|reboot|shutdown|halt|userdel|shred|unlink|umount|truncate)$/;
const DELETING =
  /^(?:rm|rmi|delete|remove|uninstall|prune|drop|destroy|kill|stop|down|reset|clean|clear|purge|erase|shutdown|drain)$/;

/** The subcommands that only read, by program. Everything else that these programs do is a change. */
const SUBCOMMANDS: Readonly<Record<string, string>> = {
  git: `log status diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree ls-remote cat-file
    name-rev merge-base grep reflog for-each-ref show-ref show-branch whatchanged count-objects check-ignore
    check-attr diff-tree diff-index diff-files var version help remote_show remote_get-url remote_-v stash_list
    stash_show worktree_list branch_--list branch_-a branch_-r branch_--show-current branch_-v branch_-vv branch_--all
    tag_--list tag_-l config_--get config_--list config_-l config_get notes_show notes_list submodule_status
    bisect_log fsck verify-commit`,
  kubectl: `get describe logs top explain api-resources api-versions version cluster-info diff events auth_can-i
    config_view config_get-contexts config_current-context config_get-clusters rollout_status rollout_history wait`,
  helm: 'list ls status get history show inspect search template lint version env repo_list dependency_list verify',
  docker: `ps images inspect logs info version stats top port diff history search events network_ls network_inspect
    volume_ls volume_inspect system_df system_info context_ls context_show container_ls container_inspect
    container_logs image_ls image_inspect compose_ps compose_logs compose_config compose_images compose_ls`,
  'docker-compose': 'ps logs config images ls port top version events',
  npm: 'list ls view info search outdated why audit root bin prefix ping whoami explain help doctor version',
  pnpm: 'list ls view info search outdated why audit root bin licenses',
  yarn: 'list info why audit outdated',
  gh: `pr_list pr_view pr_status pr_diff pr_checks issue_list issue_view issue_status repo_list repo_view release_list
    release_view run_list run_view workflow_list workflow_view gist_list gist_view search status auth_status label_list`,
  pip: 'list show freeze check search',
  brew: 'list info search outdated deps doctor config',
  systemctl: 'status show list-units list-unit-files is-active is-enabled is-failed cat',
  terraform: 'plan show validate output version providers graph state_list state_show fmt_-check',
  go: 'list version env doc vet',
  cargo: 'check tree metadata search version',
  simctl: 'list getenv get_app_container listapps appinfo help pbpaste',
  adb: 'devices get-state get-serialno version logcat help',
  aws: '',
  gcloud: '',
  az: '',
};
const readsOf = new Map(
  Object.entries(SUBCOMMANDS).map(([program, list]) => [program, new Set(wordsIn(list))]),
);
/** Options that take a value and may come before a subcommand. */
const TAKES_VALUE = new Set(
  wordsIn(`-C -c --git-dir --work-tree -n --namespace --context --kubeconfig -H --host -f --file -p
    --project-name --prefix --cwd -R --repo -s --profile --region --output -o --project`),
);
const DRY = /(?:^| )(?:--dry-run(?:=client|=server)?|--help|--version)(?: |$)/;
const BEFORE = new Set(
  wordsIn(
    'sudo env nice time nohup command exec xargs npx bunx xcrun builtin timeout then do else',
  ),
);

/** Returns the effect of starting a program with arguments. An argument with a hole isn't known. */
export function programEffects(words: readonly string[]): readonly CallEffect[] {
  const [path = HOLE, ...args] = words.filter((word) => word !== '');
  const program = path.split(/[\\/]/).at(-1)!;
  if (BEFORE.has(program) || (/^\w+=/.test(program) && !program.includes(HOLE)))
    return args.length === 0
      ? []
      : programEffects(args.filter((word, at) => at > 0 || !/^\d+[smh]?$/.test(word)));
  const line = args.join(' ');
  if (/^(?:sh|bash|zsh|dash|cmd|powershell)$/.test(program))
    return /^-l?c$/.test(args[0] ?? '') && args[1] !== undefined
      ? shellEffects(args[1])
      : [effect('unknown', words)];
  if (DRY.test(line) || (args.length === 1 && /^-[vVh]$/.test(args[0]!)))
    return [effect('read', words)];
  if (program === 'curl') return [curl(line, words)];
  if (program === 'psql' || program === 'sqlite3') return databaseShell(args, words);
  if (readsOf.has(program)) return [effect(accessOf(program, args), words)];
  if (READERS.has(program))
    return [effect(CHANGES_ANYWAY[program]?.test(line) ? 'write' : 'read', words)];
  return [effect(WRITERS.has(program) ? 'write' : 'unknown', words)];
}

function effect(access: CallEffect['access'], words: readonly string[]): CallEffect {
  const [program = '', first = '', second = ''] = words;
  const call = words.slice(0, 4).join(' ').slice(0, 60);
  const deletes =
    access === 'write' && (DELETES.test(program) || DELETING.test(first) || DELETING.test(second));
  return { kind: 'program', access, call, ...(deletes && { deletes }) };
}

function accessOf(program: string, args: readonly string[]): CallEffect['access'] {
  const [first = '', second = '', third = ''] = subcommands(args);
  if (first === '' || first.includes(HOLE)) return 'unknown';
  if (/^(?:aws|gcloud|az)$/.test(program)) {
    const verb = program === 'aws' ? second : third === '' ? second : third;
    if (verb === '' || verb.includes(HOLE)) return 'unknown';
    return /^(?:ls|list|get|describe|head|show|wait|filter|lookup|search|query|scan|version|help)/.test(
      verb,
    )
      ? 'read'
      : 'write';
  }
  const reads = readsOf.get(program)!;
  if (program === 'git' && args.some((arg) => /^--output(?:=|$)/.test(arg))) return 'write';
  if (reads.has(first) || reads.has(`${first}_${second}`)) return 'read';
  if (program === 'git' && second === '' && /^(?:branch|tag|remote|worktree)$/.test(first))
    return args.length === 1 ? 'read' : 'unknown';
  return second.includes(HOLE) && [...reads].some((each) => each.startsWith(`${first}_`))
    ? 'unknown'
    : 'write';
}

/** Returns the words after the options that come before a subcommand. */
function subcommands(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined || !first.startsWith('-')) return args;
  return subcommands(TAKES_VALUE.has(first) ? rest.slice(1) : rest);
}

function curl(line: string, words: readonly string[]): CallEffect {
  const [, method] = /(?:^| )(?:-X|--request)[ =]?(\S+)/.exec(line) ?? [];
  const sends =
    /(?:^| )(?:-d|--data\S*|-F|--form|-T|--upload-file|--json|-o|-O|--output)(?: |=|$)/.test(line);
  if (method?.includes(HOLE) || line.startsWith(HOLE)) return effect('unknown', words);
  return effect(
    (method === undefined && !sends) || /^(?:GET|HEAD)$/.test(method ?? '') ? 'read' : 'write',
    words,
  );
}

function databaseShell(args: readonly string[], words: readonly string[]): readonly CallEffect[] {
  const at = args.findIndex((arg) => arg === '-c' || arg === '--command');
  const text = at < 0 ? args.find((arg) => /\s/.test(arg)) : args[at + 1];
  return text === undefined ? [effect('unknown', words)] : sqlEffects(text);
}

const TOKENS =
  /'[^']*'|"(?:\\.|[^"\\])*"|\d?>{1,2}\s*&?[^\s;|&<>()]+|[^\s'"|&;<>()`$]+|\$(?!\()|[|&;<>()`\n$]/g;
const BREAKS = /^[|&;()`\n<$]$/;

/** Returns the effects of the commands in a shell text, redirections included. */
export function shellEffects(text: string): readonly CallEffect[] {
  const effects: CallEffect[] = [];
  let words: string[] = [];
  const end = () => {
    if (words.length > 0) effects.push(...programEffects(words));
    words = [];
  };
  for (const token of [...(text.match(TOKENS) ?? []), ';']) {
    if (BREAKS.test(token)) end();
    else if (/^\d?>/.test(token)) {
      if (!/>\s*(?:\/dev\/(?:null|stdout|stderr)|&\d)$/.test(token))
        effects.push({ kind: 'files', access: 'write', call: token });
    } else words.push(token.replace(/^['"]|['"]$/g, ''));
  }
  return effects;
}
