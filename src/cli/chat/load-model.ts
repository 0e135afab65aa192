import type { ChatEngine } from '../../chat/chat-engine.js';
import { invalidArgument } from '../../core/issues.js';
import type { ImportOptions } from '../../load/import-modules.js';
import { importDefault } from '../load/import-default.js';

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
  const model = await importDefault('--model', text, cwd, options);
  if (isModel(model)) return model;
  throw invalidArgument(
    `a model of the AI SDK or a function as the default export of ${text}`,
    model,
  );
}

function isModel(value: unknown): value is ChatEngine['model'] {
  return (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && 'doGenerate' in value)
  );
}
