import { scriptedModel, type ChatEngine, type ScriptedAnswer } from '../../src/chat.js';
import { isToolError, type ToolExecutor } from '../../src/index.js';
import { newExecutor, World, type Kind } from './session-world.js';

/** Returns a call for a scripted answer. The tool's name tells what the tool does. */
export function call(id: string, name: Kind, input: object = {}) {
  return { id, name, input: { of: id, ...input } };
}

export interface Case {
  readonly engine: ChatEngine & { readonly executor: ToolExecutor };
  readonly world: World;
}

/** Returns an engine with a model that gives these answers. `world` counts how often each tool started. */
export function newCase(
  answers: readonly ScriptedAnswer[],
  more: Partial<ChatEngine> = {},
  world = new World(),
): Case {
  return {
    world,
    engine: {
      model: scriptedModel(answers),
      ...more,
      executor: more.executor ?? newExecutor(world),
    },
  };
}

/** Returns the error code, or `fine` if nothing was refused. */
export function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'fine',
    (error: unknown) => (isToolError(error) ? error.code : String(error)),
  );
}

export function codeOfThrown(work: () => unknown): string {
  try {
    work();
    return 'fine';
  } catch (error) {
    return isToolError(error) ? error.code : String(error);
  }
}
