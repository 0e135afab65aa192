import type { Json } from '../core/plain-data.js';
import type { Pending, ToolOutcome } from '../safety/calls.js';
import type { ModelUsage } from './model/model-step.js';
import type { AssistantMessage, ToolOutput } from './thread/chat-message.js';
import type { ChatResult } from './chat-result.js';
import type { ChatTurn } from './chat-turn.js';

interface CallFacts {
  readonly turn: number;
  readonly callId: string;
  readonly toolName: string;
}

/**
 * What happens in a chat, told when it happens.
 *
 * Each call that is run tells `tool-started` (not for answers from the cache and refused calls), `tool-completed`, and then
 * either `tool-encoded` with what the model will read or `tool-pending` with what it waits for. Calls of tools that are
 * `manual` tell only `tool-pending`. Calls that run at the same time tell in the order in which things happen.
 */
export type ChatEvent =
  | { readonly type: 'turn-started'; readonly turn: number; readonly tools: readonly string[] }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly turn: number; readonly text: string }
  | { readonly type: 'model-answered'; readonly turn: number; readonly message: AssistantMessage; readonly finishReason: string; readonly usage?: ModelUsage }
  | (CallFacts & { readonly type: 'tool-started'; /** With which it runs: a person may have changed the model's. */ readonly input: Json })
  | (CallFacts & { readonly type: 'tool-progress'; readonly progress: unknown })
  | (CallFacts & { readonly type: 'tool-completed'; readonly outcome: ToolOutcome })
  | (CallFacts & { readonly type: 'tool-encoded'; readonly output: ToolOutput })
  | (CallFacts & { readonly type: 'tool-pending'; readonly pending: Pending })
  /** The model has answered, and its calls are settled or wait. */
  | { readonly type: 'turn-completed'; readonly turn: ChatTurn }
  | { readonly type: 'chat-completed'; readonly result: ChatResult };
