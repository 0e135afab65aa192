import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { digestOf, isPlainObject } from '../../core/plain-data.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { runTool } from '../../testing/run-tool.js';
import { entryOf, type ToolDefinition, type ToolEntry } from '../../tool/tool-definition.js';
import type { Scratch } from './scratch.js';
import { CONFINEMENT, type Confinement } from './seen-effects.js';

/** The end of a call, without the tool's result. */
export interface RunAnswer {
  readonly status: ToolOutcome['status'] | 'timeout' | 'crashed';
  readonly message?: string;
  /** A digest of the result. */
  readonly digest: string;
}

export interface RunRequest {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly timeoutMs: number;
  /** The scratch folder's path. Results that differ only in it are equal. */
  readonly scratch: string;
}

/** A confined process that runs tools. */
export interface Session {
  /** The tools of a server. */
  readonly entries?: readonly ToolEntry[];
  readonly call: (request: RunRequest) => Promise<RunAnswer>;
  /** Kills the process and its whole group. */
  readonly close: () => Promise<void>;
}

/** The tools to run: those that files export, or those of an MCP server. */
export type RunSubject =
  | { readonly files: readonly string[] }
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** Milliseconds that tools may take to load, or a server to be ready. */
const START_MS = 60_000;
/** Milliseconds that a call may take to report its timeout. */
const LATE_MS = 1_000;
/** Memory limit of a process for objects, in MB. Buffers don't count. */
const MEMORY_MB = 512;

/** Makes a call the way an executor would: approved, and once. */
export async function callOnce(
  definition: ToolDefinition,
  { input, timeoutMs, scratch }: RunRequest,
): Promise<RunAnswer> {
  const { outcome } = await runTool(definition, input, {
    approve: true,
    executor: { timeoutMs, maxAttempts: 1 },
  });
  // Work that the tool doesn't await gets a few turns to start.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  const status =
    outcome.status === 'error' && outcome.code === 'TIMEOUT' ? 'timeout' : outcome.status;
  return {
    status,
    ...('message' in outcome && { message: outcome.message }),
    digest: digestOf(
      outcome.status === 'ok'
        ? (JSON.stringify(outcome.value) ?? '').replaceAll(scratch, '')
        : status,
    ),
  };
}

/**
 * Starts a process for tools in a scratch folder. With `isPermitted`, Node's permission model
 * confines it. @throws ToolError if it doesn't start.
 */
export async function openSession(
  subject: RunSubject,
  scratch: Scratch,
  root: string | undefined,
  isPermitted: boolean,
): Promise<Session> {
  const preload = preloadArguments();
  const confinement: Confinement = {
    record: scratch.record,
    hold: scratch.folder,
    sink: scratch.sink,
    preload,
  };
  const own = `${scratch.folder}/home`;
  const temporary = `${scratch.folder}/tmp`;
  const kept = Object.fromEntries(
    ['PATH', 'LANG', 'SystemRoot'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  );
  const env = {
    ...kept,
    HOME: own,
    USERPROFILE: own,
    TMPDIR: temporary,
    TMP: temporary,
    TEMP: temporary,
    ...('env' in subject && subject.env),
    [CONFINEMENT]: JSON.stringify(confinement),
  };
  const isTypeScript =
    IS_SOURCE || ('files' in subject && subject.files.some((file) => !/\.[cm]?js$/.test(file)));
  const flags = isPermitted ? permissionFlags(scratch, { programs: isTypeScript }) : [];
  const node = [
    process.execPath,
    ...flags,
    `--max-old-space-size=${MEMORY_MB}`,
    '--no-warnings',
    ...preload,
  ];
  const line =
    'files' in subject
      ? [...node, moduleOf('child'), JSON.stringify(subject.files)]
      : [
          ...node,
          ...subject.args.map((word) =>
            root !== undefined && resolve(word) === root ? scratch.root : word,
          ),
        ];
  const [command, ...args] = line;
  return 'files' in subject
    ? openFiles(command!, args, scratch.root, env)
    : openServer(command!, args, scratch, env);
}

/** This file's URL, in ES modules and in CommonJS. */
const HERE = addressIn(
  /\(?((?:file:\/\/|\/|[A-Za-z]:\\).*?):\d+:\d+\)?$/m.exec(new Error().stack ?? '')?.[1] ?? '/',
);

function addressIn(file: string): string {
  return file.startsWith('file:') ? file : pathToFileURL(file).href;
}

/** True if this runs from source through tsx. */
const IS_SOURCE = HERE.endsWith('.ts');

function moduleOf(name: string): string {
  const { href, pathname } = new URL(IS_SOURCE ? `./${name}.ts` : `./audit/${name}.js`, HERE);
  return name === 'child' ? decodeURIComponent(pathname).replace(/^\/(?=[A-Za-z]:)/, '') : href;
}

function preloadArguments(): readonly string[] {
  const tsx = IS_SOURCE ? ['--import', pathToFileURL(createRequire(HERE).resolve('tsx')).href] : [];
  return [...tsx, '--import', moduleOf('preload')];
}

function isAnswer(value: unknown): value is RunAnswer {
  return (
    isPlainObject(value) &&
    typeof value['status'] === 'string' &&
    typeof value['digest'] === 'string' &&
    (value['message'] === undefined || typeof value['message'] === 'string')
  );
}

async function openFiles(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Session> {
  const child = spawn(command, [...args], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: process.platform !== 'win32',
  });
  const waiting = new Map<string, (answer: RunAnswer) => void>();
  let said = '';
  child
    .stderr!.setEncoding('utf8')
    .on('data', (text: string) => (said = (said + text).slice(-4_000)));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) =>
      resolve(
        /heap out of memory/.test(said)
          ? `more than the ${MEMORY_MB} MB of memory that it gets`
          : signal === null
            ? `the exit code ${code}`
            : `the signal ${signal}`,
      ),
    );
  });
  const kill = () => {
    try {
      if (child.pid !== undefined)
        process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const ready = new Promise<void>((resolve, reject) => {
    void ended.then((how) =>
      reject(
        new ToolError(
          'NOT_A_TOOL',
          expectedGot(
            'tools that are loaded for the audit',
            `the end of their process with ${how}`,
            said.trim().split('\n').at(-1),
          ),
        ),
      ),
    );
    // The tool can also write to the channel.
    child.on('message', (message: unknown) => {
      if (!isPlainObject(message)) return;
      if (message['ready'] === true) resolve();
      else if (typeof message['id'] === 'string' && isAnswer(message['answer']))
        waiting.get(message['id'])?.(message['answer']);
    });
  });
  await within(START_MS, ready).catch((error: unknown) => {
    kill();
    throw error;
  });
  const call = (request: RunRequest) =>
    answerOf(request, kill, (settle) => {
      waiting.set(request.id, settle);
      void ended.then((how) => settle({ status: 'crashed', message: how, digest: '' }));
      child.send(
        request,
        (error) => error && settle({ status: 'crashed', message: error.message, digest: '' }),
      );
    });
  return { call, close: async () => (kill(), void (await ended)) };
}

/** Waits for a call's result. Kills the process if none arrives. */
async function answerOf(
  { timeoutMs }: RunRequest,
  kill: () => void,
  ask: (settle: (answer: RunAnswer) => void) => void,
): Promise<RunAnswer> {
  return within(timeoutMs + LATE_MS, new Promise<RunAnswer>(ask)).catch((error: unknown) => {
    kill();
    return { status: 'timeout', message: error instanceof Error ? error.message : '', digest: '' };
  });
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>(
    (_, reject) =>
      (timer = setTimeout(
        () => reject(new ToolError('TIMEOUT', expectedGot(`an end within ${ms} ms`, 'none'))),
        ms,
      )),
  );
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function openServer(
  command: string,
  args: readonly string[],
  { root: cwd, record }: Scratch,
  env: Readonly<Record<string, string>>,
): Promise<Session> {
  const discovery = new McpDiscovery(
    {
      enabled: true,
      servers: {
        audited: { command, args: [...args], env, cwd, trusted: true, max_tools: 10_000 },
      },
    },
    { env: {} },
  );
  await discovery.refresh();
  const [listing] = discovery.rawListings();
  if (listing === undefined || 'error' in listing || statSync(record).size === 0) {
    await discovery.close();
    throw new ToolError(
      'PROVIDER_UNAVAILABLE',
      expectedGot(
        'a server in Node that lists its tools',
        listing !== undefined && 'error' in listing
          ? listing.error
          : 'one that starts without the recorder',
      ),
    );
  }
  const byName = new Map(
    discovery
      .definitions()
      .map((definition) => [definition.providers?.[0]?.config?.['tool'], definition]),
  );
  const close = () => discovery.close();
  const call = async (request: RunRequest) =>
    answerOf(
      request,
      () => void close(),
      (settle) => {
        const definition = byName.get(request.name);
        if (definition === undefined)
          return settle({ status: 'error', message: 'the server no longer lists it', digest: '' });
        void callOnce(definition, request).then(settle, (error: unknown) =>
          settle({ status: 'error', message: String(error), digest: '' }),
        );
      },
    );
  return { entries: discovery.definitions().map(entryOf), call, close };
}

/** The limits of a preload without a sandbox. Every audit that runs tools reports them. */
export const GAPS_OF_A_PRELOAD: readonly string[] = [
  'native addons, if Node’s permission model is off: they call the operating system without being recorded',
  "reading: the user's files can be read without being copied",
  'a tool built to deceive it, which can reach Node’s own functions in other ways',
];

/**
 * Returns the flags for Node's permission model. The tool may write only below its scratch folder,
 * and can't load native addons.
 */
function permissionFlags(
  scratch: Scratch,
  { programs }: { readonly programs: boolean },
): readonly string[] {
  const flags = process.allowedNodeEnvironmentFlags;
  const model = flags.has('--permission') ? '--permission' : '--experimental-permission';
  return [
    model,
    '--allow-fs-read=*',
    `--allow-fs-write=${dirname(scratch.folder)}`,
    '--allow-worker',
    ...(programs ? ['--allow-child-process'] : []),
    ...(flags.has('--allow-net') ? ['--allow-net'] : []),
  ];
}
