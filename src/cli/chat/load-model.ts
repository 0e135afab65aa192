import type { ChatEngine } from '../../chat/chat-engine.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { importModules, type ImportOptions } from '../../load/import-modules.js';

const FILE = /^[./~]|[\\]|\.[cm]?[jt]s$/;

/**
 * Returns the model that `--model` names: the default export of a file, or a name for the AI SDK's gateway.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a file that cannot be imported or exports no model, and for other text.
 */
export async function loadModel(
  text: string,
  cwd: string,
  options: ImportOptions,
): Promise<ChatEngine['model']> {
  if (!FILE.test(text)) {
    if (/^[\w.-]+\/\S+$/.test(text)) return text;
    throw invalidArgument('--model as a file (./model.mjs) or as provider/name', text);
  }
  for await (const { module, error } of importModules([text], cwd, options)) {
    if (module === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          '--model as a file that can be imported',
          `from ${text}: ${error instanceof Error ? error.message : 'an error'}`,
        ),
        { cause: error },
      );
    const model = defaultOf(module);
    if (isModel(model)) return model;
    throw invalidArgument(
      `a model of the AI SDK or a function as the default export of ${text}`,
      model,
    );
  }
  throw invalidArgument('--model as a file that can be imported', text);
}

/** CommonJS that was compiled from ES modules has its default export one level deeper. */
function defaultOf(module: object): unknown {
  const first: unknown = Object.hasOwn(module, 'default')
    ? (module as { readonly default: unknown }).default
    : undefined;
  return isPlainObject(first) && Object.hasOwn(first, 'default') ? first['default'] : first;
}

function isModel(value: unknown): value is ChatEngine['model'] {
  return (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && 'doGenerate' in value)
  );
}
