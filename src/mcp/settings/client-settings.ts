import { isPlainObject } from '../../core/plain-data.js';
import { flag, names, type FieldReader, type Parser } from './setting-fields.js';

/*
 * What the settings of other programs look like: Claude Desktop, Claude Code, Cursor, VS Code, Copilot, Cline, Roo Code, Kiro,
 * Windsurf, Gemini CLI, LM Studio, Zed, Codex, opencode, Goose, Continue, Amp, Crush, Warp. The table for users is in docs/mcp.md.
 */

const UNUSED = '';
const NO_SANDBOX = 'The server runs without a sandbox.';
const NO_GOOGLE = 'Send a token in "headers".';

/** The settings of a server in other programs that are not used here: what to do instead, or nothing where they change nothing. */
export const FOREIGN_SERVER_KEYS: Readonly<Record<string, string>> = Object.freeze({
  ...Object.fromEntries(
    [
      'description',
      'title',
      'icon',
      'gallery',
      'dev',
      'watchPaths',
      'alwaysLoad',
      'extension',
      'settings',
      'note',
      '$schema',
      'bundled',
      'display_name',
      'name',
      'required',
      'schema',
      'start_on_launch',
      'startup_timeout_sec',
    ].map((key) => [key, UNUSED]),
  ),
  headersHelper: 'It is not run: write "headers".',
  requestOptions: 'Write "headers".',
  env_keys: 'Write "env": {"NAME": "${NAME}"}.',
  default_tools_approval_mode: 'Say in "tools" what they may do.',
  ...Object.fromEntries(['sandbox', 'sandboxEnabled'].map((key) => [key, NO_SANDBOX])),
  ...Object.fromEntries(
    ['authProviderType', 'targetAudience', 'targetServiceAccount'].map((key) => [key, NO_GOOGLE]),
  ),
});

/** The settings beside the servers in other programs. */
export const FOREIGN_TOP_KEYS: Readonly<Record<string, string>> = Object.freeze({
  ...Object.fromEntries(
    ['$schema', 'globalShortcut', 'preferences', 'name', 'version', 'schema'].map((key) => [
      key,
      UNUSED,
    ]),
  ),
  mcp: 'Switch servers off by "disabled".',
  sandbox: NO_SANDBOX,
});

/** Names as clients write them, such as `github.com/owner/repo`, in ours: a dot would make `mcp.a.b.c` a tool of `a` or of `a.b`. */
export function serverNameOf(written: string): string {
  return written
    .trim()
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .slice(0, 64);
}

/** Returns settings in their usual form: the servers of VS Code, opencode and Crush are in `mcp`, those of Continue are a list, and Goose has them among its extensions. */
export function usualForm(input: unknown): unknown {
  if (!isPlainObject(input)) return input;
  const { mcp, mcpServers, extensions, ...rest } = input;
  if (Array.isArray(mcpServers)) {
    const names = mcpServers.map((server: unknown) =>
      isPlainObject(server) && typeof server['name'] === 'string' ? server['name'] : 'server',
    );
    return {
      ...input,
      mcpServers: Object.fromEntries(
        names.map((name, index) => [
          names.indexOf(name) === index ? name : `${name}-${index + 1}`,
          mcpServers[index] as unknown,
        ]),
      ),
    };
  }
  if ((mcpServers ?? input['servers']) !== undefined) return input;
  if (isPlainObject(mcp)) {
    if (isPlainObject(mcp['servers']))
      return {
        ...rest,
        mcpServers: mcp['servers'],
        ...(mcp['inputs'] !== undefined && { inputs: mcp['inputs'] }),
      };
    if (
      Object.values(mcp).some(
        (server) => isPlainObject(server) && (server['command'] ?? server['url']) !== undefined,
      )
    )
      return { ...rest, mcpServers: mcp };
  }
  return isPlainObject(extensions) &&
    Object.values(extensions).some((each) => isPlainObject(each) && each['type'] !== undefined)
    ? { ...rest, mcpServers: extensions }
    : input;
}

/** Types of servers that are parts of the programs whose files have them. */
export const BUILT_IN: ReadonlySet<unknown> = new Set([
  'builtin',
  'platform',
  'frontend',
  'inline_python',
]);

/** Returns the settings of a server in their usual form; Zed had the program as an object, opencode has it as a list, and Codex names variables for what it sends. */
export function unwrapped(settings: unknown): unknown {
  if (!isPlainObject(settings)) return settings;
  const {
    command,
    bearer_token_env_var: token,
    env_http_headers: named,
    env_vars: passed,
    ...rest
  } = settings;
  const both = (key: string, ...more: readonly (readonly [string, string])[]) =>
    more.length === 0
      ? {}
      : { [key]: { ...Object.fromEntries(more), ...(isPlainObject(rest[key]) ? rest[key] : {}) } };
  const headers = [
    ...(typeof token === 'string' ? [['Authorization', `Bearer \${${token}}`] as const] : []),
    ...Object.entries(isPlainObject(named) ? named : {}).map(
      ([name, variable]) => [name, `\${${String(variable)}}`] as const,
    ),
  ];
  const program = Array.isArray(command)
    ? { command: command[0] as unknown, args: command.slice(1) }
    : isPlainObject(command)
      ? { ...command, command: command['path'], path: undefined }
      : command === undefined
        ? {}
        : { command };
  return {
    ...rest,
    ...both('http_headers', ...headers),
    ...both(
      'env',
      ...(Array.isArray(passed) ? passed : [])
        .filter((name) => typeof name === 'string')
        .map((name: string) => [name, `\${${name}:-}`] as const),
    ),
    ...program,
  };
}

const approvals: Parser<readonly string[]> = (value) => {
  const all = flag(value);
  return 'value' in all && typeof value !== 'number'
    ? { value: all.value ? ['*'] : [] }
    : names(value, '');
};

/** Reads the names of tools that a file wants to run without approval, in the words of other programs; all with `trust`. */
export function readApprovals(fields: FieldReader): readonly string[] {
  return [
    fields.read(approvals, 'auto_approve'),
    fields.read(approvals, 'always_allow'),
    fields.read(approvals, 'trust'),
  ].flatMap((each) => each ?? []);
}
