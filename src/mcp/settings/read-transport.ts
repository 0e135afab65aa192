import type { FieldReader } from './field-reader.js';
import type { McpTransportSettings } from './mcp-settings.js';
import { programArguments, text, textsByName } from './value-parsers.js';

type Kind = McpTransportSettings['kind'];

/** What transports are called, in the files of different programs. */
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
 * How a server is reached: as `transport` or `type` says, or else by what is given, a command or an address.
 *
 * A word nobody knows is refused: taken for stdio it would start a program where an address was meant.
 */
export function readTransport(fields: FieldReader): McpTransportSettings | undefined {
  const kind = fields.read({ transport: kindOf, type: kindOf });
  const command = fields.readSecret({ command: text, cmd: text });
  const args = fields.readSecret({ args: programArguments, command_args: programArguments, commandArgs: programArguments });
  const env = fields.readSecret({ env: variables });
  const cwd = fields.readSecret({ cwd: text });
  const url = fields.readSecret({ url: text, uri: text, serverUrl: text });
  const headers = fields.readSecret({ headers: headerLines });

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
    fields.fault(`Expected ${fault}.`, 'url');
  }
  return undefined;
}

/** What is expected of an address and not so; the address itself, which may hold a secret, is not repeated. */
export function addressFault(url: string, kind: Exclude<Kind, 'stdio'>): string | undefined {
  const allowed = PROTOCOLS[kind];
  if (!URL.canParse(url)) return `an address that begins with ${allowed.join('// or ')}//, got another text`;
  const { protocol, username, password } = new URL(url);
  if (!allowed.includes(protocol)) return `an address that begins with ${allowed.join('// or ')}//, got ${protocol}//`;
  return username === '' && password === '' ? undefined : 'an address without user name and password, got one with them; send them as a header';
}

function kindOf(value: unknown) {
  const kind = typeof value === 'string' ? KINDS.get(value.trim().toLowerCase()) : undefined;
  return kind === undefined ? { expected: 'a transport: stdio, http, sse or websocket' } : { value: kind };
}
