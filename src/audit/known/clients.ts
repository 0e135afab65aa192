import type { CallEffect, EffectKind } from '../effect.js';
import { browserEffects } from './browsers.js';
import { builtinEffects } from './builtins.js';
import { databaseEffects } from './databases.js';
import { httpEffects } from './http.js';
import {
  fieldOf,
  reads,
  textIn,
  undecided,
  wordsIn,
  wordsOfName,
  writes,
  type AuditKnowledge,
  type KnownValue,
} from './known-value.js';
import {
  isBrowser,
  isDatabase,
  isHarmless,
  isHttpClient,
  isModel,
  isSqlDatabase,
  isStarter,
} from './packages.js';
import { programEffects } from './programs.js';

const READ_VERBS = new Set(
  wordsIn(
    'get list find search query read fetch describe count lookup retrieve show view check has ' +
      'is exists scan select aggregate explain inspect resolve validate verify parse ping status ' +
      'stat stats head peek browse wait compare analyze analyse preview estimate calculate ' +
      'compute render format match filter download export info whoami test watch poll iterate ' +
      'paginate sample rank embed classify summarize translate extract load open hello estimated ' +
      'distinct page iter each for history replies members me log logs version versions stats top ' +
      'messages conversations indices health group team viewer',
  ),
);
type Facts = readonly [destructive: boolean | null, idempotent: boolean | null];
const verbs = (facts: Facts, list: string) => wordsIn(list).map((verb) => [verb, facts] as const);
/** The verbs of methods that write, with the kind of change. */
const WRITE_VERBS: ReadonlyMap<string, Facts> = new Map([
  ...verbs(
    [false, false],
    'create insert append post send publish upload import submit invite fork clone comment reply register subscribe enqueue schedule trigger star follow like attach',
  ),
  ...verbs(
    [true, true],
    'delete remove drop destroy truncate purge prune clear erase wipe revoke cancel terminate kill abort stop shutdown uninstall unregister unsubscribe archive trash del flush quit',
  ),
  // Methods with these verbs change existing things, so they're destructive.
  ...verbs(
    [true, null],
    'update upsert put patch replace rename move edit modify change merge reset rollback overwrite',
  ),
  ...verbs(
    [null, null],
    'copy set save write restore enable disable start restart reboot approve reject reopen assign unassign lock unlock grant deny deploy promote resize scale pause resume push commit tag label transfer mark toggle bulk sync install transact pay refund capture',
  ),
]);
/**
 * Verbs that all kinds of programs use. Such a verb proves nothing if the call has no argument, or
 * if the package itself exports the method.
 */
const BARE =
  /^(?:add|append|clear|close|commit|copy|create|delete|merge|move|open|patch|pause|publish|push|put|register|remove|replace|reset|resume|save|send|set|start|stop|submit|sync|tag|toggle|update|write|insert|post|abort|cancel|mark|destroy)$/;
/** Methods that set options or create objects inside the program. */
const OF_CLIENT =
  /^set(?:Api|Access|Auth|Credentials|Token|Headers?$|Timeout|Base|Endpoint|Region|Log|Options|Config|Debug|UserAgent|Proxy)|^create\w*(?:Client|Connection|Transport|Context|Instance|Reader|Writer|Stream|Logger|Parser|Agent|Pool|Hash|Interface|Url|Builder|Element)$/;
/** Methods whose names begin with a reading verb but that also write, such as `findOrCreate`. */
const AND_WRITES =
  /(?:And|Or)(?:Update|Upsert|Delete|Replace|Remove|Modify|Create|Insert|Save)(?=[A-Z]|$)/;

/** Returns the effect of a method by the verbs in its name. */
function byName(
  name: string,
  call: string,
  read: EffectKind,
  write: EffectKind,
): readonly CallEffect[] | undefined {
  const [verb = '', second = ''] = wordsOfName(name);
  if (AND_WRITES.test(name)) return [writes(write, call)];
  if (OF_CLIENT.test(name)) return [];
  if (READ_VERBS.has(verb)) return [reads(read, call)];
  const how = WRITE_VERBS.get(verb) ?? WRITE_VERBS.get(second);
  return how === undefined ? undefined : [writes(write, call, ...how)];
}

/** Packages that write files, each with the names of its methods that write. */
const FILE_WRITES: Readonly<Record<string, RegExp>> = {
  rimraf: /./,
  del: /./,
  trash: /./,
  cpy: /./,
  'extract-zip': /./,
  'write-file-atomic': /./,
  mkdirp: /./,
  jsonfile: /^write/,
  conf: /^(?:set|delete|clear|reset)/,
  'adm-zip': /^(?:extract(?:All|Entry)To\w*|writeZip\w*)$/,
  tar: /^(?:c|x|u|r|create|extract|update|replace)$/,
  exceljs: /^writeFile$/,
  xlsx: /^writeFile\w*$/,
  sharp: /^toFile$/,
  jimp: /^write(?:Async)?$/,
};

/**
 * Returns the effect of a call on a package's client. The effect is known from the package's
 * documentation, or guessed from the verb in the method's name.
 *
 * @param path The names after the package, with `()` for the result of a call.
 * @returns `undefined` if nothing is known about the call.
 */
export function clientEffects(
  pkg: string,
  path: readonly string[],
  args: readonly KnownValue[],
  known?: AuditKnowledge,
): readonly CallEffect[] | undefined {
  const names = path.filter((part) => part !== '()' && part !== 'default');
  const name = names.at(-1) ?? '';
  const [first, second] = args;
  const call = `${pkg}: ${names.slice(-3).join('.')}`.slice(0, 100);
  const told = toldOf(known, pkg, name);
  if (told !== undefined)
    return told === 'none'
      ? []
      : [told === 'read' ? reads('net-read', call) : writes('net-write', call)];
  // The file isn't in a package, for example because a link leads out of the root.
  if (pkg === '') return undefined;
  if (Object.hasOwn(FILE_WRITES, pkg))
    return [
      FILE_WRITES[pkg]!.test(name.replace(/Sync$/, '') || 'default')
        ? writes('fs-write', call, true, true)
        : reads('fs-read', call),
    ];
  if (/^(?:fs-extra|graceful-fs)$/.test(pkg))
    return /^(?:output|ensure|remove|emptyDir|move|copy|writeJson)/i.test(name)
      ? [writes('fs-write', call, !name.startsWith('ensure'), true)]
      : builtinEffects('fs', [name], args);
  if (isHarmless(pkg)) return [];
  if (pkg === 'tooldex')
    return /^(?:ok|fail|text|image|audio|file|resourceLink|halt|askUser)$/.test(names.join('.'))
      ? []
      : undefined;
  if (isModel(pkg))
    return [
      /^(?:del$|delete|update|cancel|upload|remove|modify|archive|pull|push)/.test(name) ||
      /\b(?:files|vectorStores|assistants|threads|uploads|containers)\.(?:create|add|submit)/.test(
        names.join('.'),
      )
        ? writes('net-write', call)
        : reads('net-read', call),
    ];
  if (isBrowser(pkg)) return browserEffects(name, call, args);
  if (isStarter(pkg)) return starterEffects(names, args, call, known);
  if (isHttpClient(pkg)) return httpClientEffects(name, args);
  if (
    /^(?:request|graphql|rawRequest|GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(name) &&
    pkg !== 'mssql'
  )
    return requestOf(name, args);
  const isStore = isDatabase(pkg) || isSqlDatabase(pkg);
  const stored = isStore ? databaseEffects(pkg, names, call, args) : undefined;
  if (stored !== undefined) return stored;
  const command = /^(\w+)Command$/.exec(name)?.[1];
  if (
    pkg.startsWith('@aws-sdk/') &&
    (command === undefined ? names.length < 2 : /^(?:Invoke|Start)/.test(command))
  )
    return command === undefined ? [] : [undecided('net-write', call)];
  if (pkg.startsWith('@modelcontextprotocol/'))
    return name === 'callTool' ? [undecided('net-write', call)] : [];
  // Creating an instance of a package's class at most opens a connection.
  if (command === undefined && names.length < 2 && /^[A-Z]/.test(name)) return [];
  if (/^(?:send|emit)$/.test(name) && (pkg === 'ws' || pkg.startsWith('socket.io')))
    return [undecided('net-write', call)];
  if (textIn(first ?? second, 'destination') !== undefined && /^(?:download|get)$/.test(name))
    return [writes('fs-write', call, true, true)];
  const effects = byName(
    command ?? name,
    call,
    isStore ? 'db-read' : 'net-read',
    isStore ? 'db-write' : 'net-write',
  );
  const isService = /(?:^|[-/])(?:client|sdk|api|octokit)(?:-|$)|client$/.test(pkg);
  const isVague =
    /Job$/.test(name) ||
    (BARE.test(name) &&
      (args.length === 0 || names.length < 2 || (!isService && names.length < 3)));
  return isVague && effects?.[0]?.access === 'write'
    ? [undecided(isStore ? 'db-write' : 'net-write', call)]
    : effects;
}

/**
 * Returns the access that the user's `known` option gives for a call, looked up by package and name
 * or by name alone.
 */
export function toldOf(
  known: AuditKnowledge | undefined,
  pkg: string,
  name: string,
): 'read' | 'write' | 'none' | undefined {
  const calls = known?.calls ?? {};
  return [`${pkg}.${name}`, name]
    .filter((key) => Object.hasOwn(calls, key))
    .map((key) => calls[key])[0];
}

/**
 * Returns the effects of starting a program. The arguments are a list of words or a shell command.
 */
function starterEffects(
  names: readonly string[],
  [program, list]: readonly KnownValue[],
  call: string,
  known: AuditKnowledge | undefined,
): readonly CallEffect[] {
  // The call is a method of a program that was already started, such as `kill`.
  if (names.length > 1 && /^(?:spawn|execa|fork|exec)/.test(names[0]!))
    return /^(?:write|kill|send)$/.test(names.at(-1)!) ? [undecided('process-spawn', call)] : [];
  if (typeof program !== 'string') return [undecided('process-spawn', call)];
  const words = (Array.isArray(list) ? (list as readonly KnownValue[]) : []).map((each) =>
    typeof each === 'string' ? each : undefined,
  );
  return words.length === 0 && /\s/.test(program)
    ? programEffects('sh', ['-c', program], known)
    : programEffects(program, words, known);
}

/** Methods of HTTP clients that don't send a request. */
const NO_REQUEST =
  /^[A-Z]|^(?:create|extend|defaults|isAxiosError|setGlobalDispatcher|use|eject|interceptors|json|text|buffer|setHeader|set)$/;

function httpClientEffects(
  name: string,
  [first, second]: readonly KnownValue[],
): readonly CallEffect[] {
  if (NO_REQUEST.test(name)) return [];
  const verb = /^(?:get|head|options|post|put|patch|delete|del|query)$/.exec(name)?.[0];
  const told = textIn(first, 'method') ?? textIn(second, 'method');
  const isOpen = [first, second].some((arg) => fieldOf(arg, 'method') !== undefined);
  return httpEffects(
    verb === 'del' ? 'DELETE' : (verb ?? told ?? (isOpen ? undefined : 'GET')),
    typeof first === 'string' ? first : textIn(first, 'url'),
    second === undefined ? fieldOf(first, 'data') : second,
  );
}

/**
 * Returns the effects of a request. The HTTP method is taken from the text before the path, from
 * the options or from the function's name. A request without a method may contain a GraphQL
 * document.
 */
function requestOf(name: string, [first, second]: readonly KnownValue[]): readonly CallEffect[] {
  const path = typeof first === 'string' ? first : (textIn(first, 'path') ?? textIn(first, 'url'));
  const before = /^(GET|HEAD|POST|PUT|PATCH|DELETE) (.*)/.exec(path ?? '');
  const method =
    textIn(first, 'method') ??
    textIn(second, 'method') ??
    (/^[A-Z]+$/.test(name) ? name : before?.[1]);
  if (method !== undefined)
    return httpEffects(
      method,
      before?.[2] ?? path,
      fieldOf(first, 'body') ?? fieldOf(second, 'body'),
    );
  const query = [first, second, fieldOf(first, 'query'), fieldOf(first, 'document')].find(
    (text) => typeof text === 'string' && /^\s*(?:#|query\b|mutation\b|fragment\b|\{)/.test(text),
  );
  return query === undefined
    ? [undecided('net-write', name)]
    : httpEffects('POST', 'graphql', { query });
}
