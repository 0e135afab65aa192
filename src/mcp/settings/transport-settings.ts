import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { describeValue } from '../../core/plain-data.js';
import type { McpTransportSettings } from './mcp-settings.js';
import { programArguments, text, textsByName, type FieldReader } from './setting-fields.js';

type Kind = McpTransportSettings['kind'];

/** The names of transports in the files of different programs. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['stdio', 'stdio'],
  ['local', 'stdio'],
  ['http', 'http'],
  ['https', 'http'],
  ['streamable-http', 'http'],
  ['streamable_http', 'http'],
  ['streamablehttp', 'http'],
  ['sse', 'sse'],
  ['websocket', 'websocket'],
  ['ws', 'websocket'],
  ['wss', 'websocket'],
]);

const PROTOCOLS: Readonly<Record<Exclude<Kind, 'stdio'>, readonly string[]>> = {
  http: ['http:', 'https:'],
  sse: ['http:', 'https:'],
  websocket: ['ws:', 'wss:'],
};

const variables = textsByName(/^[^=\0]{1,200}$/, 'an object of variables, each a text on one line');
/** Names as RFC 9110 allows them (§ 5.6.2). */
const headerLines = textsByName(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'an object of headers, each a text on one line');

/**
 * Reads how a server is reached: as `transport` or `type` says, or else by what is given, a command or an address.
 *
 * An unknown word is refused: taken for stdio it would start a program where an address was meant.
 */
export function readTransport(fields: FieldReader): McpTransportSettings | undefined {
  const kind = fields.read(transportKind, 'transport', 'type');
  const command = fields.readSecret(text, 'command', 'cmd');
  const args = fields.readSecret(programArguments, 'args', 'command_args');
  const env = fields.readSecret(variables, 'env');
  const cwd = fields.readSecret(text, 'cwd');
  const url = fields.readSecret(text, 'url', 'uri', 'serverUrl');
  const headers = fields.readSecret(headerLines, 'headers');

  if (fields.hasFaults) return undefined;

  const local = command !== undefined || args !== undefined || env !== undefined || cwd !== undefined;
  const remote = url !== undefined || headers !== undefined;
  if (local && remote) fields.fault('Expected a command (with args, env, cwd) or a url (with headers), got parts of both. Leave one out.');
  else if (kind === 'stdio' || (kind === undefined && local)) {
    if (command !== undefined) return { kind: 'stdio', command, args: args ?? [], env: env ?? {}, ...(cwd === undefined ? {} : { cwd }) };
    fields.fault('Expected a command for transport stdio, got none.', 'command');
  } else if (url === undefined) {
    fields.fault(kind === undefined ? 'Expected a command or a url, got neither.' : `Expected a url for transport ${kind}, got none.`, 'url');
  } else {
    const reached = kind ?? (/^wss?:/i.test(url) ? 'websocket' : 'http');
    // An address with variables is checked when they are known.
    const fault = url.includes('${') ? undefined : addressFault(url, reached);
    if (fault === undefined) return { kind: reached, url, headers: headers ?? {} };
    fields.fault(expectedGot(...fault), 'url');
  }
  return undefined;
}

/** The environment in which variables are looked up. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([^{}]{0,200})\}/g;
const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Fills in the variables of a text: `${NAME}`, `${env:NAME}`, and `${NAME:-default}` for one that may be missing.
 *
 * What a variable holds is taken as it is; references in it are not followed.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a variable that is not set, and for `${…}` of any other form.
 */
export function expandVariables(text: string, env: Environment): string {
  return text.replace(REFERENCE, (_, reference: string) => {
    const [, name, fallback] = VARIABLE.exec(reference) ?? [];
    if (name === undefined) throw new ToolError('INVALID_ARGUMENT', expectedGot('${NAME}, ${env:NAME} or ${NAME:-default} in the settings of an MCP server', 'another form of ${…}'));
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    throw new ToolError('INVALID_ARGUMENT', expectedGot(`the variable ${name} in the environment, as the settings of an MCP server ask for it`, 'none', 'Set it.'), { details: { variable: name } });
  });
}

/**
 * Fills in all variables of the settings by which a server is reached. The result is made for each connection and never kept: it
 * holds secrets.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `expandVariables`, and for an address that is wrong once its variables are known.
 */
export function expandTransport(transport: McpTransportSettings, env: Environment): McpTransportSettings {
  const expand = (text: string) => expandVariables(text, env);
  const expandAll = (texts: Readonly<Record<string, string>>) => Object.freeze(Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(text)])));
  if (transport.kind === 'stdio') {
    const { kind, command, args, cwd } = transport;
    return Object.freeze({ kind, command: expand(command), args: Object.freeze(args.map(expand)), env: expandAll(transport.env), ...(cwd === undefined ? {} : { cwd: expand(cwd) }) });
  }
  const url = expand(transport.url);
  const fault = addressFault(url, transport.kind);
  if (fault !== undefined) throw new ToolError('INVALID_ARGUMENT', expectedGot(`${fault[0]}, once the variables are filled in`, fault[1], 'Correct the url or its variables.'));
  const headers = expandAll(transport.headers);
  const broken = Object.entries(headers).find(([, value]) => /[\r\n\0]/.test(value));
  if (broken !== undefined) throw new ToolError('INVALID_ARGUMENT', expectedGot(`the header ${describeValue(broken[0])} on one line`, 'line breaks in a variable', 'Correct the variable.'));
  return Object.freeze({ kind: transport.kind, url, headers });
}

/** Returns what was expected of an address, what came, and what to do; the address itself, which may hold a secret, is not repeated. */
function addressFault(url: string, kind: Exclude<Kind, 'stdio'>): readonly [expected: string, got: string, advice?: string] | undefined {
  const allowed = PROTOCOLS[kind];
  const address = `an address that begins with ${allowed.join('// or ')}//`;
  if (!URL.canParse(url)) return [address, 'another text'];
  const { protocol, username, password } = new URL(url);
  if (!allowed.includes(protocol)) return [address, `${protocol}//`];
  return username === '' && password === '' ? undefined : ['an address without user name and password', 'one with them', 'Send them as a header.'];
}

function transportKind(value: unknown) {
  const kind = typeof value === 'string' ? KINDS.get(value.trim().toLowerCase()) : undefined;
  return kind === undefined ? { expected: 'a transport: stdio, http, sse or websocket' } : { value: kind };
}
