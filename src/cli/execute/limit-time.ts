import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { defineTool } from '../../tool/tool-definition.js';

/** The same tools, each with another limit of its time. */
export function limitTime(registry: ToolMetadataRegistry, timeoutMs: number): ToolMetadataRegistry {
  const limited = new ToolMetadataRegistry();
  limited.registerAll([...registry].map(({ definition }) => defineTool({ ...definition, timeoutMs })));
  return limited;
}
