import type { ToolError } from '../core/errors.js';
import type { RenderedTool } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A tool that was chosen, and why. */
export interface SelectedTool {
  readonly toolName: string;
  /** The strongest reason why it was chosen. */
  readonly reason:
    | 'included'
    | 'critical'
    | 'mandatory_keyword'
    | 'carried_over'
    | 'search'
    | 'stage'
    | 'task_type'
    | 'high_priority';
  /**
   * True if the tool is offered with any request: it's included, critical, or has a mandatory
   * keyword in the text.
   */
  readonly guaranteed: boolean;
  /** The score in the ranking. 0 if the request's words don't match the tool. */
  readonly score: number;
  /** The part of the tool that the model sees. */
  readonly level: 'full' | 'compact' | 'stub';
  /** The number of tokens in its rendering, by the request's `countTokens`. */
  readonly tokens: number;
  /** The tool as the model sees it. */
  readonly rendered: RenderedTool;
  readonly explanation: string;
  readonly entry: ToolEntry;
}

/** The tools for one request, in the order in which the model should see them. */
export interface Selection {
  readonly tools: readonly SelectedTool[];
  /** The tools that were considered but not chosen. */
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
      | 'relevance'
      | 'max_tools'
      | 'token_budget';
    readonly score: number;
    readonly explanation: string;
  }[];
  /** The sum over `tools`. */
  readonly tokens: number;
  readonly tokenBudget: number | undefined;
  readonly maxTools: number;
  /**
   * An error (code `BUDGET_EXCEEDED`) if the guaranteed tools alone exceed `maxTools` or
   * `tokenBudget`. `tools` then has only the guaranteed tools, above the limit, and you must decide
   * what to give up. CRITICAL tools count toward `maxTools` only if the request said
   * `criticalOutsideLimit: false`.
   */
  readonly error: ToolError | undefined;
}

export type SelectionReason = SelectedTool['reason'];
export type DroppedTool = Selection['dropped'][number];
export type DropReason = DroppedTool['reason'];
