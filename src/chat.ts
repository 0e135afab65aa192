export { chat, streamChat } from './chat/chat.js';
export type { ChatEngine, ChatOptions, SelectTools } from './chat/chat-engine.js';
export type { ChatEvent, ChatResult, ChatTurn } from './chat/chat-result.js';
export type { ChatPending } from './chat/chat-state.js';
export {
  scriptedModel,
  type LanguageModel,
  type ModelPart,
  type ModelRequest,
  type ModelStep,
  type ModelUsage,
  type ScriptedAnswer,
} from './chat/model-step.js';
export type {
  AssistantMessage,
  ChatMessage,
  ToolCallPart,
  ToolOutput,
  ToolResultPart,
} from './chat/thread.js';
export { Session, type DecisionResult, type RunResult } from './chat/session/session.js';
export type { SessionStatus } from './chat/session/session-data.js';
export { SessionStore } from './chat/session/session-store.js';
export type { SessionSnapshot } from './chat/session/snapshot.js';
