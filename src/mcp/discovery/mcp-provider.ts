import { invalidArgument } from '../../core/issues.js';
import type { Provider } from '../../providers/provider.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';

/** The part of a discovery that a provider needs. */
export interface McpCaller {
  callTool(server: string | undefined, tool: string, input: unknown, context: ToolContext): Promise<unknown>;
  check(server: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** The tool that calls go to. */
export interface McpProviderConfig {
  /** A configured server. @default the settings' default server, or else the only one */
  readonly server?: string;
  /** The tool's name at the server. */
  readonly tool: string;
}

/**
 * Lets a tool of an MCP server answer calls, as one of a tool's providers.
 *
 * Calls go to the configured server and tool, whatever the arguments are called. A tool that the
 * server does not list, that the settings deny, or that is withheld because its definition has changed is not called.
 *
 * ```js
 * const executor = new ToolExecutor({ registry, providers: { mcp: discovery.provider } });
 * ```
 */
export class McpProvider implements Provider {
  readonly #caller: McpCaller;
  readonly #server: string | undefined;
  readonly #tool: string;

  /**
   * @param config as manifests have it; what it holds beside server and tool is not looked at.
   * @throws ToolError `INVALID_ARGUMENT` for a configuration without a tool.
   */
  constructor(caller: McpCaller, config: McpProviderConfig | Readonly<Record<string, unknown>>) {
    const { server, tool } = config as Readonly<Record<string, unknown>>;
    if (typeof tool !== 'string' || tool.trim() === '') throw invalidArgument('the configuration of the provider mcp to name a tool', tool);
    if (server !== undefined && typeof server !== 'string') throw invalidArgument('the configuration of the provider mcp to name a server', server);
    this.#caller = caller;
    this.#server = server;
    this.#tool = tool;
  }

  /** Calls the tool. @throws ToolError as `McpDiscovery.callTool`. */
  call(input: unknown, context: ToolContext): Promise<unknown> {
    return this.#caller.callTool(this.#server, this.#tool, input, context);
  }

  /** Resolves with true when the server answers a ping. */
  check(signal: AbortSignal): Promise<boolean> {
    return this.#caller.check(this.#server, signal);
  }
}
