import type { CallEffect } from '../effect.js';
import { httpEffects } from './http.js';
import { fieldOf, reads, undecided, wordsIn, writes, type KnownValue } from './known-value.js';
import { programEffects } from './programs.js';
import { sqlEffects } from './sql.js';

const FS_READS = new Set(
  wordsIn(
    'access exists fstat glob lstat openAsBlob opendir read readFile readLines readableWebStream readdir readlink readv realpath stat statfs createReadStream watch watchFile',
  ),
);
/**
 * The functions of `fs` that write, each with a pair [destructive, idempotent] based on Node's
 * documentation.
 */
const FS_WRITES: Readonly<Record<string, readonly [boolean | null, boolean | null]>> = {
  appendFile: [false, false],
  chmod: [true, true],
  chown: [true, true],
  copyFile: [true, true],
  cp: [true, true],
  createWriteStream: [true, true],
  fchmod: [true, true],
  fchown: [true, true],
  ftruncate: [true, true],
  futimes: [true, true],
  lchmod: [true, true],
  lchown: [true, true],
  link: [false, true],
  lutimes: [true, true],
  mkdir: [false, true],
  mkdtemp: [false, false],
  mkdtempDisposable: [false, false],
  rename: [true, true],
  rm: [true, true],
  rmdir: [true, true],
  symlink: [false, true],
  truncate: [true, true],
  unlink: [true, true],
  utimes: [true, true],
  write: [null, null],
  writeFile: [true, true],
  writev: [null, null],
};

/**
 * Returns the effect of opening a file with the given flags. @see the file system flags in Node's
 * documentation
 */
function opening(flags: KnownValue, call: string): CallEffect {
  if (flags === null || flags === 0) return reads('fs-read', call);
  if (typeof flags !== 'string') return undecided('fs-write', call);
  if (/^(?:r|rs|sr)$/.test(flags)) return reads('fs-read', call);
  return flags.startsWith('a')
    ? writes('fs-write', call, false, false)
    : flags.includes('+') && flags.startsWith('r')
      ? writes('fs-write', call)
      : writes('fs-write', call, !flags.includes('x'), true);
}

function fileEffects(path: readonly string[], args: readonly KnownValue[]): readonly CallEffect[] {
  const named = path.filter((part) => part !== 'promises' && part !== '()');
  const name = (named.at(-1) ?? '').replace(/Sync$/, '');
  const call = `fs.${named.join('.')}`;
  const isStream = named[0] === 'createWriteStream' && named.length > 1;
  if (isStream) return []; // The effect was already recorded when the stream was created.
  if (name === 'open') return [opening(args.length < 2 ? 'r' : args[1], call)];
  if (name === 'WriteStream') return [writes('fs-write', call, true, true)];
  if (name === 'ReadStream') return [reads('fs-read', call)];
  const flag = fieldOf(args.at(-1), 'flag') ?? fieldOf(args.at(-1), 'flags');
  if (typeof flag === 'string') return [opening(flag, call)];
  if (FS_READS.has(name)) return [reads('fs-read', call)];
  if (!Object.hasOwn(FS_WRITES, name)) return [];
  return [writes('fs-write', call, ...FS_WRITES[name]!)];
}

const PROGRAM_STARTS = new Set(wordsIn('exec execFile execFileSync execSync fork spawn spawnSync'));
/** Node modules that have no lasting effects outside the process. */
const PURE = new Set(
  wordsIn(
    'assert async_hooks buffer console constants crypto diagnostics_channel domain events trace_events sea module path perf_hooks punycode querystring readline stream string_decoder sys test timers tty url util zlib',
  ),
);

function childProcess(name: string, args: readonly KnownValue[]): readonly CallEffect[] {
  if (!PROGRAM_STARTS.has(name)) return [];
  const [program, list] = args;
  const texts = Array.isArray(list)
    ? list.map((each: KnownValue) => (typeof each === 'string' ? each : undefined))
    : [];
  if (typeof program !== 'string') return [undecided('process-spawn', `child_process.${name}`)];
  if (
    /^exec(?:Sync)?$/.test(name) ||
    (args.some((arg) => (fieldOf(arg, 'shell') ?? false) !== false) && texts.length === 0)
  )
    return programEffects('sh', ['-c', program]);
  return programEffects(
    name === 'fork' ? 'node' : program,
    name === 'fork' ? [program, ...texts] : texts,
  );
}

function processEffects(
  path: readonly string[],
  args: readonly KnownValue[],
): readonly CallEffect[] {
  const [name = ''] = path;
  const call = `process.${name}`;
  if (name === 'env') return [reads('env-read', `process.env.${path[1] ?? '*'}`)];
  if (name === 'kill')
    return [
      args[1] === 0 ? reads('process-spawn', call) : writes('process-spawn', call, true, true),
    ];
  if (name === 'chdir' || name === 'umask')
    return args.length === 0 ? [] : [writes('memory-state', call, false, true)];
  if (name === 'report' && path[1] === 'writeReport')
    return [writes('fs-write', 'process.report.writeReport', false, false)];
  if (name === 'loadEnvFile') return [reads('fs-read', call)];
  if (/inding$/.test(name)) return [undecided('process-spawn', call)];
  return /^(?:set(?:uid|gid|euid|egid|groups)|initgroups|dlopen)$/.test(name)
    ? [writes('process-spawn', call, true, true)]
    : [];
}

/**
 * Returns the effects of a call to a built-in module of Node or to `global`. `path` contains the
 * names after the module, with `()` for the result of a call. Returns `undefined` for an unknown
 * module.
 */
export function builtinEffects(
  module: string,
  path: readonly string[],
  args: readonly KnownValue[],
): readonly CallEffect[] | undefined {
  const base = module.replace(/^node:/, '');
  const root = base.split('/')[0]!;
  const name = path.filter((part) => part !== '()').at(-1) ?? '';
  const call = `${root}.${path.filter((part) => part !== '()').join('.')}`;
  switch (root) {
    case 'fs':
      return fileEffects(path, args);
    case 'child_process':
      return childProcess(name, args);
    case 'process':
      return processEffects(path, args);
    case 'global':
    case 'globalThis':
      if (path[0] === 'process') return processEffects(path.slice(1), args);
      if (path[0] === 'fetch')
        return httpEffects(
          textOr(fieldOf(args[1], 'method') ?? fieldOf(args[0], 'method'), args),
          typeof args[0] === 'string' ? args[0] : undefined,
          fieldOf(args[1], 'body'),
        );
      if (/^set(?:Timeout|Interval|Immediate)$/.test(name) && typeof args[0] === 'string')
        return [undecided('net-write', name)];
      if (path[0] === 'EventSource') return [reads('net-read', path[0])];
      if (/Storage$/.test(path[0] ?? ''))
        return [
          /^(?:set|remove|clear)/.test(name)
            ? writes('memory-state', call, true, true)
            : reads('fs-read', call),
        ];
      return /^(?:WebSocket|XMLHttpRequest|eval|Function|WebAssembly|sendBeacon)$/.test(
        path[0] === 'navigator' ? name : (path[0] ?? ''),
      )
        ? [undecided('net-write', path.join('.'))]
        : [];
    case 'http':
    case 'https':
      if (name === 'get') return [reads('net-read', call)];
      if (name === 'listen') return [undecided('net-read', call)];
      return name === 'request'
        ? httpEffects(
            textOr(fieldOf(args[0], 'method') ?? fieldOf(args[1], 'method'), args),
            typeof args[0] === 'string' ? args[0] : undefined,
          )
        : [];
    case 'dns':
      return /^(?:lookup|resolve|reverse)/.test(name)
        ? [reads('net-read', call)]
        : /^set/.test(name)
          ? [writes('memory-state', call, false, true)]
          : [];
    case 'net':
    case 'tls':
    case 'http2':
    case 'dgram':
      return /^(?:connect|createConnection|createSocket|listen|send|bind|Socket)$/.test(name) ||
        (root === 'http2' && name === 'request')
        ? [undecided('net-write', call)]
        : [];
    case 'worker_threads':
    case 'cluster':
      return name === 'Worker' || name === 'fork' ? [undecided('process-spawn', call)] : [];
    case 'vm':
    case 'inspector':
    case 'wasi':
    case 'repl':
      return /^(?:run|open|start|compile)/.test(name) ? [undecided('memory-state', call)] : [];
    case 'sqlite':
      return /^(?:exec|prepare)$/.test(name)
        ? sqlEffects(typeof args[0] === 'string' ? args[0] : undefined)
        : [];
    case 'os':
      return name === 'setPriority' ? [writes('process-spawn', call, true, true)] : [];
    case 'v8':
      return name === 'writeHeapSnapshot' ? [writes('fs-write', call, false, false)] : [];
    default:
      return PURE.has(root) ? [] : undefined;
  }
}

/**
 * Returns a request's HTTP method: GET if the options contain no method, and undefined if the
 * options are unknown.
 */
function textOr(method: KnownValue, args: readonly KnownValue[]): string | undefined {
  if (typeof method === 'string') return method;
  const isOpen = args.some((arg, at) =>
    arg === undefined
      ? at === 1
      : typeof arg === 'object' && arg !== null && Object.hasOwn(arg, 'method'),
  );
  return !isOpen && args.some((arg) => typeof arg === 'object' || typeof arg === 'string')
    ? 'GET'
    : undefined;
}
