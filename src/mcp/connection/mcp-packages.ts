import type * as McpClient from '@modelcontextprotocol/client';
import type * as McpStdio from '@modelcontextprotocol/client/stdio';
import { ToolError } from '../../core/errors.js';
import type { McpSettings } from '../settings/mcp-settings.js';
import type { WsModule } from './web-socket-transport.js';

/** The optional packages, loaded when they are first needed. */
export interface McpPackages {
  readonly client: () => Promise<typeof McpClient>;
  readonly stdio: () => Promise<typeof McpStdio>;
  readonly ws: () => Promise<WsModule>;
}

export const MCP_PACKAGES: McpPackages = Object.freeze({
  client: () => load('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client')),
  stdio: () => load('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client/stdio')),
  ws: () => load('ws', () => import('ws')),
});

/**
 * Makes sure, before any server is asked, that the packages are installed which the configured transports need.
 *
 * @throws ToolError `MISSING_PACKAGE` saying what to install.
 */
export async function checkTransports(settings: Pick<McpSettings, 'servers'>, packages: McpPackages = MCP_PACKAGES): Promise<void> {
  const kinds = new Set(settings.servers.map(({ transport }) => transport.kind));
  if (kinds.size > 0) await packages.client();
  if (kinds.has('stdio')) await packages.stdio();
  if (kinds.has('websocket')) await packages.ws();
}

async function load<T>(name: string, importPackage: () => Promise<T>): Promise<T> {
  try {
    return await importPackage();
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', `expected the package ${name} to be installed, found none that loads; run: npm install ${name}`, { details: { package: name }, cause });
  }
}
