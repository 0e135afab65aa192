import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FILE = resolve(import.meta.dirname, '../../../../shared/data/mcp-truth/tools.json');

/** A label of one axis: `na` where the axis does not apply, null where readers differ; neither is scored. */
type Label = boolean | 'na' | null;

/** One published version of a package with an MCP server, and what readers of its code found that its tools do. */
export interface LabelledServer {
  readonly id: string;
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  readonly tools: readonly LabelledTool[];
}

export interface LabelledTool {
  readonly name: string;
  /** The annotations that `tools/list` gives. */
  readonly declared: Readonly<Record<string, unknown>> | null;
  readonly truth: Readonly<Record<'readOnly' | 'destructive' | 'idempotent' | 'openWorld', Label>>;
  readonly decidable: string;
  /** `file:line` inside the package and what is called there, as a reader of the code noted it. */
  readonly evidence?: string;
  /** The argument or mode that the lie needs. */
  readonly conditional?: string;
}

/** Returns the labelled servers, undefined when the data is not beside the project. */
export function labelledServers(): readonly LabelledServer[] | undefined {
  return existsSync(FILE)
    ? (JSON.parse(readFileSync(FILE, 'utf8')) as { readonly servers: readonly LabelledServer[] })
        .servers
    : undefined;
}
