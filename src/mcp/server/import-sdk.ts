import type * as McpServerSdk from '@modelcontextprotocol/server';
import type * as McpStdioSdk from '@modelcontextprotocol/server/stdio';
import { ToolError } from '../../core/errors.js';

export type ServerSdk = typeof McpServerSdk & Pick<typeof McpStdioSdk, 'serveStdio' | 'StdioServerTransport'>;

/** Loads the official SDK, when something is first served. @throws ToolError `MISSING_PACKAGE` when it is not installed. */
export async function importServerSdk(): Promise<ServerSdk> {
  try {
    const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([import('@modelcontextprotocol/server'), import('@modelcontextprotocol/server/stdio')]);
    return { ...sdk, serveStdio, StdioServerTransport };
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', 'Expected the package @modelcontextprotocol/server to serve MCP, got none. Run npm install @modelcontextprotocol/server.', { cause });
  }
}
