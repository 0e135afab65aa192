import type { ToolError } from '../core/errors.js';
import type { RenderedTool, SchemaLevel } from '../tool/render/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** Why a tool was chosen, the strongest reason there is. */
export type SelectionReason = 'included' | 'critical' | 'mandatory_keyword' | 'carried_over' | 'search' | 'stage' | 'task_type' | 'high_priority';

/** Why a tool that was considered is not among the chosen. */
export type DropReason = 'unknown' | 'excluded' | 'unavailable' | 'filter' | 'danger' | 'access' | 'cost' | 'stage' | 'task_type' | 'relevance' | 'max_tools' | 'token_budget';

export interface SelectedTool {
  readonly toolName: string;
  readonly reason: SelectionReason;
  /** Whether it would be offered whatever else is asked: included, critical, or by a mandatory keyword. */
  readonly guaranteed: boolean;
  /** Its score in the ranking; 0 when the request's words do not hit it. */
  readonly score: number;
  readonly level: SchemaLevel;
  /** What its rendering costs, by the request's `countTokens`. */
  readonly tokens: number;
  /** The tool as the model sees it. */
  readonly rendered: RenderedTool;
  readonly explanation: string;
  readonly entry: ToolEntry;
}

export interface DroppedTool {
  readonly toolName: string;
  readonly reason: DropReason;
  readonly score: number;
  readonly explanation: string;
}

/** The tools for one request, in the order in which the model should see them. */
export interface Selection {
  readonly tools: readonly SelectedTool[];
  readonly dropped: readonly DroppedTool[];
  /** The sum over `tools`. */
  readonly tokens: number;
  readonly tokenBudget: number | undefined;
  readonly maxTools: number;
  /**
   * Set when the guaranteed tools alone exceed `maxTools` or `tokenBudget` (code `BUDGET_EXCEEDED`). `tools` are then just
   * the guaranteed ones, above the limit: whoever asked must decide what to give up. CRITICAL tools count for `maxTools`
   * only when the request said `criticalOutsideLimit: false`.
   */
  readonly error: ToolError | undefined;
}
