import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolCall, ToolOutcome } from '../safety/calls.js';

/** Watches calls from outside, such as a tracer does. */
export interface Telemetry {
  /** Must call `run` exactly once and resolve to what it resolves to. `entry` is missing for unknown tools. */
  around(call: ToolCall, entry: ToolEntry | undefined, run: () => Promise<ToolOutcome>): Promise<ToolOutcome>;
}
