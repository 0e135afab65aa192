import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FILE = resolve(import.meta.dirname, '../../../../shared/data/mcp-truth/tools.json');

/**
 * A label for one axis. `na` means that the axis doesn't apply, and null that readers disagree. Neither
 * is scored.
 */
type Label = boolean | 'na' | null;

/**
 * A published version of a package with an MCP server, and what people who read its code found about the
 * tools.
 */
export interface LabelledServer {
  readonly id: string;
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  readonly tools: readonly LabelledTool[];
}

export interface LabelledTool {
  readonly name: string;
  /** The annotations in the result of `tools/list`. */
  readonly declared: Readonly<Record<string, unknown>> | null;
  readonly truth: Readonly<Record<'readOnly' | 'destructive' | 'idempotent' | 'openWorld', Label>>;
  readonly decidable: string;
  /** `file:line` inside the package and the call at that line, as the reader noted it. */
  readonly evidence?: string;
  /** The argument or mode that the lie depends on. */
  readonly conditional?: string;
}

/** Returns the labelled servers, or undefined if the data isn't next to the project. */
export function labelledServers(): readonly LabelledServer[] | undefined {
  return existsSync(FILE)
    ? (JSON.parse(readFileSync(FILE, 'utf8')) as { readonly servers: readonly LabelledServer[] })
        .servers
    : undefined;
}
