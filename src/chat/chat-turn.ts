import type { ModelUsage } from './model/model-step.js';
import type { AssistantMessage, ToolCallPart, ToolOutput } from './thread/chat-message.js';

/** One answer of the model, and what became of its calls. */
export interface ChatTurn {
  /** Counted from 0 in each run; one that goes on with a turn that was held counts on from it. */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly text: string;
  /** In the model's order. */
  readonly toolCalls: readonly ToolCallPart[];
  /** Of the calls that are settled, in the model's order. */
  readonly toolResults: readonly { readonly callId: string; readonly toolName: string; readonly output: ToolOutput }[];
  /** Calls of tools that somebody else answers. */
  readonly manualToolCalls: readonly ToolCallPart[];
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}
