export {
  discoverMcpTools,
  McpDiscovery,
  McpProvider,
  type DiscoveredMcpTools,
} from './mcp/discovery/mcp-discovery.js';
export type { OnElicit } from './mcp/connection/elicitation.js';
export type {
  McpChange,
  McpDiscoveryOptions,
  McpServerStatus,
  PinGuard,
  ServerMessage,
} from './mcp/discovery/discovery-options.js';
export {
  createMcpServer,
  type McpConnection,
  type McpToolServer,
  type McpTransport,
} from './mcp/server/create-mcp-server.js';
export type {
  McpAuthInfo,
  McpRequestInfo,
  McpServerOptions,
  ServersBehind,
} from './mcp/server/server-options.js';
export type { RunningServer as RunningMcpServer } from './host/listen.js';
export {
  DEFAULT_LOCK_FILE,
  DefinitionPins,
  type DefinitionPinsOptions,
} from './mcp/pins/definition-pins.js';
export type { DefinitionChange, PinFinding, ServerListing } from './mcp/pins/definition-changes.js';
export type { PinnedDefinition } from './mcp/pins/pin.js';
export {
  readMcpSettings,
  type McpServerSettings,
  type McpSettings,
} from './mcp/settings/read-mcp-settings.js';
export type { McpFinding } from './mcp/translate/foreign-text.js';
