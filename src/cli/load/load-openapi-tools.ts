import { resolve } from 'node:path';
import { toolsFromOpenApi } from '../../openapi/tools-from-openapi.js';
import { isToolError, ToolError } from '../../core/errors.js';
import type { ToolPlaces } from '../command/options.js';
import { report, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import type { LoadedTools, LoadProblem } from '../../load/load-tools.js';

/**
 * Creates tools from the operations in an OpenAPI document. Operations that can't become tools are
 * reported as problems, and other findings are counted.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the document or an option is invalid, or a given
 * environment variable isn't set.
 */
export async function loadOpenApiTools({
  openapi,
  baseUrl,
  auth = [],
  terminal,
  cwd,
}: Pick<ToolPlaces, 'baseUrl' | 'auth'> & {
  readonly openapi: string;
  readonly terminal: Terminal;
  readonly cwd: string;
}): Promise<LoadedTools> {
  const { tools, findings } = await toolsFromOpenApi(
    /^https?:\/\//.test(openapi) ? openapi : resolve(cwd, openapi),
    {
      ...(baseUrl !== undefined && { baseUrl }),
      auth: Object.fromEntries(auth.map(credentialOf)),
    },
  ).catch(refuse);
  const problems: LoadProblem[] = [];
  const others: string[] = [];
  for (const { kind, operation, message } of findings) {
    const reason = withFlags(message);
    if (kind === 'refused') problems.push({ file: operation, reason });
    else others.push(`${operation}: ${reason}`);
  }
  if (others.length > 0)
    report(
      terminal,
      'yellow',
      'findings',
      `${others.length} about ${openapi}, such as ${others[0]}`,
    );
  return { tools, problems, fileOf: new Map() };
}

function refuse(error: unknown): never {
  throw isToolError(error) ? new ToolError(error.code, withFlags(error.message)) : error;
}

/** Returns a message with flags in place of the options of `toolsFromOpenApi`. */
function withFlags(message: string): string {
  return message
    .replace(/\b(?:options\.)?baseUrl\b/g, '--base-url')
    .replace(/\bSet auth for\b/, 'Pass --auth for');
}

/**
 * Parses `scheme=VARIABLE`. Returns the scheme and its credential. The variable contains a token or key, or `user:password` for basic
 * authentication.
 */
function credentialOf(text: string): [string, string] {
  const [, scheme, variable] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (!scheme || !variable)
    throw wrongUsage(`Expected --auth scheme=VARIABLE, got ${JSON.stringify(text)}.`);
  const value = process.env[variable];
  if (!value)
    throw wrongUsage(`--auth ${text} needs the environment variable ${variable}, which isn't set.`);
  return [scheme, value];
}
