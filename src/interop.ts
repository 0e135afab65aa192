export {
  toOpenAITools,
  type OpenAIChatTool,
  type OpenAIResponsesTool,
} from './interop/export/to-openai-tools.js';
export { toAnthropicTools, type AnthropicTool } from './interop/export/to-anthropic-tools.js';
export { toGeminiTools, type GeminiTool } from './interop/export/to-gemini-tools.js';
export { toMcpTools, type McpTool, type ToolAnnotations } from './interop/export/to-mcp-tools.js';
export type { ExportInput, ExportOptions } from './interop/export/exported-tools.js';
export type { CallResult, ModelCall, ModelTools } from './interop/export/model-calls.js';
export {
  toAISDKTools,
  type AISDKTool,
  type AISDKToolSet,
} from './interop/frameworks/to-ai-sdk-tools.js';
export { openToolNames } from './interop/frameworks/open-tool-names.js';
export { stopOnHalt } from './interop/frameworks/stop-on-halt.js';
export { fromAISDKTools } from './interop/frameworks/from-ai-sdk-tools.js';
export {
  fromLangChainTools,
  toLangChainTools,
  type LangChainTool,
} from './interop/frameworks/langchain-tools.js';
export {
  toOpenAIAgentsTools,
  type OpenAIAgentsTool,
} from './interop/frameworks/to-openai-agents-tools.js';
export type { CallExecutor, FrameworkOptions } from './interop/frameworks/guarded-calls.js';
