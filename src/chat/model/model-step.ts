import type { JsonSchema } from '../../tool/schema/standard-schema.js';
import type { AssistantMessage, ChatMessage } from '../thread/chat-message.js';

/** A model of the AI SDK, or the name of one. Described by its shape, so that it may be of any major version of the SDK. */
export type LanguageModel =
  | string
  | {
      readonly specificationVersion: string;
      readonly provider: string;
      readonly modelId: string;
      readonly doGenerate: (...args: never[]) => unknown;
      readonly doStream: (...args: never[]) => unknown;
    };

/** A tool as a model is shown it, under the name that its service allows. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** Whether the model must call a tool, may, must not, or must call a certain one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly toolName: string };

/** What is asked of a model: one answer. */
export interface ModelRequest {
  readonly system?: string;
  /** Every call in them has its result. Tools have the names of `tools`. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ModelTool[];
  readonly toolChoice: ToolChoice;
  /** Whether somebody watches the text as it comes. */
  readonly stream: boolean;
  readonly signal: AbortSignal;
}

export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** What comes of one answer of a model: pieces of text, and at the end the whole. */
export type ModelPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'answer'; readonly message: AssistantMessage; readonly finishReason: string; readonly usage?: ModelUsage };

/**
 * Asks a model once. The last part is the whole answer.
 *
 * A function of this type stands for a model wherever one is expected; it throws what went wrong.
 */
export type ModelStep = (request: ModelRequest) => AsyncIterable<ModelPart>;
