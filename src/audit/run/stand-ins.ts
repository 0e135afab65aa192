import type { ChildProcess } from 'node:child_process';
import net from 'node:net';
import { PassThrough, Writable } from 'node:stream';

/** Functions that stand in for programs and the network while tools are audited: their answers are empty, and nothing leaves. */

type Args = readonly unknown[];
type Connect = (this: unknown, ...args: Args) => unknown;

/** Returns what a program that says nothing leaves, in the form that the options ask for. */
function nothing(args: Args): string | Buffer {
  const options = args.find(
    (each) => typeof each === 'object' && each !== null && !Array.isArray(each),
  ) as { readonly encoding?: string } | undefined;
  return options?.encoding === undefined || options.encoding === 'buffer' ? Buffer.alloc(0) : '';
}

export const SYNC_STAND_INS: Readonly<Record<string, (args: Args) => unknown>> = {
  execSync: nothing,
  execFileSync: nothing,
  spawnSync: (args) => ({
    pid: 0,
    status: 0,
    signal: null,
    stdout: nothing(args),
    stderr: nothing(args),
    output: [null, nothing(args), nothing(args)],
  }),
};

/** Above those of real processes. */
let lastPid = 2 ** 30;

/** Makes a `ChildProcess` behave as that of a program which ends at once, with success and without a word. */
export function runNoProgram(args: Args, self: unknown): number {
  const child = self as { -readonly [Key in keyof ChildProcess]: ChildProcess[Key] };
  const { stdio } = args[0] as { readonly stdio?: unknown };
  const kindOf = (index: number): unknown =>
    (Array.isArray(stdio) ? (stdio as Args)[index] : stdio) ?? 'pipe';
  const readable = (index: number) =>
    ['pipe', 'overlapped'].includes(String(kindOf(index))) ? new PassThrough().end() : null;
  const stdin =
    kindOf(0) === 'pipe' ? new Writable({ write: (_chunk, _encoding, done) => done() }) : null;
  Object.assign(child, {
    pid: ++lastPid,
    stdin,
    stdout: readable(1),
    stderr: readable(2),
    connected: false,
    send: () => true,
    disconnect: () => undefined,
    kill: () => true,
  });
  Object.assign(child, { stdio: [child.stdin, child.stdout, child.stderr, null, null] });
  process.nextTick(() => child.emit('spawn'));
  setImmediate(() => {
    Object.assign(child, { exitCode: 0 });
    child.emit('exit', 0, null);
    setImmediate(() => child.emit('close', 0, null));
  });
  return 0;
}

/** Connects a socket with the sink, wherever it was to go. */
export function toSink(connect: Connect, sink: string, args: Args, self: unknown): unknown {
  const given = Array.isArray(args[0]) ? (args[0] as Args) : args;
  const done = given.findLast((each) => typeof each === 'function');
  return Reflect.apply(connect, self, [{ path: sink }, ...(done === undefined ? [] : [done])]);
}

/** Returns a socket to the sink that says of itself to be secure. */
export function socketStandIn(connect: Connect, sink: string, args: Args): net.Socket {
  const socket = new net.Socket();
  Object.assign(socket, {
    encrypted: true,
    authorized: true,
    alpnProtocol: false,
    getPeerCertificate: () => ({}),
    getSession: () => undefined,
    isSessionReused: () => false,
    getProtocol: () => 'TLSv1.3',
    getCipher: () => ({}),
    setServername: () => undefined,
  });
  const done = args.findLast((each) => typeof each === 'function');
  if (done !== undefined) socket.once('secureConnect', done as () => void);
  socket.once('connect', () => socket.emit('secureConnect'));
  return toSink(connect, sink, [{}], socket) as net.Socket;
}

/** Returns a function that answers a question to the DNS: all names are this machine, and have no other records. */
export function dnsStandIn(name: string, isPromise: boolean): (args: Args) => unknown {
  const answer = (args: Args): Args => {
    const options = args[1];
    if (name === 'lookup') {
      const isAll =
        typeof options === 'object' &&
        options !== null &&
        (options as { readonly all?: unknown }).all === true;
      const one = { address: '127.0.0.1', family: 4 };
      return isAll ? [[one]] : isPromise ? [one] : [one.address, one.family];
    }
    return [
      name === 'resolve4' ||
      (name === 'resolve' && (typeof options !== 'string' || options === 'A'))
        ? ['127.0.0.1']
        : [],
    ];
  };
  if (isPromise) return (args) => Promise.resolve(answer(args)[0]);
  return (args) => {
    const done = args.at(-1);
    if (typeof done === 'function') process.nextTick(done, null, ...answer(args));
    return {};
  };
}
