import type { ToolError } from '../core/errors.js';
import type { RenderedTool } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A selected tool, and why it was selected. */
export interface SelectedTool {
  readonly toolName: string;
  /** The strongest reason for selecting the tool. */
  readonly reason:
    | 'included'
    | 'critical'
    | 'mandatory_keyword'
    | 'carried_over'
    | 'search'
    | 'stage'
    | 'task_type'
    | 'high_priority'
    | 'weak_match';
  /**
   * True if the tool is offered unless a limit forbids it: it's included, critical, or has a
   * mandatory keyword in the text.
   */
  readonly guaranteed: boolean;
  /** The score in the ranking, or 0 if the tool doesn't match the request's words. */
  readonly score: number;
  /** The level of detail that the model sees. */
  readonly level: 'full' | 'compact' | 'stub';
  /** The number of tokens in `rendered`, according to the request's `countTokens`. */
  readonly tokens: number;
  /** The tool in the form that the model sees. */
  readonly rendered: RenderedTool;
  readonly explanation: string;
  readonly entry: ToolEntry;
}

/** The tools selected for one request, in the order in which the model should see them. */
export interface Selection {
  readonly tools: readonly SelectedTool[];
  /** The tools that were considered but not selected. */
  readonly dropped: readonly {
    readonly toolName: string;
    readonly reason:
      | 'unknown'
      | 'excluded'
      | 'scopes'
      | 'unavailable'
      | 'filter'
      | 'danger'
      | 'access'
      | 'cost'
      | 'stage'
      | 'task_type'
      | 'max_tools'
      | 'token_budget';
    readonly score: number;
    readonly explanation: string;
  }[];
  /** The total number of tokens in `tools`. */
  readonly tokens: number;
  readonly tokenBudget: number | undefined;
  readonly maxTools: number;
  /**
   * An error (code `BUDGET_EXCEEDED`) if the guaranteed tools alone exceed `maxTools` or
   * `tokenBudget`. In that case, `tools` contains only the guaranteed tools, although they exceed
   * the limit. Decide which of these tools to give up. CRITICAL tools count toward `maxTools` only
   * if the request sets `criticalOutsideLimit: false`.
   */
  readonly error: ToolError | undefined;
}

export type SelectionReason = SelectedTool['reason'];
export type DroppedTool = Selection['dropped'][number];
export type DropReason = DroppedTool['reason'];
