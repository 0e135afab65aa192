import type { RawListing } from '../connection/mcp-connection.js';
import type { ResourceTools } from '../connection/resource-tools.js';
import type { ScreenedInstructions } from '../translate/instructions.js';
import type { ServerUris } from '../translate/resource-owners.js';
import type { ToolTable } from './tool-table.js';

export interface Listing extends RawListing {
  readonly ownTools: ResourceTools;
  readonly uris: ServerUris;
  readonly screened: ScreenedInstructions;
  /** Time at which the tools were listed, in milliseconds since 1970. */
  readonly at: number;
}

export interface Failure {
  readonly error: unknown;
  readonly reason: string;
  readonly failures: number;
  /** End of the backoff, in milliseconds since 1970. */
  readonly nextAttemptAt: number;
}

/** The result of a server's last listing. It stays in use while the server is down. */
export interface Known {
  readonly listing: Listing;
  readonly table: ToolTable;
}

/** The state of a server. `listing` keeps the failure before it, until it succeeds. */
export type State =
  | { readonly is: 'idle' | 'ready' | 'closed' }
  | {
      readonly is: 'listing';
      readonly done: Promise<void>;
      failure: Failure | undefined;
      /** The listing that follows this one. */
      again?: Promise<void>;
    }
  | { readonly is: 'failed'; readonly failure: Failure };
