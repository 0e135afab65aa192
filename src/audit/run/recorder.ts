import { AsyncLocalStorage } from 'node:async_hooks';
import child_process from 'node:child_process';
import crypto from 'node:crypto';
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
import type { KnownValue } from '../known/known-value.js';
import { CONFINEMENT, type Confinement, type Seen } from './seen-effects.js';
import { dnsStandIn, runNoProgram, socketStandIn, SYNC_STAND_INS, toSink } from './stand-ins.js';

const calls = new AsyncLocalStorage<{ readonly id: string; readonly hear: (seen: Seen) => void }>();
const { env: environment } = process;
// As they are now: a tool may put others in their place. These call nothing that it can reach.
const { closeSync, openSync, realpathSync, writeSync } = fs;
const { createHmac } = crypto;
const { stringify } = JSON;
const { apply } = Reflect;
const startsWith = Reflect.get(String.prototype, 'startsWith') as Work;
const begins = (text: string, start: string): boolean =>
  apply(startsWith, text, [start]) as boolean;
const confinement = takeConfinement();
/** True in a process that an audit runs tools in: what is seen there is read from its record. */
export const isConfined = confinement !== undefined;
const loaders = /[\\/]node_modules[\\/](?:tsx|esbuild|get-tsconfig)[\\/]/;
let isBusy = false;
let lines = 0;
let texts = 0;

/** Runs the work of a call; `hear` is told of what its code, and everything that this code started, does. */
export function recordCall<T>(id: string, hear: (seen: Seen) => void, work: () => T): T {
  return calls.run({ id, hear }, work);
}

/** Reads the settings once, before any other code can. */
function takeConfinement(): Confinement | undefined {
  const text = process.env[CONFINEMENT];
  delete process.env[CONFINEMENT];
  return text === undefined ? undefined : (JSON.parse(text) as Confinement);
}

/** The most lines of one record: a tool that never ends writes no more. */
const MOST_LINES = 20_000;

function write(seen: object): void {
  if (confinement === undefined || ++lines > MOST_LINES) return;
  const text = stringify({
    ...seen,
    process: `${process.pid}.${worker_threads.threadId}`,
    line: lines,
  });
  append(
    confinement.record,
    'a',
    `${createHmac('sha256', confinement.key).update(text).digest('hex')} ${text}\n`,
  );
}

function append(file: string, flags: string, text: string): void {
  const open = openSync(file, flags);
  writeSync(open, text);
  closeSync(open);
}

/**
 * Tells of one call of a builtin, and does it. Calls that Node makes within it are part of it; code outside of every call is
 * not told of, but is held as all.
 *
 * @param act does it; `isHeld` is true when something may stand in for it.
 */
function through<T>(
  module: string,
  steps: readonly string[],
  args: () => readonly unknown[],
  act: (isHeld: boolean) => T,
  writes: () => readonly string[] = () => [],
): T {
  const call = calls.getStore();
  if (call === undefined && confinement === undefined) return act(false);
  const { frames, isLoading, isInternal } = framesHere();
  if (isLoading) return act(false);
  if (isInternal && (isBusy || steps[0] === 'env')) return act(confinement !== undefined);
  const targets = writes().map(realPath);
  if (isInternal && module === 'fs' && targets.length === 0) return act(false);
  const wasBusy = isBusy;
  isBusy = true;
  try {
    const refused =
      confinement !== undefined && targets.some((target) => !isBelow(target, confinement.hold));
    const seen: Seen = {
      call: call?.id ?? confinement?.call,
      module,
      path: steps,
      args: args().map((value) => plain(value)),
      ...(targets.length > 0 && { targets }),
      ...(refused && { refused }),
      frames,
    };
    if (call !== undefined) call.hear(seen);
    if (confinement?.all === true || seen.call !== undefined) write(seen);
    if (refused)
      throw Object.assign(
        new Error(
          `EACCES: permission denied, ${steps.at(-1)} outside of the copy in which tools are audited`,
        ),
        { code: 'EACCES', errno: -13, syscall: steps.at(-1) },
      );
    return act(confinement !== undefined);
  } finally {
    isBusy = wasBusy;
  }
}

const FRAME = /^\s+at (?:.*? \()?((?:file:\/\/|\/|[A-Za-z]:\\|node:).*?):(\d+):\d+\)?$/;

/** Returns the places of the user's code on the stack. */
function framesHere(): {
  readonly frames: readonly string[];
  readonly isLoading: boolean;
  readonly isInternal: boolean;
} {
  const { stackTraceLimit } = Error;
  const prepareStackTrace: unknown = Reflect.get(Error, 'prepareStackTrace');
  Object.assign(Error, { prepareStackTrace: undefined, stackTraceLimit: 60 });
  const { stack = '' } = new Error();
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  const all = stack.split('\n').flatMap((line) => {
    const [, file, at] = FRAME.exec(line) ?? [];
    return file === undefined ? [] : [{ file: fileOf(file), at }];
  });
  const [own] = all;
  const places = all.filter(({ file }) => file !== own!.file);
  const isOfNode = ({ file }: { readonly file: string }) => begins(file, 'node:');
  const first = places.find(
    (place) => !isOfNode(place) || begins(place.file, 'node:internal/modules/'),
  );
  return {
    frames: places
      .filter((place) => !isOfNode(place))
      .map(({ file, at }) => `${file}:${at}`)
      .slice(0, 40),
    isLoading: first !== undefined && (isOfNode(first) || loaders.test(first.file)),
    isInternal: places[0] === undefined || isOfNode(places[0]),
  };
}

function fileOf(text: string): string {
  return begins(text, 'file:') ? fileURLToPath(text.replace(/[?#].*$/, '')) : text;
}

/** Returns where a path leads, also one that does not exist. */
function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realPath(parent), path.basename(file));
  }
}

function isBelow(file: string, folder: string): boolean {
  return file === folder || begins(file, folder + path.sep);
}

const LONGEST = 500;

/** Returns what is plain in a value: nothing of it is called. */
function plain(value: unknown, depth = 0): KnownValue {
  if (typeof value === 'string') return value.slice(0, LONGEST);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof URL)
    return value.protocol === 'file:' ? fileURLToPath(value) : value.href.slice(0, LONGEST);
  if (typeof value !== 'object' || depth === 3) return undefined;
  if (Array.isArray(value)) return value.slice(0, 50).map((each) => plain(each, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const fields = Object.entries(Object.getOwnPropertyDescriptors(value)).slice(0, 50);
  return Object.fromEntries(
    fields.map(([name, { value: inner }]) => [name, plain(inner, depth + 1)]),
  );
}

type Work = (this: unknown, ...args: readonly unknown[]) => unknown;
type Members = Record<string, unknown>;

/** Puts a function in the place of another, which keeps what it has beside its code. */
function replace(owner: object, name: string, make: (original: Work) => Work): void {
  const original = (owner as Members)[name];
  if (typeof original !== 'function') return;
  const made = make(original as Work);
  const { prototype: _, ...own } = Object.getOwnPropertyDescriptors(original) as Record<
    string,
    PropertyDescriptor
  >;
  Object.defineProperties(made, own);
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, {
    ...(descriptor?.get === undefined
      ? descriptor
      : { configurable: true, enumerable: descriptor.enumerable ?? false }),
    value: made,
    writable: true,
  });
}

/** The functions of fs that change files, each with the arguments that name what is changed. */
const WRITES: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^(?:copyFile|cp|link|symlink)(?:Sync)?$/, [1]],
  [/^rename(?:Sync)?$/, [0, 1]],
  [
    /^(?:appendFile|chmod|chown|createWriteStream|WriteStream|FileWriteStream|lchmod|lchown|lutimes|mkdir|mkdtemp|mkdtempDisposable|rm|rmdir|truncate|unlink|utimes|writeFile)(?:Sync)?$/,
    [0],
  ],
];

function writtenBy(name: string, args: readonly unknown[]): readonly string[] {
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

/** Functions of fs that work on what is open already: the opening says what for. */
const OF_OPEN_FILES =
  /^(?:close|readv?|writev?|f(?:chmod|chown|datasync|stat|sync|truncate|utimes))(?:Sync)?$/;
const STREAMS: readonly string[] = ['WriteStream', 'FileWriteStream'];

function recordFiles(files: object, steps: readonly string[]): void {
  for (const name of Object.keys(files)) {
    const told = (args: readonly unknown[], act: () => unknown) =>
      through(
        'fs',
        [...steps, name],
        () => args,
        act,
        () => writtenBy(name, args),
      );
    if (STREAMS.includes(name)) {
      const original = (files as Members)[name] as new (...args: never) => object;
      const value = new Proxy(original, {
        construct: (target, args: unknown[], newTarget) =>
          told(args, () => Reflect.construct(target, args, newTarget) as object) as object,
      });
      Object.defineProperty(files, name, {
        configurable: true,
        enumerable: true,
        writable: true,
        value,
      });
    } else if (!/^[A-Z_]/.test(name) && !OF_OPEN_FILES.test(name)) {
      replace(
        files,
        name,
        (original) =>
          function (...args) {
            return told(args, () => Reflect.apply(original, this, args));
          },
      );
    }
  }
}

/** Records a function, with something in its place when programs run confined. */
function record(
  owner: object,
  name: string,
  module: string,
  steps: readonly string[],
  told: (args: readonly unknown[], self: unknown) => readonly unknown[],
  standIn?: (args: readonly unknown[], self: unknown, original: Work) => unknown,
): void {
  replace(
    owner,
    name,
    (original) =>
      function (...args) {
        return through(
          module,
          steps,
          () => told(args, this),
          (isHeld) =>
            isHeld && standIn !== undefined
              ? standIn(args, this, original)
              : Reflect.apply(original, this, args),
        );
      },
  );
}

const all = (args: readonly unknown[]) => args;

/** The processes that were started here, or that a stand-in stands for: ending them is no effect. */
const children = new Set<number | undefined>();

function recordPrograms(): void {
  const isStarted = confinement === undefined;
  const text = (value: unknown) => (Array.isArray(value) ? value : []) as readonly unknown[];
  for (const [name, standIn] of Object.entries(SYNC_STAND_INS)) {
    const told = (args: readonly unknown[]) =>
      name === 'execSync' || hasShell(args)
        ? ['sh', ['-c', [args[0], ...text(args[1])].join(' ')]]
        : [args[0], text(args[1])];
    record(child_process, name, 'child_process', [name], told, isStarted ? undefined : standIn);
  }
  const options = (args: readonly unknown[]) =>
    args[0] as { readonly file?: unknown; readonly args?: readonly unknown[] };
  const spawn = isStarted
    ? (args: readonly unknown[], self: unknown, original: Work) =>
        Reflect.apply(original, self, args)
    : runNoProgram;
  record(
    child_process.ChildProcess.prototype,
    'spawn',
    'child_process',
    ['spawn'],
    (args) => [options(args).file, (options(args).args ?? []).slice(1)],
    (args, self, original) => {
      const result = spawn(args, self, original);
      children.add((self as child_process.ChildProcess).pid);
      return result;
    },
  );
}

function hasShell(args: readonly unknown[]): boolean {
  return args.some(
    (each) =>
      typeof each === 'object' && each !== null && Boolean((each as { shell?: unknown }).shell),
  );
}

function recordNetwork(): void {
  const sink = confinement?.sink;
  const connect = Reflect.get(net.Socket.prototype, 'connect') as Work;
  const toTheSink =
    sink === undefined
      ? undefined
      : (args: readonly unknown[], self: unknown) => toSink(connect, sink, args, self);
  for (const [module, name] of [
    [http, 'http'],
    [https, 'https'],
  ] as const) {
    for (const method of ['request', 'get'])
      record(module, method, 'http', [method], (args) => requestOf(name, args));
  }
  record(
    tls,
    'connect',
    'tls',
    ['connect'],
    placeOf,
    sink === undefined ? undefined : (args) => socketStandIn(connect, sink, args),
  );
  record(net.Socket.prototype, 'connect', 'net', ['connect'], placeOf, toTheSink);
  record(http2, 'connect', 'http2', ['connect'], (args) => [String(args[0])]);
  record(
    dgram.Socket.prototype,
    'send',
    'dgram',
    ['send'],
    (args) => [args.findLast((each) => typeof each === 'string')],
    (args) => {
      const done = args.at(-1);
      if (typeof done === 'function') process.nextTick(done, null, 0);
    },
  );
  for (const [owner, steps] of [
    [dns, []],
    [dns.promises, ['promises']],
    [dns.Resolver.prototype, ['Resolver']],
    [dns.promises.Resolver.prototype, ['promises', 'Resolver']],
  ] as const) {
    for (const name of Object.getOwnPropertyNames(owner))
      if (/^(?:lookup|resolve|reverse)/.test(name))
        record(
          owner,
          name,
          'dns',
          [...steps, name],
          all,
          dnsStandIn(name, steps[0] === 'promises'),
        );
  }
  if (typeof fetch === 'function')
    record(globalThis, 'fetch', 'global', ['fetch'], ([input, init]) => fetchOf(input, init));
  for (const name of ['WebSocket', 'EventSource']) {
    const original = (globalThis as Members)[name];
    if (typeof original === 'function')
      (globalThis as Members)[name] = new Proxy(original, {
        construct: (target, args: unknown[]) =>
          through(
            'global',
            [name],
            () => [String(args[0])],
            () => Reflect.construct(target, args) as object,
          ),
      });
  }
}

/** Returns method and address of a request, as `http.request` takes them. */
function requestOf(scheme: string, args: readonly unknown[]): readonly unknown[] {
  const [first, second] = args;
  const url = typeof first === 'string' || first instanceof URL ? String(first) : undefined;
  const options = ((url === undefined ? first : second) ?? {}) as Members;
  const said = (value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  const host = said(options['hostname']) ?? said(options['host']) ?? 'localhost';
  const port =
    options['port'] === undefined || options['port'] === null ? '' : `:${said(options['port'])}`;
  return [
    (said(options['method']) ?? 'GET').toUpperCase(),
    url ??
      `${scheme}://${host.includes(':') && !host.includes('[') && port !== '' ? host.split(':')[0] : host}${port}${said(options['path']) ?? '/'}`,
  ];
}

function fetchOf(input: unknown, init: unknown): readonly unknown[] {
  const { method, body } = (init ?? {}) as Members;
  const request = input instanceof Request ? input : undefined;
  return [
    (typeof method === 'string' ? method : (request?.method ?? 'GET')).toUpperCase(),
    request?.url ?? String(input),
    typeof body === 'string' ? body : undefined,
  ];
}

/** Returns host and port that a socket connects to, or its path. */
function placeOf(args: readonly unknown[]): readonly unknown[] {
  const [first, second] = Array.isArray(args[0]) ? (args[0] as readonly unknown[]) : args;
  if (typeof first !== 'object' || first === null)
    return /^\d+$/.test(String(first))
      ? [typeof second === 'string' ? second : 'localhost', Number(first)]
      : [String(first)];
  const { host, port, path: file, servername } = first as Members;
  return file !== undefined && port === undefined
    ? [file]
    : [host ?? servername ?? 'localhost', Number(port)];
}

/** Runs the recorder in workers too, for the call that starts them. */
function recordWorkers(): void {
  const { Worker } = worker_threads;
  const construct = (target: typeof Worker, args: unknown[], newTarget: unknown): object =>
    through(
      'worker_threads',
      ['Worker'],
      () => args.slice(0, 1),
      () => {
        if (confinement === undefined)
          return Reflect.construct(target, args, newTarget as typeof Worker) as object;
        const options = (args[1] ?? {}) as worker_threads.WorkerOptions;
        const first =
          options.eval === true ? fileWith(String(args[0]), confinement.record) : args[0];
        const env = {
          ...(typeof options.env === 'object' ? options.env : environment),
          [CONFINEMENT]: JSON.stringify({
            ...confinement,
            call: calls.getStore()?.id ?? confinement.call,
          }),
        };
        const execArgv = options.execArgv && [...options.execArgv, ...confinement.preload];
        return Reflect.construct(
          target,
          [first, { ...options, eval: false, env, ...(execArgv && { execArgv }) }],
          newTarget as typeof Worker,
        ) as object;
      },
    );
  worker_threads.Worker = new Proxy(Worker, { construct });
}

/** Writes the text of a worker to a file: nothing is preloaded before a text. */
function fileWith(text: string, recordFile: string): string {
  const made = path.join(
    path.dirname(recordFile),
    `worker-${worker_threads.threadId}-${++texts}.cjs`,
  );
  append(made, 'w', text);
  return made;
}

function recordProcess(): void {
  record(process, 'chdir', 'process', ['chdir'], all);
  record(process, 'exit', 'process', ['exit'], all);
  // The second is the function below the first.
  for (const name of ['kill', '_kill']) {
    const original = Reflect.get(process, name) as Work;
    record(process, name, 'process', ['kill'], all, (args, self) =>
      args[0] === process.pid || args[1] === 0
        ? Reflect.apply(original, self, args)
        : name === 'kill'
          ? true
          : 0,
    );
    const recorded = Reflect.get(process, name) as Work;
    Reflect.set(process, name, (...args: readonly unknown[]) => {
      if (!children.has(Math.abs(Number(args[0])))) return Reflect.apply(recorded, process, args);
      return confinement !== undefined
        ? name === 'kill'
          ? true
          : 0
        : Reflect.apply(original, process, args);
    });
  }
  // Another one lets a debugger into another process.
  record(process, '_debugProcess', 'process', ['kill'], all, () => undefined);
  // The bindings of Node's own would go past all of this.
  if (confinement !== undefined)
    record(process, 'binding', 'process', ['binding'], all, () => {
      throw new Error(
        'Expected code that needs no bindings of Node, got process.binding. It is not there in an audit.',
      );
    });
  let copied: string | symbol | undefined;
  const read = <T>(name: string | symbol, act: () => T): T =>
    typeof name === 'symbol' || name === copied
      ? act()
      : through('process', ['env', name], () => [], act);
  process.env = new Proxy(environment, {
    get: (target, name) => read(name, () => Reflect.get(target, name) as unknown),
    has: (target, name) => read(name, () => Reflect.has(target, name)),
    ownKeys: (target) => read('*', () => Reflect.ownKeys(target)),
    // A copy of all asks for each right before it reads it: that is no reading of it by name.
    getOwnPropertyDescriptor: (target, name) =>
      Reflect.getOwnPropertyDescriptor(target, (copied = name)),
    // `process.env` takes no property by definition, as a proxy would set it.
    set: (target, name, value: unknown) =>
      through(
        'process',
        ['env', String(name), 'set'],
        () => [],
        () => Reflect.set(target, name, value),
      ),
  });
}

recordFiles(fs, []);
recordFiles(fs.promises, ['promises']);
recordPrograms();
recordNetwork();
recordWorkers();
recordProcess();
syncBuiltinESMExports();
write({ hello: process.version });
