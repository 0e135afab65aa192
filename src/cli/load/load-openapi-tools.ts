import { resolve } from 'node:path';
import { toolsFromOpenApi } from '../../openapi/tools-from-openapi.js';
import { isToolError, ToolError } from '../../core/errors.js';
import type { ToolPlaces } from '../command/options.js';
import { report, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import type { LoadedTools } from '../../load/load-tools.js';

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
  ).catch((error: unknown) => {
    throw isToolError(error) ? new ToolError(error.code, withFlags(error.message)) : error;
  });
  const refused = findings.filter(({ kind }) => kind === 'refused');
  const [first] = findings.filter(({ kind }) => kind !== 'refused');
  if (first !== undefined) {
    const count = findings.length - refused.length;
    const what = `${count} about ${openapi}, such as ${first.operation}: ${withFlags(first.message)}`;
    report(terminal, 'yellow', 'findings', what);
  }
  const problems = refused.map(({ operation, message }) => ({
    file: operation,
    reason: withFlags(message),
  }));
  return { tools, problems, fileOf: new Map() };
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
