import { execFile } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { aFunction, checkOptions, text, type FieldsOf } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { withoutSecrets } from '../../core/public-message.js';
import { readMcpSettings } from '../../mcp/settings/read-mcp-settings.js';
import type { Effect } from '../effect.js';
import { homeIn, startServer } from '../run/session.js';
import { runTools, type RunChoice, type RunOptions, type RunResult } from '../run/run-tools.js';
import {
  auditDeclared,
  knowledge,
  packageOf,
  runChoice,
  type AuditOptions,
  type AuditReport,
  type Skipped,
} from './audit-tools.js';
import { factsOfAnnotations, type DeclaredFacts } from './declared-facts.js';

/** Options for `auditMcpServer`. */
export interface McpAuditOptions extends Pick<AuditOptions, 'observed' | 'known' | 'onProgress'> {
  /** The folder in which files and packages are looked up. @default process.cwd() */
  readonly cwd?: string;
  /** The server's name, if the settings contain several servers. @default the only server */
  readonly name?: string;
  /**
   * The server's tools: the whole result of `tools/list`, or just its list. If you pass this, the
   * server isn't started.
   * @default the server is started to list its tools
   */
  readonly listing?: unknown;
  /**
   * Environment variables for the server's process, in addition to PATH. The process gets no other
   * variables, and its HOME is an empty folder.
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Installs a missing package into `~/.cache/tooldex/audit`, without running its scripts. @default
   * false
   */
  readonly install?: boolean;
  /**
   * Also calls each tool that claims to be read-only, with the examples in its schema. Starts the
   * server again for each tool, and confines it to a scratch folder.
   * @default no tool is called
   */
  readonly run?: Omit<RunChoice, 'files'>;
}

const optionsSchema = z.strictObject({
  cwd: text().optional(),
  name: z.string().optional(),
  known: knowledge.optional(),
  listing: z.unknown().optional(),
  env: z.record(z.string(), z.string()).optional(),
  install: z.boolean().optional(),
  observed: z.instanceof(Map<string, readonly Effect[]>).optional(),
  run: runChoice.omit({ files: true }).optional(),
  onProgress: aFunction<(doing: string) => void>().optional(),
} satisfies FieldsOf<McpAuditOptions>);

type Progress = AuditOptions['onProgress'] | undefined;

function refuse(expected: string, got: string, advice: string): never {
  throw new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

/** The command that starts a server. */
interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server's code, and the command that starts it. */
interface Installed {
  /** The folder of the server's package. */
  readonly folder: string;
  /** The file that starts the server, relative to the folder. */
  readonly entry: string;
  readonly start: Command;
}

/**
 * Compares the declarations of an MCP server's tools with the effects of the server's installed
 * code. Calls no tool unless `run` is set.
 *
 * To get the declarations from `tools/list`, the audit starts the server with an empty HOME and
 * without this process's environment variables. If you pass `listing`, the server isn't started.
 * The audit installs packages only if `install` is set. To find the package of an `npx` command,
 * the audit looks in `node_modules`, the global packages and npx's cache.
 *
 * @param server A folder, a file, a package name, a command (`npx -y some-server`, `node
 * server.js`), or settings as in `readMcpSettings`. Environment variables that look like API keys
 * get placeholder values.
 * @throws ToolError `INVALID_ARGUMENT` if the server isn't found, doesn't run on Node or doesn't
 * respond, or if the listing is invalid.
 */
export async function auditMcpServer(
  server: unknown,
  options: McpAuditOptions = {},
): Promise<AuditReport> {
  const {
    cwd = process.cwd(),
    env = {},
    install = false,
    known,
    listing,
    name: wanted,
    observed,
    run,
    onProgress,
  } = checkOptions(optionsSchema, options, 'options of auditMcpServer');
  const asked = commandOf(server, wanted);
  const installed = await findInstalled(asked, cwd, install, onProgress);
  const { folder, entry } = installed;
  const { name, version } = await packageOf(folder);
  const tools =
    listing === undefined
      ? await listTools(installed, { ...installed.start.env, ...env }, onProgress)
      : toolsIn(listing);
  const declared = new Map<string, DeclaredFacts>();
  const skipped: Skipped[] = [];
  for (const tool of tools) {
    if (isPlainObject(tool) && typeof tool['name'] === 'string' && !declared.has(tool['name']))
      declared.set(tool['name'], factsOfAnnotations(tool['annotations']));
    else
      skipped.push({
        name: isPlainObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : 'tools/list',
        reason: expectedGot(
          'tools with different names',
          'an entry without a name or with a duplicate name',
        ),
      });
  }
  const ran =
    run === undefined
      ? undefined
      : await runServer(
          installed,
          cwd,
          { ...installed.start.env, ...env },
          { ...run, code: folder, onProgress },
        );
  return auditDeclared(
    {
      kind: 'mcp-server',
      name: name ?? basename(folder),
      ...(version !== undefined && { version }),
      folder: relative(cwd, folder) || '.',
    },
    folder,
    [entry],
    declared,
    { known, observed, ran, onProgress, skipped },
  );
}

/**
 * Calls a server's tools. If an argument on the server's command line is a folder, each tool gets a
 * copy of that folder.
 */
async function runServer(
  { start: { command, args } }: Installed,
  cwd: string,
  env: Readonly<Record<string, string>>,
  options: RunOptions,
): Promise<RunResult> {
  if (!/^node(?:\.exe)?$/.test(basename(command)))
    throw invalidArgument('a server that runs with node', command, 'Pass its compiled file.');
  const root = args
    .slice(1)
    .map((word) => resolve(cwd, word))
    .find(isFolder);
  return runTools(
    undefined,
    {
      args: args.map((word, index) => (index > 0 && resolve(cwd, word) === root ? root : word)),
      env,
    },
    { ...options, root },
  );
}

function toolsIn(listing: unknown): readonly unknown[] {
  const tools = [
    listing,
    ...(isPlainObject(listing)
      ? [
          listing['tools'],
          isPlainObject(listing['result']) ? listing['result']['tools'] : undefined,
        ]
      : []),
  ].find(Array.isArray);
  if (tools === undefined)
    refuse('the result of tools/list', 'another value', 'Pass {"tools": […]}, or just the list.');
  return tools;
}

const WORDS = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

/**
 * Reads a server's command from a text or from settings. A single word is the name of a folder,
 * file or package.
 */
function commandOf(
  server: unknown,
  name: string | undefined,
): Command | { readonly place: string } {
  if (typeof server !== 'string') return commandIn(readMcpSettings(server).servers, name);
  const [command, ...args] = (server.match(WORDS) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'),
  );
  if (command === undefined)
    throw invalidArgument('an MCP server: a package, a folder, a command or settings', server);
  return args.length === 0 ? { place: command } : { command, args };
}

/** Matches variables that may contain keys. `STAND_IN` replaces their values. */
const SECRET = /\$\{|key|token|secret|passw|auth|credential/i;
const STAND_IN = 'audit';

const isKeyOf = (option = '') =>
  /^--?\w/.test(option) && !option.includes('=') && SECRET.test(option);
/** Returns the text with a placeholder for each part that looks like a key. */
const harmlessText = (value: string) => withoutSecrets(value).replaceAll('[secret]', STAND_IN);

function commandIn(
  servers: ReturnType<typeof readMcpSettings>['servers'],
  name: string | undefined,
): Command {
  const found =
    name === undefined
      ? servers.length === 1
        ? servers[0]
        : undefined
      : servers.find((each) => each.name === name);
  if (found === undefined)
    refuse(
      `the name of one of the servers ${servers.map((each) => JSON.stringify(each.name)).join(', ') || '(none)'}`,
      name === undefined ? 'none' : JSON.stringify(name),
      'Pass it as settings.json:name.',
    );
  if (found.transport.kind !== 'stdio')
    refuse(
      'a server that is started by a command',
      "a server over the network, whose code isn't here",
      'Pass its package or folder, and its tools with --listing.',
    );
  const { command, args, env, cwd } = found.transport;
  // Servers get placeholders for keys. A server that needs a key also starts with a made-up key.
  const harmless = Object.entries(env).map(([variable, value]) => [
    variable,
    SECRET.test(`${variable} ${value}`) ? STAND_IN : harmlessText(value),
  ]);
  return {
    command,
    args: args.map((each, index) =>
      isKeyOf(args[index - 1]) && !each.startsWith('-')
        ? STAND_IN
        : harmlessText(each.replace(/\$\{[^}]*\}/g, STAND_IN)),
    ),
    env: Object.fromEntries(harmless) as Record<string, string>,
    ...(cwd !== undefined && { cwd }),
  };
}

/** Programs that run a package, and the words that come before the package's name. */
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  bunx: [],
  pnpx: [],
  npm: ['exec', 'x'],
  pnpm: ['dlx', 'exec'],
  yarn: ['dlx', 'exec'],
  bun: ['x'],
};
const SCRIPT = /\.[cm]?[jt]sx?$/;

/** Finds the code of a server. @throws ToolError `INVALID_ARGUMENT` if it isn't found. */
async function findInstalled(
  asked: Command | { readonly place: string },
  cwd: string,
  install: boolean,
  onProgress: Progress,
): Promise<Installed> {
  if ('place' in asked) {
    const path = resolve(cwd, asked.place);
    if (isFile(path)) return ofScript(path, { command: process.execPath, args: [path] });
    if (isFolder(path)) return ofPackage(path, [], {});
    return asked.place.startsWith('.') || asked.place.startsWith('/')
      ? missing(asked.place)
      : ofName(asked.place, [], {}, cwd, install, onProgress);
  }
  const { command, args } = asked;
  const from = resolve(cwd, asked.cwd ?? '.');
  const program = basename(command).replace(/\.(?:cmd|exe)$/, '');
  const verbs = RUNNERS[program];
  if (verbs !== undefined) {
    const { spec, bin, rest } = packageIn(verbs.includes(args[0]!) ? args.slice(1) : args);
    if (spec === undefined) throw invalidArgument(`a package after ${program}`, args.join(' '));
    return ofName(spec, rest, asked, from, install, onProgress, bin);
  }
  const script = args.findIndex(
    (each) => SCRIPT.test(each) || (!each.startsWith('-') && isFile(resolve(from, each))),
  );
  if (/^(?:node|tsx|ts-node|bun|deno)$/.test(program)) {
    if (script === -1) throw invalidArgument(`a file after ${program}`, args.join(' '));
    const path = resolve(from, args[script]!);
    if (!isFile(path)) return missing(args[script]!);
    return ofScript(realpathSync(path), {
      ...asked,
      cwd: from,
      args: args.map((each, index) => (index === script ? path : each)),
    });
  }
  const folders = command.includes('/')
    ? ['.']
    : ['node_modules/.bin', ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => resolve(from, folder, command)).find(isFile);
  const real = found === undefined ? missing(command) : realpathSync(found);
  if (!SCRIPT.test(real) && !/^#!.*\bnode\b/.test(await readFile(real, 'latin1')))
    refuse(
      'a server made for Node',
      `the program ${JSON.stringify(command)}`,
      'Only TypeScript and JavaScript code can be read.',
    );
  return ofScript(real, { ...asked, command: process.execPath, args: [real, ...args] });
}

const isFile = (path: string) => existsSync(path) && statSync(path).isFile();
const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory();

function missing(place: string): never {
  refuse(
    'the code of an MCP server',
    `nothing at ${JSON.stringify(place)}`,
    'Pass its folder, its file, an installed package or the command that starts it. Build compiled code first.',
  );
}

/**
 * Parses the words after `npx`: the package, its program if that has a different name, and the
 * server's arguments.
 */
function packageIn(words: readonly string[]): {
  readonly spec: string | undefined;
  readonly bin?: string;
  readonly rest: readonly string[];
} {
  let spec: string | undefined;
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!;
    const [, given] = /^--package=(.+)$/.exec(word) ?? [];
    if (given !== undefined) spec = given;
    else if (word === '-p' || word === '--package') spec = words[++index];
    else if (word === '--' || word.startsWith('-')) continue;
    else
      return spec === undefined
        ? { spec: word, rest: words.slice(index + 1) }
        : { spec, bin: word, rest: words.slice(index + 1) };
  }
  return { spec, rest: [] };
}

/**
 * Finds the nearest installed package with the given name. If no such package is installed,
 * installs it, provided `install` is set.
 */
async function ofName(
  spec: string,
  args: readonly string[],
  asked: Partial<Command>,
  cwd: string,
  install: boolean,
  onProgress: Progress,
  bin?: string,
): Promise<Installed> {
  const name = spec.replace(/(?<=.)@[^/]*$/, '');
  if (!/^(?:@\w[\w.-]*\/)?\w[\w.-]*$/.test(name))
    throw invalidArgument('the name of a package', spec);
  const above: string[] = [];
  for (
    let folder = resolve(cwd);
    !above.includes(join(folder, 'node_modules'));
    folder = dirname(folder)
  )
    above.push(join(folder, 'node_modules'));
  const cache = join(process.env['npm_config_cache'] ?? join(homedir(), '.npm'), '_npx');
  const fetched = (await readdir(cache).catch(() => [])).map((each) =>
    join(cache, each, 'node_modules'),
  );
  const wanted = /(?<=.)@(\d[^/]*)$/.exec(spec)?.[1];
  for (const modules of [
    ...above,
    join(dirname(process.execPath), '../lib/node_modules'),
    ...fetched,
  ]) {
    const folder = join(modules, name);
    if (!existsSync(join(folder, 'package.json'))) continue;
    if (wanted === undefined || (await packageOf(folder)).version === wanted)
      return ofPackage(realpathSync(folder), args, asked, bin);
  }
  if (!install)
    refuse(
      `the package ${spec} to be installed`,
      'no installed package with that name',
      `Nothing is installed without your consent: add --install, or run npm install ${spec}.`,
    );
  // On Windows, npm is started through a shell, so the version must not contain shell syntax.
  if (!/^[\w.*+~^-]*$/.test(spec.slice(name.length + 1)))
    throw invalidArgument('a package with a version or a tag, to be installed', spec);
  const prefix = join(homedir(), '.cache/tooldex/audit', spec.replace(/[^\w.@-]/g, '+'));
  onProgress?.(`installing ${spec}`);
  await mkdir(prefix, { recursive: true });
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await promisify(execFile)(
    npm,
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', prefix, spec],
    { shell: process.platform === 'win32' },
  ).catch((cause: unknown) => {
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(`a package ${spec} that npm can install`, 'an error from npm'),
      { cause },
    );
  });
  return ofPackage(realpathSync(join(prefix, 'node_modules', name)), args, asked, bin);
}

/** Returns the program that a package declares, or the package's main file if there is none. */
async function ofPackage(
  folder: string,
  args: readonly string[],
  { env, cwd }: Partial<Command>,
  wanted?: string,
): Promise<Installed> {
  const { name = '', bin, main } = await packageOf(folder);
  const bins = typeof bin === 'string' ? { [basename(name)]: bin } : isPlainObject(bin) ? bin : {};
  const file = [bins[wanted ?? basename(name)], Object.values(bins)[0], main, 'index.js'].find(
    (each) => typeof each === 'string',
  );
  const path = resolve(folder, String(file));
  if (!path.startsWith(folder + sep) || !isFile(path))
    return missing(relative(process.cwd(), path));
  return {
    folder,
    entry: relative(folder, path),
    start: {
      command: process.execPath,
      args: [path, ...args],
      ...(env && { env }),
      ...(cwd !== undefined && { cwd }),
    },
  };
}

/** A script belongs to the package of the nearest `package.json` above it. */
function ofScript(path: string, start: Command): Installed {
  let folder = dirname(path);
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder)
    folder = dirname(folder);
  if (!existsSync(join(folder, 'package.json'))) folder = dirname(path);
  return { folder, entry: relative(folder, path), start };
}

/**
 * Starts a server and lists its tools. The server gets an empty home folder, and only PATH and the
 * given environment variables.
 */
async function listTools(
  { start, folder, entry }: Installed,
  env: Readonly<Record<string, string>>,
  onProgress: Progress,
): Promise<readonly unknown[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'tooldex-audit-'));
  onProgress?.(
    `starting ${basename(folder)}/${entry} to list its tools, without keys and with an empty home`,
  );
  const { command, args, cwd = scratch } = start;
  try {
    const own = { ...homeIn(scratch, scratch), ...env };
    const server = await startServer({ command, args, cwd, env: own });
    await server.discovery.close();
    if ('tools' in server) return server.tools;
    return refuse(
      'a server that lists its tools',
      `an error: ${server.error}`,
      'If it needs keys, start it yourself, and pass its response to tools/list with --listing <file>.',
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
