import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { describeValue } from '../../core/plain-data.js';

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

const PROTOCOLS: Readonly<Record<Exclude<Kind, 'stdio'>, readonly string[]>> = {
  http: ['http:', 'https:'],
  sse: ['http:', 'https:'],
  websocket: ['ws:', 'wss:'],
};

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
export function addressFault(
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
