import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import type { McpTransportSettings } from './mcp-settings.js';
import { addressFault } from './read-transport.js';

/** The environment that variables are looked for in. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([^{}]{0,200})\}/g;
const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * A text with its variables filled in: `${NAME}`, `${env:NAME}`, and `${NAME:-default}` for one that may be missing.
 *
 * What a variable holds is taken as it is; references in it are not followed.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a variable that is not set, and for `${…}` of any other form.
 */
export function expandVariables(text: string, env: Environment): string {
  return text.replace(REFERENCE, (_, reference: string) => {
    const [, name, fallback] = VARIABLE.exec(reference) ?? [];
    if (name === undefined) throw new ToolError('INVALID_ARGUMENT', 'expected ${NAME}, ${env:NAME} or ${NAME:-default} in the settings of an MCP server, found another form of ${…}');
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    throw new ToolError('INVALID_ARGUMENT', `expected the variable ${name} in the environment, as the settings of an MCP server ask for it, found none; set it`, { details: { variable: name } });
  });
}

/**
 * How to reach a server, with all variables filled in. Made for each connection and never kept: it holds secrets.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `expandVariables`, and when an address is none once its variables are known.
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
  if (fault !== undefined) throw new ToolError('INVALID_ARGUMENT', `expected ${fault}, once the variables are filled in; correct the url or its variables`);
  const headers = expandAll(transport.headers);
  const broken = Object.entries(headers).find(([, value]) => /[\r\n\0]/.test(value));
  if (broken !== undefined) throw new ToolError('INVALID_ARGUMENT', `expected the header ${describeValue(broken[0])} on one line, found line breaks in a variable; correct the variable`);
  return Object.freeze({ kind: transport.kind, url, headers });
}
