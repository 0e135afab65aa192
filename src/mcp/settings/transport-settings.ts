import { ToolError } from '../../core/errors.js';
import { expectedGot, kindOf } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import {
  countUpTo,
  label,
  oneOf,
  scopes,
  type FieldReader,
  type Parser,
} from './setting-fields.js';
import { without } from './tool-settings.js';

/** The way in which a server is reached. `${NAME}` in a value stands for a variable of the environment, see `expandVariables`. */
export type McpTransportSettings =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /** The variables that the server's process gets beside a short list of harmless ones. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
      /** A file of lines `NAME=value`, whose variables the process gets too. */
      readonly envFile?: string;
    }
  | {
      readonly kind: 'http' | 'sse' | 'websocket';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The way in which this program logs in there. @default as the server says, after `tooldex mcp login` */
      readonly oauth?: McpOAuthSettings;
    };

/** The way in which a program logs in at the authorization server of an MCP server. All is optional: servers say where to log in. */
export interface McpOAuthSettings {
  /** The way to a token: a user approves in a browser, or the program has a secret of its own. @default authorization_code */
  readonly grant: 'authorization_code' | 'client_credentials';
  /** The name of this program at the authorization server. @default it registers itself */
  readonly clientId?: string;
  /** The variable of the environment that holds the program's secret. @default the program has none */
  readonly clientSecretEnv?: string;
  /** The address of a document that describes this program, for authorization servers that read it. @default none */
  readonly clientMetadataUrl?: string;
  /** The only authorization server that is used. @default the one that the server names at the login */
  readonly issuer?: string;
  /** The scopes to ask for. @default those that the server names */
  readonly scopes: readonly string[];
  /** The port at which the browser comes back. @default any that is free */
  readonly callbackPort?: number;
}

type Kind = McpTransportSettings['kind'];

/** The names of transports in the files of different programs. */
const KINDS: Readonly<Record<Kind, readonly unknown[]>> = {
  stdio: ['stdio', 'local'],
  http: ['http', 'https', 'streamable-http', 'streamable_http', 'streamablehttp', 'remote'],
  sse: ['sse'],
  websocket: ['websocket', 'ws', 'wss'],
};

const PROTOCOLS: Readonly<Record<Exclude<Kind, 'stdio'>, readonly string[]>> = {
  http: ['http:', 'https:'],
  sse: ['http:', 'https:'],
  websocket: ['ws:', 'wss:'],
};

const transportKind: Parser<Kind> = (value) => {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  const kind = (Object.keys(KINDS) as Kind[]).find((each) => KINDS[each].includes(word));
  return kind === undefined
    ? { expected: 'a transport: stdio, http, sse or websocket' }
    : { value: kind };
};

const line: Parser<string> = (value) => {
  const fits =
    typeof value === 'string' && value.trim() !== '' && value.length <= LIMITS.sentenceLength;
  return fits
    ? { value: value.trim() }
    : {
        secret: true,
        expected: `a text that is not blank, of at most ${LIMITS.sentenceLength} characters`,
      };
};

/** Reads arguments of a program as a list, or as one text that is split at blanks outside of quotes. */
const programArguments: Parser<readonly string[]> = (value) => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return { value: [...value] };
  const isClosed = typeof value === 'string' && !/["']/.test(value.replace(/"[^"]*"|'[^']*'/g, ''));
  if (!isClosed)
    return {
      secret: true,
      expected: 'a list of arguments, or one text with blanks between them and every quote closed',
    };
  const words = value.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return { value: words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2')) };
};

/** Makes a parser for texts by name; a number or a boolean counts as its text. */
function textsByName(name: RegExp, expected: string): Parser<Readonly<Record<string, string>>> {
  return (value) => {
    const members = isPlainObject(value) ? Object.entries(value) : undefined;
    // Line breaks and null bytes would end a header or a variable and begin another.
    const fits = members?.every(
      ([key, item]) =>
        name.test(key) &&
        ['string', 'number', 'boolean'].includes(typeof item) &&
        !/[\r\n\0]/.test(String(item)),
    );
    return fits === true
      ? { value: Object.fromEntries(members!.map(([key, item]) => [key, String(item)])) }
      : { secret: true, expected };
  };
}

const variables = textsByName(/^[^=\0]{1,200}$/, 'an object of variables, each a text on one line');
/** Names as RFC 9110 allows them (§ 5.6.2). */
const headerLines = textsByName(
  /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/,
  'an object of headers, each a text on one line',
);

/** Variables as other programs write them. */
const OTHER_VARIABLE = /^\$[A-Za-z_]\w*$|(?<!\$)\{env:|\$\{\{|\$\(/;

/**
 * Reads how a server is reached: as `transport` or `type` says, or else by what is given, a command or an address.
 *
 * An unknown word is refused: taken for stdio it would start a program where an address was meant.
 */
export function readTransport(fields: FieldReader): McpTransportSettings | undefined {
  const kind = fields.read(transportKind, 'transport', 'type', 'transport_type');
  const command = fields.read(line, 'command', 'cmd');
  const args = fields.read(programArguments, 'args', 'command_args');
  const env = fields.read(variables, 'env', 'envs', 'environment');
  const cwd = fields.read(line, 'cwd', 'working_directory');
  const envFile = fields.read(line, 'env_file');
  const url = fields.read(line, 'url', 'uri', 'serverUrl', 'httpUrl');
  const headers = fields.read(headerLines, 'headers', 'http_headers');
  const oauth = readOAuth(fields);

  if (fields.hasFaults) return undefined;

  const local = { args, env, cwd, envFile };
  const isLocal =
    kind === 'stdio' ||
    (kind === undefined &&
      url === undefined &&
      (command !== undefined || Object.values(local).some((each) => each !== undefined)));
  // Files of other programs have an empty env beside a url, and the like.
  for (const [name, value] of Object.entries(isLocal ? { headers, oauth } : local))
    if (value !== undefined && (url ?? command) !== undefined)
      fields.warn(
        expectedGot(
          `no ${name} beside ${isLocal ? 'a command' : 'a url'}`,
          'some, which are not used',
          'Leave them out.',
        ),
        name,
      );
  for (const [name, text] of Object.entries({ ...env, ...headers }))
    if (OTHER_VARIABLE.test(text))
      fields.warn(
        expectedGot('a variable written as ${NAME}', 'another form, which is sent as it is'),
        env !== undefined && name in env ? 'env' : 'headers',
        name,
      );
  if (command !== undefined && url !== undefined)
    fields.fault(
      'Expected a command (with args, env, cwd) or a url (with headers), got parts of both. Leave one out.',
    );
  else if (isLocal) {
    if (command !== undefined)
      return {
        kind: 'stdio',
        command,
        args: args ?? [],
        env: env ?? {},
        ...(cwd === undefined ? {} : { cwd }),
        ...(envFile === undefined ? {} : { envFile }),
      };
    fields.fault('Expected a command for transport stdio, got none.', 'command');
  } else if (url === undefined) {
    fields.fault(
      kind === undefined
        ? 'Expected a command or a url, got neither.'
        : `Expected a url for transport ${kind}, got none.`,
      'url',
    );
  } else {
    const reached = kind ?? (/^wss?:/i.test(url) ? 'websocket' : 'http');
    // An address with variables is checked when they are known.
    const fault = url.includes('${') ? undefined : addressFault(url, reached);
    if (fault === undefined)
      return {
        kind: reached,
        url,
        headers: headers ?? {},
        ...(oauth === undefined ? {} : { oauth }),
      };
    fields.fault(expectedGot(...fault), 'url');
  }
  return undefined;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;
const variable: Parser<string> = (value) =>
  typeof value === 'string' && NAME.test(value.trim())
    ? { value: value.trim() }
    : { secret: true, expected: 'the name of a variable' };
const webAddress: Parser<string> = (value) =>
  typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
    ? { value }
    : { expected: 'an http or https address' };

const SECRET_IN_FILE = 'Put it into a variable, and name that in "client_secret_env".';
/** The settings of a login in other programs. */
const FOREIGN_LOGIN_KEYS: Readonly<Record<string, string>> = Object.freeze({
  enabled: '',
  ...Object.fromEntries(
    ['client_secret', 'clientSecret', 'CLIENT_SECRET'].map((key) => [key, SECRET_IN_FILE]),
  ),
  ...Object.fromEntries(
    ['authorizationUrl', 'tokenUrl', 'authServerMetadataUrl'].map((key) => [
      key,
      'The server says where to log in; "issuer" limits it.',
    ]),
  ),
});

/** Reads how a program logs in at a server; `undefined` where nothing is said. */
function readOAuth(fields: FieldReader): McpOAuthSettings | undefined {
  const given = fields.raw('oauth');
  if (given === undefined || given.value === false) return undefined;
  if (!isPlainObject(given.value)) {
    fields.warn(
      expectedGot('an object of settings', kindOf(given.value), 'It is not used.'),
      'oauth',
    );
    return undefined;
  }
  const inner = fields.inner(given.value, 'oauth');
  const clientId = inner.read(label, 'client_id');
  const clientSecretEnv = inner.read(variable, 'client_secret_env');
  const issuer = inner.read(webAddress, 'issuer');
  const clientMetadataUrl = inner.read(webAddress, 'client_metadata_url');
  const callbackPort = inner.read(countUpTo(65_535), 'callback_port');
  const grant =
    inner.read(
      oneOf<McpOAuthSettings['grant']>(['authorization_code', 'client_credentials']),
      'grant',
    ) ?? 'authorization_code';
  const asked = inner.read(scopes, 'scopes', 'scope') ?? [];
  inner.warnOfUnknown(FOREIGN_LOGIN_KEYS);
  // A server could name any authorization server, which would then be handed the secret.
  if (clientSecretEnv !== undefined && issuer === undefined)
    inner.fault(
      expectedGot(
        'an issuer beside client_secret_env',
        'none',
        'Name the authorization server that may get the secret.',
      ),
      'issuer',
    );
  if (clientSecretEnv !== undefined && clientId === undefined)
    inner.fault(expectedGot('a client_id beside client_secret_env', 'none'), 'client_id');
  if (grant === 'client_credentials' && clientSecretEnv === undefined)
    inner.fault(
      expectedGot('client_secret_env with the grant client_credentials', 'none'),
      'client_secret_env',
    );
  return {
    grant,
    scopes: asked,
    ...without({ clientId, clientSecretEnv, issuer, clientMetadataUrl, callbackPort }),
  };
}

/** The environment in which variables are looked up. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([^{}]{0,200})\}/g;
const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
/** An input of VS Code, for which that asks the user: here it is the variable `INPUT_<ID>`. */
const INPUT = /^input:([A-Za-z0-9_.-]{1,100})$/;

/** Returns the name of the variable that stands for an input of VS Code. */
export function inputVariable(id: string): string {
  return `INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/**
 * Fills in the variables of a text: `${NAME}`, `${env:NAME}`, `${NAME:-default}` for one that may be missing, and
 * `${input:some-id}` from `INPUT_SOME_ID`.
 *
 * The value of a variable is taken as it is; references in it are not followed.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a variable that is not set, and for `${…}` of any other form.
 */
export function expandVariables(text: string, env: Environment): string {
  return text.replace(REFERENCE, (_, reference: string) => {
    const input = INPUT.exec(reference)?.[1];
    const [, name, fallback] =
      input === undefined ? (VARIABLE.exec(reference) ?? []) : [input, inputVariable(input)];
    if (name === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          '${NAME}, ${env:NAME} or ${NAME:-default} in the settings of an MCP server',
          'another form of ${…}',
        ),
      );
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `the variable ${name} in the environment, as the settings of an MCP server ask for it`,
        'none',
        'Set it.',
      ),
      { details: { variable: name } },
    );
  });
}

/**
 * Fills in all variables of the settings by which a server is reached. The result is made for each connection and never kept: it
 * holds secrets.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `expandVariables`, and for an address that is wrong once its variables are known.
 */
export function expandTransport(
  transport: McpTransportSettings,
  env: Environment,
): McpTransportSettings {
  const expand = (text: string) => expandVariables(text, env);
  const expandAll = (texts: Readonly<Record<string, string>>) =>
    Object.freeze(
      Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(text)])),
    );
  if (transport.kind === 'stdio') {
    const { kind, command, args, cwd, envFile } = transport;
    return Object.freeze({
      kind,
      command: expand(command),
      args: Object.freeze(args.map(expand)),
      env: expandAll(transport.env),
      ...(cwd === undefined ? {} : { cwd: expand(cwd) }),
      ...(envFile === undefined ? {} : { envFile: expand(envFile) }),
    });
  }
  const url = expand(transport.url);
  const fault = addressFault(url, transport.kind);
  if (fault !== undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `${fault[0]}, once the variables are filled in`,
        fault[1],
        'Correct the url or its variables.',
      ),
    );
  const headers = expandAll(transport.headers);
  const broken = Object.entries(headers).find(([, value]) => /[\r\n\0]/.test(value));
  if (broken !== undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `the header ${describeValue(broken[0])} on one line`,
        'line breaks in a variable',
        'Correct the variable.',
      ),
    );
  return Object.freeze({ ...transport, url, headers });
}

/** An option of a program whose value is a secret, with the value or before it. */
const SECRET_OPTION = /^--?[\w-]*(?:key|token|secret|passw|auth|credential)[\w-]*(?:=(.*))?$/is;

/** Characters of a text that is taken for a secret: shorter ones stand in too many words. */
const LEAST_SECRET = 8;

/**
 * Makes a function that replaces what may be secret in settings: variables that were filled in, the values of a program's own
 * variables and of options such as `--api-key`, and those of headers.
 *
 * @param given the settings as they are written.
 * @param expanded the same with all their variables, and those of their file.
 */
export function hidingSecrets(
  given: McpTransportSettings,
  expanded: McpTransportSettings,
  env: Environment,
): (text: string) => string {
  const filledIn = (texts: readonly string[]) =>
    texts
      .flatMap((text) => text.match(REFERENCE) ?? [])
      .map((reference) => expandVariables(reference, env));
  const secrets =
    expanded.kind === 'stdio'
      ? [...Object.values(expanded.env), ...expanded.args.flatMap(valuesOfOptions)]
      : Object.values(expanded.headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const all = [...secrets, ...filledIn(given.kind === 'stdio' ? given.args : [given.url])]
    .filter(({ length }) => length >= LEAST_SECRET)
    .sort((a, b) => b.length - a.length);
  return (text) => all.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
}

function valuesOfOptions(arg: string, at: number, args: readonly string[]): readonly string[] {
  const option = SECRET_OPTION.exec(arg);
  return option === null ? [] : [option[1] ?? args[at + 1] ?? ''];
}

/** Returns what was expected of an address, what came, and what to do; the address itself, which may hold a secret, is not repeated. */
function addressFault(
  url: string,
  kind: Exclude<Kind, 'stdio'>,
): readonly [expected: string, got: string, advice?: string] | undefined {
  const allowed = PROTOCOLS[kind];
  const address = `an address that begins with ${allowed.join('// or ')}//`;
  if (!URL.canParse(url)) return [address, 'another text'];
  const { protocol, username, password } = new URL(url);
  if (!allowed.includes(protocol)) return [address, `${protocol}//`];
  return username === '' && password === ''
    ? undefined
    : ['an address without user name and password', 'one with them', 'Send them as a header.'];
}
