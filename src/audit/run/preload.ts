import child_process from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import worker_threads from 'node:worker_threads';
import { confinement, record, watch, type Args, type Watched, type Work } from './recorder.js';
import {
  programStandIn,
  resolveNothing,
  runNoProgram,
  sendNothing,
  socketStandIn,
  toSink,
} from './stand-ins.js';

// This file is preloaded into a process that runs tools for an audit. This file replaces the Node
// functions below with functions that record each call.

type Members = Readonly<Record<string, unknown>>;

/**
 * Functions of `fs` that work on open files. Calls to these functions aren't recorded, because the
 * call that opened the file has already been recorded.
 */
const OF_OPEN_FILES =
  /^(?:close|readv?|writev?|f(?:chmod|chown|datasync|stat|sync|truncate|utimes))(?:Sync)?$/;
/** The functions of `fs` that change files, with the positions of their path arguments. */
const WRITES: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^(?:copyFile|cp|link|symlink)(?:Sync)?$/, [1]],
  [/^rename(?:Sync)?$/, [0, 1]],
  [
    /^(?:appendFile|chmod|chown|createWriteStream|WriteStream|FileWriteStream|lchmod|lchown|lutimes|mkdir|mkdtemp|mkdtempDisposable|rm|rmdir|truncate|unlink|utimes|writeFile)(?:Sync)?$/,
    [0],
  ],
];

function writtenBy(args: Args, name: string): readonly string[] {
  const flags = args[1] ?? 'r';
  const opens =
    /^open(?:Sync)?$/.test(name) &&
    (typeof flags === 'number'
      ? (flags & 3) !== 0 || (flags & fs.constants.O_CREAT) !== 0
      : typeof flags === 'string' && !/^(?:r|rs|sr)$/.test(flags));
  const places = opens ? [0] : (WRITES.find(([pattern]) => pattern.test(name))?.[1] ?? []);
  return places.flatMap((place) => {
    const value = args[place];
    if (typeof value === 'string') return [path.resolve(value)];
    if (value instanceof Uint8Array) return [path.resolve(Buffer.from(value).toString())];
    return value instanceof URL && value.protocol === 'file:' ? [fileURLToPath(value)] : [];
  });
}

const files = (owner: object) => ({
  owner,
  module: 'fs',
  names: Object.keys(owner).filter(
    (name) => /^(?:[a-z]|(?:File)?WriteStream)/.test(name) && !OF_OPEN_FILES.test(name),
  ),
  writes: writtenBy,
});

/** Returns the program that a call starts, and the program's arguments. */
function programOf(args: Args, name: string): Args {
  const words = (Array.isArray(args[1]) ? args[1] : []) as Args;
  const hasShell = args.some((each) => Boolean((each as Members | undefined)?.['shell']));
  return name === 'execSync' || hasShell
    ? ['sh', ['-c', [args[0], ...words].join(' ')]]
    : [args[0], words];
}

/** Returns the method and address of a request, given the arguments of `http.request`. */
function requestOf(scheme: string, [first, second]: Args): Args {
  const isUrl = typeof first === 'string' || first instanceof URL;
  const options = ((isUrl ? second : first) ?? {}) as Readonly<Record<string, string | undefined>>;
  const { hostname, host = 'localhost', port, path: file = '/', method = 'GET' } = options;
  return [
    method.toUpperCase(),
    isUrl
      ? String(first)
      : `${scheme}://${hostname ?? host}${port && !host.includes(':') ? `:${port}` : ''}${file}`,
  ];
}

/** Returns the method, address and body of a request, given the arguments of `fetch`. */
function fetchOf([input, init]: Args): Args {
  const { method, body } = (init ?? {}) as Members;
  const request = input instanceof Request ? input : undefined;
  return [
    (typeof method === 'string' ? method : (request?.method ?? 'GET')).toUpperCase(),
    request?.url ?? String(input),
    body,
  ];
}

/** Returns the host and port that a socket connects to, or its path. */
function placeOf(args: Args): Args {
  const [first, second] = Array.isArray(args[0]) ? (args[0] as Args) : args;
  if (typeof first !== 'object' || first === null)
    return /^\d+$/.test(String(first))
      ? [typeof second === 'string' ? second : 'localhost', Number(first)]
      : [String(first)];
  const { host, port, path: file, servername } = first as Members;
  return file !== undefined && port === undefined
    ? [file]
    : [host ?? servername ?? 'localhost', Number(port)];
}

const { sink } = confinement;
const connect = Reflect.get(net.Socket.prototype, 'connect') as Work;

const WATCHED: readonly Watched[] = [
  files(fs),
  { ...files(fs.promises), path: ['promises'] },
  {
    owner: child_process,
    module: 'child_process',
    names: ['execSync', 'execFileSync', 'spawnSync'],
    told: programOf,
    instead: programStandIn,
  },
  {
    owner: child_process.ChildProcess.prototype,
    module: 'child_process',
    names: ['spawn'],
    told: ([options]) => {
      const { file, args = [] } = options as { readonly file: string; readonly args?: Args };
      return [file, args.slice(1)];
    },
    instead: (args, _name, self) => runNoProgram(args, self),
  },
  ...Object.entries({ http, https }).map(([scheme, owner]) => ({
    owner,
    module: 'http',
    names: ['request', 'get'],
    told: (args: Args) => requestOf(scheme, args),
  })),
  { owner: globalThis, module: 'global', names: ['fetch'], told: fetchOf },
  { owner: globalThis, module: 'global', names: ['WebSocket', 'EventSource'] },
  { owner: http2, module: 'http2', names: ['connect'] },
  {
    owner: tls,
    module: 'tls',
    names: ['connect'],
    told: placeOf,
    instead: (args) => socketStandIn(connect, sink, args),
  },
  {
    owner: net.Socket.prototype,
    module: 'net',
    names: ['connect'],
    told: placeOf,
    instead: (args, _name, self) => toSink(connect, sink, args, self),
  },
  {
    owner: dgram.Socket.prototype,
    module: 'dgram',
    names: ['send'],
    told: (args) => [args.findLast((each) => typeof each === 'string')],
    instead: sendNothing,
  },
  ...[dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype].map((owner) => ({
    owner,
    module: 'dns',
    names: Object.getOwnPropertyNames(owner).filter((name) =>
      /^(?:lookup|resolve|reverse)/.test(name),
    ),
    instead: resolveNothing,
  })),
  { owner: process, module: 'process', names: ['chdir'] },
  {
    owner: process,
    module: 'process',
    // `_debugProcess` lets debuggers connect to another process.
    names: ['kill', '_kill', '_debugProcess'],
    instead: () => true,
  },
  {
    owner: worker_threads,
    module: 'worker_threads',
    names: ['Worker'],
    instead: () => {
      throw new Error('Workers are not available during an audit, because they are not recorded.');
    },
  },
];

for (const row of WATCHED) watch(row);

/** Records that the tool reads an environment variable, or all of them. */
const variable = <T>(name: string | symbol, act: () => T): T =>
  typeof name === 'symbol'
    ? act()
    : record({ module: 'process', path: ['env', name], args: [], writes: [] }, act);
process.env = new Proxy(process.env, {
  get: (target, name) => variable(name, () => Reflect.get(target, name) as unknown),
  ownKeys: (target) => variable('*', () => Reflect.ownKeys(target)),
});
syncBuiltinESMExports();
