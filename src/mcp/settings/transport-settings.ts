import { ToolError, type Issue } from '../../core/errors.js';
import { expectedGot, refusal } from '../../core/issues.js';
import type { ServerValues } from './settings-schema.js';
import { without } from '../../core/plain-data.js';

/**
 * Settings for reaching a server. `${NAME}` in a value is replaced by an environment variable; see
 * `expandVariables`.
 */
export type McpTransportSettings =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /**
       * The environment variables that the server's process gets. It also gets a few harmless
       * variables such as PATH.
       */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
      /** A file of further environment variables for the process, in lines `NAME=value`. */
      readonly envFile?: string;
    }
  | {
      readonly kind: 'http' | 'sse' | 'websocket';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /**
       * Settings for the program's login. @default determined by the server, after `tooldex mcp
       * login`
       */
      readonly oauth?: McpOAuthSettings;
      /**
       * True if the settings don't say if the server uses streamable HTTP or the transport before it.
       * @default false
       */
      readonly mayBeSse?: boolean;
    };

/**
 * Settings for a program's login at an MCP server's authorization server. Everything is optional,
 * because servers specify where to log in.
 */
export interface McpOAuthSettings {
  /**
   * The way to obtain the token: `authorization_code` lets a user approve in a browser,
   * `client_credentials` uses the program's own secret.
   * @default authorization_code
   */
  readonly grant: 'authorization_code' | 'client_credentials';
  /** The program's client id at the authorization server. @default the program registers itself */
  readonly clientId?: string;
  /** The environment variable that contains the program's secret. @default the program has none */
  readonly clientSecretEnv?: string;
  /**
   * The environment variable that contains the program's private key (PEM), which signs its requests
   * for tokens in place of a secret.
   * @default the program has none
   */
  readonly clientKeyEnv?: string;
  /** The algorithm of the signature. @default ES256 */
  readonly signingAlgorithm?: string;
  /**
   * The URL of a document that describes this program, for authorization servers that read it.
   * @default none
   */
  readonly clientMetadataUrl?: string;
  /**
   * The only authorization server that is used.
   * @default the one that the server specifies at login
   */
  readonly issuer?: string;
  /** The scopes to request. @default those that the server specifies */
  readonly scopes: readonly string[];
  /** The port that the browser is redirected to. @default any free port */
  readonly callbackPort?: number;
}

type Kind = McpTransportSettings['kind'];
type Texts = Readonly<Record<string, string>>;

/**
 * Returns how to reach a server.
 * @throws ToolError `INVALID_ARGUMENT` if its settings are invalid.
 */
export function transportOf({
  transport,
  type,
  command,
  args = [],
  env = {},
  cwd,
  envFile,
  url,
  headers = {},
  oauth,
}: ServerValues): McpTransportSettings {
  const wrong = (message: string, ...path: Issue['path']) =>
    refusal('Invalid settings of the server', [{ path, message }]);
  const kind =
    transport ?? type ?? (url === undefined ? 'stdio' : /^wss?:/i.test(url) ? 'websocket' : 'http');
  if (command !== undefined && url !== undefined)
    throw wrong('Set a command or a url, but not both.', 'url');
  if (kind === 'stdio') {
    if (command === undefined) throw wrong('Set a command or a url.');
    return { kind, command, args, env, ...without({ cwd, envFile }) };
  }
  if (url === undefined) throw wrong(`Set a url for the transport ${kind}.`);
  // A URL with variables can only be checked once they're filled in.
  if (!url.includes('${') && !isAddressFor(kind, url))
    throw wrong(expectedGot(addressOf(kind), 'a string'), 'url');
  const mayBeSse =
    (transport ?? type) === undefined && kind === 'http' && /\/sse\/?(?:\?|$)/.test(url);
  return {
    ...{ kind, url, headers },
    ...(oauth && { oauth: without(oauth) }),
    ...(mayBeSse && { mayBeSse }),
  };
}

/** The environment in which variables are looked up. */
export type EnvVariables = Readonly<Record<string, string | undefined>>;

const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
/**
 * A VS Code input. VS Code asks the user for the value; this library reads the environment variable
 * `INPUT_<ID>`.
 */
const INPUT = /^input:([A-Za-z0-9_.-]{1,100})$/;

/** Returns the name of the environment variable for a VS Code input. */
function inputVariable(id: string): string {
  return `INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/**
 * Fills in the variables in a text: `${NAME}`, `${env:NAME}`, `${NAME:-default}` with a default,
 * and `${input:some-id}` from `INPUT_SOME_ID`. `${…}` inside a variable's value isn't expanded.
 *
 * @param onValue Called with each value that is filled in.
 * @throws ToolError `INVALID_ARGUMENT` for a variable that isn't set, and for `${…}` in any form
 * not listed above.
 */
export function expandVariables(
  text: string,
  env: EnvVariables,
  onValue?: (value: string) => void,
): string {
  return text.replace(/\$\{([^{}]{0,200})\}/g, (_, reference: string) => {
    const input = INPUT.exec(reference)?.[1];
    const [, name, fallback] =
      input === undefined ? (VARIABLE.exec(reference) ?? []) : [input, inputVariable(input)];
    if (name === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          '${NAME}, ${env:NAME} or ${NAME:-default} in the settings of an MCP server',
          JSON.stringify(`\${${reference}}`),
        ),
      );
    const value = (Object.hasOwn(env, name) && env[name]) || fallback;
    if (value === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The settings of an MCP server use the environment variable ${name}, which isn't set. Set it.`,
        { details: { variable: name } },
      );
    onValue?.(value);
    return value;
  });
}

/**
 * Fills in all variables in the settings for reaching a server. The result contains secrets, so
 * it's created for each connection and never stored.
 *
 * @returns also the secrets: all values that were filled in, the values in `env`, and each header's
 * whole value and its words.
 * @throws ToolError `INVALID_ARGUMENT` like `expandVariables`, and if a URL or header is invalid
 * with its variables filled in.
 */
export function expandTransport(
  transport: McpTransportSettings,
  env: EnvVariables,
): { readonly settings: McpTransportSettings; readonly secrets: readonly string[] } {
  const secrets: string[] = [];
  const expand = (text: string) => expandVariables(text, env, (value) => secrets.push(value));
  const expandAll = (texts: Texts) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => {
        const value = expand(text);
        secrets.push(value, ...value.split(/\s+/));
        return [name, value];
      }),
    );
  if (transport.kind === 'stdio') {
    const { kind, command, args, cwd, envFile } = transport;
    const settings = {
      kind,
      command: expand(command),
      args: args.map(expand),
      env: expandAll(transport.env),
      ...without({ cwd: cwd && expand(cwd), envFile: envFile && expand(envFile) }),
    };
    return { settings, secrets };
  }
  const url = expand(transport.url);
  if (!isAddressFor(transport.kind, url))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The url isn't ${addressOf(transport.kind)} once its variables are filled in. Correct the url or its variables.`,
    );
  const headers = expandAll(transport.headers);
  return { settings: { ...transport, url, headers }, secrets };
}

const addressOf = (kind: Kind) =>
  `an address that begins with ${kind === 'websocket' ? 'ws:// or wss://' : 'http:// or https://'} and has no user name or password (send them as a header)`;

function isAddressFor(kind: Kind, url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  const allowed = kind === 'websocket' ? /^wss?:$/ : /^https?:$/;
  return allowed.test(protocol) && username === '' && password === '';
}
