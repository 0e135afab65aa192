import { resolve } from 'node:path';
import { toolsFromOpenApi } from '../../openapi/tools-from-openapi.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolPlaces } from '../command/options.js';
import { paint, plainLine, type Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import type { LoadedRegistry } from './loaded-registry.js';

/**
 * Makes tools from the operations of an OpenAPI document. Operations without a tool are problems, and other findings are
 * counted.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the document or an option is wrong, or a named variable isn't set.
 */
export async function loadOpenApiTools({
  openapi,
  baseUrl,
  auth = [],
  terminal,
  cwd,
}: Partial<Pick<ToolPlaces, 'baseUrl' | 'auth'>> & {
  readonly openapi: string;
  readonly terminal: Dialog;
  readonly cwd: string;
}): Promise<LoadedRegistry> {
  const { tools, findings } = await toolsFromOpenApi(
    /^https?:\/\//.test(openapi) ? new URL(openapi) : resolve(cwd, openapi),
    {
      ...(baseUrl !== undefined && { baseUrl }),
      auth: Object.fromEntries(auth.map(credentialOf)),
    },
  );
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  const refused = findings.filter(({ kind }) => kind === 'refused');
  const others = findings.length - refused.length;
  if (others > 0) {
    const [first] = findings.filter(({ kind }) => kind !== 'refused');
    terminal.err(
      plainLine(
        `${paint(terminal, 'yellow', 'findings')} ${others} about ${openapi}, such as ${first!.operation}: ${first!.message}`,
      ),
    );
  }
  return {
    registry,
    problems: refused.map(({ operation, message }) => ({ file: operation, reason: message })),
    fileOf: new Map(tools.map(({ name }) => [name, openapi])),
  };
}

/** Reads `scheme=VARIABLE`. The variable holds a token or key, or `user:password` for basic authentication. */
function credentialOf(text: string): [scheme: string, credential: string] {
  const [, scheme, variable] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (scheme === undefined || variable === undefined)
    throw wrongUsage(`Expected --auth scheme=VARIABLE, got ${JSON.stringify(text)}.`);
  const value = process.env[variable];
  if (value === undefined || value === '')
    throw wrongUsage(`The variable ${variable} isn't set, but --auth ${text} needs it.`);
  return [scheme, value];
}
