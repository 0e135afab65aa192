import type { ChildProcess } from 'node:child_process';
import net from 'node:net';
import { PassThrough, Writable } from 'node:stream';

/**
 * This file has stubs for programs and the network. The stubs return empty responses, and nothing
 * leaves the machine.
 */

type Args = readonly unknown[];
type Connect = (this: unknown, ...args: Args) => unknown;

/** Returns the result of a program that printed nothing, in the form that the options request. */
function nothing(args: Args): string | Buffer {
  const options = args.find(
    (each) => typeof each === 'object' && each !== null && !Array.isArray(each),
  ) as { readonly encoding?: string } | undefined;
  return options?.encoding === undefined || options.encoding === 'buffer' ? Buffer.alloc(0) : '';
}

/** Replaces `execSync`, `execFileSync` and `spawnSync`. */
export function programStandIn(args: Args, name: string): unknown {
  const [stdout, stderr] = [nothing(args), nothing(args)];
  return name === 'spawnSync'
    ? { pid: 0, status: 0, signal: null, stdout, stderr, output: [null, stdout, stderr] }
    : stdout;
}

/** Makes a `ChildProcess` behave like a program that succeeds at once without output. */
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
    // No real process has this id.
    pid: 2 ** 30,
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

/** Connects a socket to the sink, no matter what its destination is. */
export function toSink(connect: Connect, sink: string, args: Args, self: unknown): unknown {
  const given = Array.isArray(args[0]) ? (args[0] as Args) : args;
  const done = given.findLast((each) => typeof each === 'function');
  return Reflect.apply(connect, self, [{ path: sink }, ...(done === undefined ? [] : [done])]);
}

/** Returns a socket to the sink that claims to be encrypted. */
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

/** Pretends that a datagram was sent. */
export function sendNothing(args: Args): void {
  const done = args.at(-1);
  if (typeof done === 'function') process.nextTick(done, null, 0);
}

/** Fails a DNS query, because no name can be resolved during an audit. */
export function resolveNothing(args: Args): unknown {
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND: an audit has no network'), {
    code: 'ENOTFOUND',
  });
  const done = args.at(-1);
  return typeof done === 'function' ? process.nextTick(done, error) : Promise.reject(error);
}
