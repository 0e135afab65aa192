import type { ToolEntry } from '../../tool/tool-definition.js';
import { annotationsOf } from '../tool-annotations.js';

/** What of a tool's metadata goes along to other frameworks: plain JSON, nothing of providers, auth or free metadata. */
export type BridgeMetadata = {
  /** The four hints of the Model Context Protocol. */
  annotations: { title?: string; readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  tooldex: {
    /** The tool's own name, which may differ from the one that models are given. */
    name: string;
    version?: string;
    category?: string;
    priority: number;
    accessMode: string;
    dangerLevel: string;
    executionCategory: string;
    costTier: string;
    allowParallel: boolean;
    requiresConsent: boolean;
    manual: boolean;
    digest: string;
  };
};

export function metadataOf(entry: ToolEntry): BridgeMetadata {
  const { name, version, category, priority, accessMode, dangerLevel, executionCategory, costTier, allowParallel, requiresConsent, manual, digest } = entry;
  return {
    annotations: { ...annotationsOf(entry) },
    tooldex: {
      name,
      ...(version !== undefined && { version }),
      ...(category !== undefined && { category }),
      ...{ priority, accessMode, dangerLevel, executionCategory, costTier, allowParallel, requiresConsent, manual, digest },
    },
  };
}
