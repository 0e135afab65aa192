import { CapabilityRegistry } from '../../src/capability.js';
import { serve, type RunningCatalogue } from '../../src/http.js';
import {
  askUser,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
} from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { z } from 'zod';

const KEY = Buffer.alloc(32, 7);

/** The token of an operator who may do everything. */
export const ADA = 'x'.repeat(20);
/** The token of a person who may only look. */
export const VIC = 'v'.repeat(20);

/** A tool that asks the user a question. */
export const pick = defineTool({
  name: 'pick',
  description: 'Lets the user pick',
  inputSchema: z.object({}),
  accessMode: 'readonly',
  execute: () => askUser('Which colour?', ['red', 'blue']),
});

/** An executor, and a server with the operators' page for the executor's calls. */
export class OperatorServer {
  readonly executor: ToolExecutor;
  readonly #server: RunningCatalogue;

  private constructor(executor: ToolExecutor, server: RunningCatalogue) {
    this.executor = executor;
    this.#server = server;
  }

  /** @param root The folder of further tools' manifests. */
  static async start(tools: readonly ToolDefinition[], root?: string): Promise<OperatorServer> {
    const store = new MemoryStateStore();
    const registry = new ToolMetadataRegistry();
    registry.registerAll(tools);
    const executor = new ToolExecutor({ registry, store, approvalKey: KEY, recordArguments: true });
    const server = await serve(await CapabilityRegistry.load({ tools, ...(root && { root }) }), {
      port: 0,
      tokens: [
        { token: ADA, name: 'ada', roles: ['view', 'approve', 'run'] },
        { token: VIC, name: 'vic' },
      ],
      operator: { store, approvalKey: KEY, allowApprove: true, executor },
    });
    return new OperatorServer(executor, server);
  }

  get url(): string {
    return this.#server.url;
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.executor.close();
  }
}
