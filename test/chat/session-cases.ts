import { scriptedModel, type ChatEngine, type ScriptedAnswer } from '../../src/chat.js';
import { isToolError, type ToolExecutor } from '../../src/index.js';
import { newExecutor, World, type Kind } from './session-world.js';

/** Returns a call of a scripted answer. Its tool does what its name says. */
export function call(id: string, name: Kind, input: object = {}) {
  return { id, name, input: { of: id, ...input } };
}

export interface Case {
  readonly engine: ChatEngine & { readonly executor: ToolExecutor };
  readonly world: World;
}

/** Returns an engine whose model gives these answers. Its tools count their starts in `world`. */
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

/** Returns the code of the refusal, or `fine` if there was none. */
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
