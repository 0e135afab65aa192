import type { ProtocolEra } from '../connection/elicitation.js';
import type { McpFinding } from '../translate/foreign-text.js';

interface StatusFacts {
  readonly server: string;
  /** How many of its tools can be used: those found last, also while the server is away. */
  readonly tools: number;
  readonly findings: readonly McpFinding[];
  /** Milliseconds since 1970; `null` when it has never listed its tools. */
  readonly lastDiscoveredAt: number | null;
  /** Which protocol it speaks: `modern` from 2026-07-28 on; `null` when it has never been reached. */
  readonly era: ProtocolEra | null;
}

interface Failed {
  /** In words that hold nothing of the server. */
  readonly reason: string;
  /** In a row. */
  readonly failures: number;
  /** When a refresh asks again, in milliseconds since 1970. */
  readonly nextAttemptAt: number;
}

/** How it stands with one server. */
export type McpServerStatus = StatusFacts &
  (
    /** Not asked yet, or not to be asked: the settings are not enabled. */
    | { readonly state: 'idle' }
    /** Asked for the first time, and not answered yet. */
    | { readonly state: 'discovering' }
    | { readonly state: 'ready' }
    /** Its listing is older than the interval, or said to have changed; it stays in use until there is a new one. */
    | { readonly state: 'stale' }
    /** The last listing failed, and refreshes leave the server alone for a while. */
    | ({ readonly state: 'backing-off' } & Failed)
    /** The last listing failed, and the next refresh asks again. */
    | ({ readonly state: 'failed' } & Failed)
    | { readonly state: 'closed' }
  );

/** Which tools are different, by their names here. */
export interface McpChange {
  readonly server: string;
  readonly added: readonly string[];
  readonly edited: readonly string[];
  readonly removed: readonly string[];
}

/** What happens while servers are asked; `at` in milliseconds since 1970. */
export type McpDiscoveryEvent = { readonly at: number; readonly server: string } & (
  | { readonly type: 'listed'; readonly tools: number }
  | { readonly type: 'failed'; readonly reason: string; readonly nextAttemptAt: number }
  | ({ readonly type: 'changed' } & McpChange)
  /** The server says that its tools have changed; it is asked again. */
  | { readonly type: 'list-changed' }
);
