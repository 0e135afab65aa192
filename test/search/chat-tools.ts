import { defineTool, type ToolDefinition } from '../../src/index.js';

/** Three tools of a chat. */
export function chatTools(): ToolDefinition[] {
  const tool = (name: string, description: string) =>
    defineTool({ name, description, inputSchema: {}, keywords: ['chat'], execute: () => 'ok' });
  return [
    tool('post_message', 'Posts a message to a channel'),
    tool('list_channels', 'Lists the channels'),
    tool('delete_message', 'Deletes a message'),
  ];
}
