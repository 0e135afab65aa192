import { fork } from 'node:child_process';
import { on, once } from 'node:events';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { runTool } from '../../testing/run-tool.js';
import { entryOf, type ToolDefinition, type ToolEntry } from '../../tool/tool-definition.js';
import type { Scratch } from './scratch.js';
import { CONFINEMENT } from './seen-effects.js';

/** The outcome of a call, without the tool's result. */
export interface RunAnswer {
  readonly status: ToolOutcome['status'];
  readonly message?: string | undefined;
}

export interface RunRequest {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly timeoutMs: number;
}

/** A confined process that runs tools. */
export interface Session {
  /** The tools of a server. */
  readonly entries?: readonly ToolEntry[];
  readonly call: (request: RunRequest) => Promise<RunAnswer>;
  /** Kills the process. */
  readonly close: () => Promise<void>;
}

/** The tools to run: tools that files export, or the tools of an MCP server. */
export type RunSubject =
  | { readonly files: readonly string[] }
  | {
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** Maximum time in milliseconds for loading the tools. */
const START_MS = 60_000;
/** Milliseconds after a call's timeout in which the process must report the timeout. */
const LATE_MS = 1_000;
/** Milliseconds to wait after a call, for work that the tool started without awaiting it. */
const SETTLE_MS = 100;
/** Maximum memory for the objects in a process, in MB. Memory for buffers isn't limited. */
const MEMORY_MB = 512;

/** The message of a child process that has loaded its tools. */
export const READY = { id: 'ready', status: 'ok' };

/** Makes a call as an executor does, but without asking for approval and without retries. */
export async function callOnce(
  definition: ToolDefinition,
  { input, timeoutMs }: RunRequest,
): Promise<RunAnswer> {
  const { outcome } = await runTool(definition, input, {
    approve: true,
    executor: { timeoutMs, maxAttempts: 1 },
  });
  await delay(SETTLE_MS);
  return {
    status: outcome.status,
    ...('message' in outcome && { message: outcome.message }),
  };
}

/**
 * Starts a process for tools in a scratch folder, confined by Node's permission model and the
 * recorder.
 *
 * @throws ToolError if it doesn't start.
 */
export async function openSession(
  subject: RunSubject,
  scratch: Scratch,
  root: string | undefined,
): Promise<Session> {
  const { folder, record, sink } = scratch;
  const env = {
    ...Object.fromEntries(
      ['PATH', 'LANG', 'SystemRoot'].flatMap((name) => {
        const value = process.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    ...homeIn(`${folder}/home`, `${folder}/tmp`),
    ...('env' in subject && subject.env),
    [CONFINEMENT]: JSON.stringify({ folder, record, sink }),
  };
  const isTypeScript =
    IS_SOURCE || ('files' in subject && subject.files.some((file) => !/\.[cm]?js$/.test(file)));
  const flags = [...confiningFlags(dirname(folder), isTypeScript), ...preloadFlags()];
  if ('files' in subject) return openFiles(subject.files, flags, scratch.root, env);
  const args = subject.args.map((word) =>
    root !== undefined && resolve(word) === root ? scratch.root : word,
  );
  return openServer([...flags, ...args], scratch, env);
}

/**
 * Returns the flags for Node's permission model. The process may write only to the record and the
 * scratch folder, and can't load native addons. The process may start programs and workers only if
 * TypeScript has to be compiled.
 */
function confiningFlags(place: string, isTypeScript: boolean): readonly string[] {
  const known = process.allowedNodeEnvironmentFlags;
  return [
    known.has('--permission') ? '--permission' : '--experimental-permission',
    '--allow-fs-read=*',
    `--allow-fs-write=${place}`,
    ...(isTypeScript ? ['--allow-child-process', '--allow-worker'] : []),
    ...(known.has('--allow-net') ? ['--allow-net'] : []),
    `--max-old-space-size=${MEMORY_MB}`,
    '--no-warnings',
  ];
}

/** The path or URL of this file, in ES modules and in CommonJS. */
const HERE = /\(?((?:file:\/\/|\/|[A-Za-z]:\\).*?):\d+:\d+\)?$/m.exec(new Error().stack ?? '')![1]!;

/** True if this library runs from its source through tsx. */
const IS_SOURCE = HERE.endsWith('.ts');

function moduleOf(name: string): URL {
  const here = HERE.startsWith('file:') ? HERE : pathToFileURL(HERE);
  return new URL(IS_SOURCE ? `./${name}.ts` : `./audit/${name}.js`, here);
}

function preloadFlags(): readonly string[] {
  const tsx = IS_SOURCE ? ['--import', pathToFileURL(createRequire(HERE).resolve('tsx')).href] : [];
  return [...tsx, '--import', moduleOf('preload').href];
}

/**
 * The messages from a child process. The messages are checked, because a tool can send any message
 * through the same channel.
 */
const answerSchema = z.object({
  id: z.string(),
  status: z.enum(['ok', 'error', 'ask_user', 'halt', 'manual', 'denied', 'approval_required']),
  message: z.string().optional(),
});

async function openFiles(
  files: readonly string[],
  execArgv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Session> {
  const child = fork(moduleOf('child'), [JSON.stringify(files)], {
    cwd,
    env,
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = once(child, 'exit');
  const close = async () => void (child.kill('SIGKILL'), await ended);
  const answerTo = async (wanted: string, ms: number): Promise<RunAnswer> => {
    const signal = AbortSignal.timeout(ms);
    try {
      for await (const [message] of on(child, 'message', { signal, close: ['exit'] })) {
        const { data } = answerSchema.safeParse(message);
        if (data?.id === wanted) return { status: data.status, message: data.message };
      }
    } catch {
      await close();
      return { status: 'error', message: `no answer within ${ms} ms` };
    }
    return {
      status: 'error',
      message: `its process ended with ${String((await ended).find(Boolean) ?? 0)}`,
    };
  };
  const { message } = await answerTo(READY.id, START_MS);
  if (message !== undefined)
    throw new ToolError('NOT_A_TOOL', `The tools couldn't be loaded for the audit: ${message}.`);
  const call = (request: RunRequest) => {
    if (child.connected) child.send(request);
    return answerTo(request.id, request.timeoutMs + LATE_MS);
  };
  return { call, close };
}

/** Returns environment variables that keep a process out of the user's own folders. */
export const homeIn = (home: string, temporary: string) => ({
  HOME: home,
  USERPROFILE: home,
  TMPDIR: temporary,
  TMP: temporary,
  TEMP: temporary,
});

/** Starts an MCP server and lists its tools. The caller must close the discovery. */
export async function startServer(command: {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}): Promise<
  { readonly discovery: McpDiscovery } & (
    { readonly tools: readonly unknown[] } | { readonly error: string }
  )
> {
  const audited = { ...command, trusted: true, max_tools: 10_000 };
  const discovery = new McpDiscovery({ enabled: true, servers: { audited } }, { env: {} });
  await discovery.refresh();
  const [listing = { error: 'none' }] = discovery.rawListings();
  return { discovery, ...listing };
}

async function openServer(
  args: readonly string[],
  { root: cwd, record }: Scratch,
  env: Readonly<Record<string, string>>,
): Promise<Session> {
  const { discovery, ...listing } = await startServer({
    command: process.execPath,
    args,
    env,
    cwd,
  });
  if ('error' in listing || statSync(record).size === 0) {
    await discovery.close();
    throw new ToolError(
      'PROVIDER_UNAVAILABLE',
      expectedGot(
        'a server in Node that lists its tools',
        'error' in listing ? listing.error : 'a server that starts without the recorder',
      ),
    );
  }
  const entries = discovery.definitions().map(entryOf);
  const call = async (request: RunRequest): Promise<RunAnswer> => {
    const entry = entries.find(({ providers }) => providers[0]!.config?.['tool'] === request.name);
    return entry === undefined
      ? { status: 'error', message: 'the server no longer lists it' }
      : callOnce(entry.definition, request);
  };
  return { entries, call, close: () => discovery.close() };
}
