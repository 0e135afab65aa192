import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ChatState } from '../chat-state.js';

/** A tool that is not what the model knew when it called it. */
export interface ChangedTool {
  readonly toolName: string;
  readonly change: 'changed' | 'missing';
}

/** Tools of calls of the open turn that are still to be run, and are declared otherwise now or missing. */
export function changedTools({ openTurn }: ChatState, registry: ToolMetadataRegistry): readonly ChangedTool[] {
  const open = new Set((openTurn?.calls ?? []).flatMap(({ toolName, progress }) => (progress.state === 'settled' ? [] : [toolName])));
  return (openTurn?.tools ?? []).flatMap(({ toolName, digest }): ChangedTool[] => {
    const entry = registry.get(toolName);
    if (!open.has(toolName) && !(entry?.aliases ?? []).some((alias) => open.has(alias))) return [];
    if (entry === undefined) return [{ toolName, change: 'missing' }];
    return entry.digest === digest ? [] : [{ toolName, change: 'changed' }];
  });
}
