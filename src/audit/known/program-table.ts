import { wordsIn } from './known-value.js';

/**
 * A pattern for commands, and the effect of the commands that match it. A change is destructive
 * unless it only adds, and idempotent if repeating it changes nothing more.
 */
type Rule = readonly [
  pattern: RegExp,
  what: 'reads' | 'unknown' | readonly [destructive: boolean | null, idempotent: boolean | null],
];
const CHANGED = [true, null] as const;
const DRY: Rule = [/(?:^| )--dry-run(?:=client|=server)?(?: |$)/, 'reads'];

/**
 * A program's subcommands, according to its documentation. Items in a list are separated by commas.
 * `*` means all other subcommands, and `(none)` the program without a subcommand.
 */
export interface Program {
  readonly reads?: string;
  /** The subcommands that only add. */
  readonly adds?: string;
  readonly changes?: string;
  /** Options that take a value and may come before the subcommand. */
  readonly values?: string;
  /** Matches words that don't affect the meaning of a command, such as a device's name. */
  readonly drop?: RegExp;
  /** Patterns that override the lists. The first matching pattern applies. */
  readonly rules?: readonly Rule[];
}

const PACKAGES: Program = {
  reads:
    'list, ls, view, info, search, outdated, why, audit, config get, config list, root, bin, prefix, ping, whoami, explain, show, help, doctor, licenses, version, pkg get, dist-tag ls, cache dir, cache list',
  rules: [DRY, [/(?:^| )--fix$/, CHANGED]],
  adds: 'pack',
  changes:
    'audit fix, version *, deprecate, pkg *, dist-tag *, config *, cache *, set, install, i, ci, add, remove, uninstall, un, rm, update, upgrade, up, link, unlink, dedupe, prune, publish, unpublish, init, rebuild',
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
export const PROGRAM_TABLE: Readonly<Record<string, Program>> = {
  git: {
    values: '-C -c --git-dir --work-tree --namespace --exec-path',
    rules: [
      DRY,
      [/ --(?:output(?:[= ]|$)|lost-found$)/, CHANGED],
      [
        /^(?:branch|tag|config|archive|hash-object|symbolic-ref) (?:.* )?(?:-[dDmMfcCuwo]|--(?:delete|move|force|copy|set-upstream-to|unset|edit-description|add|replace-all|edit|remove-section|rename-section))/,
        [true, true],
      ],
      [
        /^(?:branch|tag|config)(?: .*)? (?:-[larvn]|--(?:list|all|remotes|contains|merged|no-merged|points-at|show-current|format|sort|get|show-origin))/,
        'reads',
      ],
      [/^(?:branch|tag) /, [false, true]],
      [/^config [^\s…]+$|^clean (?:.* )?-[a-z]*n/, 'reads'],
      [/^(?:commit|cherry-pick|revert) (?:.* )?--amend/, [true, false]],
      [/^(?:commit|cherry-pick|revert)(?!.* --abort)/, [false, false]],
      [/^symbolic-ref \S+ \S/, [true, true]],
    ],
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
    rules: [DRY, [/ --output-directory/, CHANGED]],
  },
  helm: {
    values: '-n --namespace --kube-context --kubeconfig',
    reads:
      'list, ls, status, get, history, show, inspect, search, template, lint, version, env, repo list, dependency list, verify, plugin list, search repo, search hub',
    adds: 'install, create, repo add, package, pull, fetch',
    changes:
      'upgrade, uninstall, delete, rollback, repo update, repo remove, push, dependency update, dependency build, plugin *, test, registry',
    rules: [DRY, [/ --output-dir/, CHANGED]],
  },
  docker: {
    drop: /^(?:container|image) /,
    values: `-H --host --context -l --log-level --config ${COMPOSE_VALUES}`,
    reads: `ls, list, manifest inspect, buildx ls, buildx inspect, secret ls, plugin ls, service ls, service ps, service logs, stack ls, stack ps, node ls, ps, images, inspect, logs, info, version, stats, top, port, diff, history, search, events, network ls, network inspect, volume ls, volume inspect, system df, system info, context ls, context show, context inspect, ${within('compose', COMPOSE).reads}`,
    adds: 'build, create, run, pull, volume create, network create, context create, buildx build, tag, save, export',
    changes: `rm, rmi, kill, stop, start, restart, pause, unpause, rename, update, commit, push, load, import, cp, prune, system prune, builder prune, network connect, network disconnect, network prune, volume rm, network rm, volume prune, secret *, plugin *, config *, login, logout, context use, swarm *, service *, stack *, ${within('compose', COMPOSE).changes}`,
  },
  'docker-compose': COMPOSE,
  npm: PACKAGES,
  pnpm: PACKAGES,
  yarn: { ...PACKAGES, changes: `${PACKAGES.changes!}, (none)` },
  gh: {
    rules: [
      [/^api graphql/, 'unknown'],
      [/^api (?:.* )?(?:-X|--method)[ =]?(?!GET|=)/, [null, null]],
      [/^api (?:.* )?(?:-[fF]|--field|--raw-field|--input)\b/, [null, false]],
      [/^api /, 'reads'],
    ],
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
  simctl: {
    reads:
      'list, getenv, get_app_container, listapps, appinfo, help, pbpaste, runtime list, bootstatus, io enumerate, ui appearance, ui increase_contrast, ui content_size, ui, status_bar list, location list',
    rules: [[/ -b$/, CHANGED]],
    drop: /(?<=^(?:io|ui|status_bar|location) )\S+ (?=\S)/,
    adds: 'io screenshot, io recordVideo, create, clone, diagnose, addmedia',
    changes:
      'boot, shutdown, erase, delete, install, uninstall, launch, terminate, openurl, io *, ui *, ui appearance *, ui increase_contrast *, ui content_size *, status_bar *, location *, privacy, push, pbcopy, pbsync, keychain, logverbose, rename, upgrade, pair, unpair, pair_activate, icloud_sync, install_app_data, runtime *',
  },
  xcodebuild: {
    rules: [
      [
        /(?:^| )-(?:list|showsdks|showBuildSettings|version|showdestinations|showTestPlans|checkFirstLaunchStatus)(?: |$)/,
        'reads',
      ],
    ],
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
  adb: {
    values: '-s -t -H -P -L',
    reads:
      'devices, get-state, get-serialno, get-devpath, version, logcat, help, features, host-features, jdwp, wait-for-device',
    adds: 'pull, bugreport',
    changes:
      'push, install, install-multiple, uninstall, reboot, connect, disconnect, kill-server, start-server, forward, reverse, root, unroot, remount, emu, tcpip, usb, sideload, pair, reconnect, sync',
    rules: [[/ -c$/, CHANGED]],
  },
  pm: { reads: 'list, path, dump, resolve-activity, query-activities', changes: '*' },
  am: { reads: 'stack list, get-config, get-current-user', changes: '*' },
  'redis-cli': {
    values: '-h -p -a -n -u --user --pass',
    rules: [[/(?:^| )--(?:scan|bigkeys|memkeys|hotkeys|stat|latency)(?: |$)/, 'reads']],
    reads: `config get, client list, client info, client id, memory usage, memory stats, memory doctor, object encoding, object freq, slowlog get, xinfo stream, acl list, ${wordsIn('get mget hget hgetall hmget hkeys hvals hlen hexists keys scan hscan sscan zscan exists ttl pttl type strlen llen lrange lindex scard smembers sismember zcard zrange zrangebyscore zscore zrank xlen xrange xrevrange info ping dbsize echo time getrange bitcount pfcount sinter sunion sdiff ft.search ft.info ft._list json.get').join(', ')}`,
    changes: '*',
  },
  sed: { reads: '*', rules: [[/(?:^| )(?:-[nEr]*i|--in-place)/, CHANGED]] },
  sort: { reads: '*', rules: [[/(?:^| )(?:-o|--output)/, CHANGED]] },
  find: { reads: '*, (none)', rules: [[/(?:^| )-(?:delete|fprint|fls)/, CHANGED]] },
  awk: { reads: '*', rules: [[/>\s*"|system\s*\(|\|\s*"|(?:^| )-i(?: |$)/, 'unknown']] },
  date: { reads: '*, (none)', rules: [[/(?:^| )(?:-s|--set)/, CHANGED]] },
  dumpsys: {
    reads: '*, (none)',
    rules: [[/ (?:set|reset|unplug|enable|disable|write)(?: |$)/, CHANGED]],
  },
  wget: {
    changes: '*',
    rules: [[/(?:^| )(?:--spider|-\w*O ?(?:-|\/dev\/(?:null|stdout)))(?: |$)/, 'reads']],
  },
};
