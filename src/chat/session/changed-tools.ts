import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ChatState } from '../chat-state.js';

/** A tool that is not what the model knew when it called it. */
export interface ChangedTool {
  readonly toolName: string;
  /** `changed` is also what another tool answers to now: under this name, which may be an alias. */
  readonly change: 'changed' | 'missing';
}

/** Tools of calls of the open turn that are still to be run, and are declared otherwise now or missing. */
export function changedTools({ openTurn }: ChatState, registry: ToolMetadataRegistry): readonly ChangedTool[] {
  const known = new Map((openTurn?.tools ?? []).map(({ toolName, digest }) => [toolName, digest]));
  const changes = new Map<string, ChangedTool>();
  const note = (toolName: string, change: ChangedTool['change']) => changes.set(toolName, Object.freeze({ toolName, change }));
  for (const { toolName, progress } of openTurn?.calls ?? []) {
    if (progress.state === 'settled') continue;
    // By the name that was called: an alias may belong to another tool by now.
    const entry = registry.get(toolName);
    if (entry !== undefined) {
      // A person may have been asked later than the model, about the tool as it was then.
      const asked = 'pending' in progress ? progress.pending.definitionDigest : '';
      if (entry.digest !== (asked === '' ? known.get(entry.name) : asked)) note(entry.name, 'changed');
      continue;
    }
    // A name that nothing answers to now, and nothing did then, is the model's mistake; the model is told.
    const gone = known.has(toolName) ? [toolName] : [...known.keys()].filter((name) => !registry.has(name));
    for (const name of gone) note(name, 'missing');
  }
  return Object.freeze([...changes.values()]);
}
