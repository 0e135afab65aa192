import type { Context } from '../command/command.js';
import { importDefault } from '../load/import-default.js';

const MODEL_NAME = /^[\w-][\w.-]*\/(?!\S*\.[cm]?[jt]s$)\S+$/;

/** Returns the model for `--model`: a name such as `openai/gpt-5-mini`, or a file's default export. */
export async function importModel(
  model: string,
  { cwd, imports }: Pick<Context, 'cwd' | 'imports'>,
): Promise<unknown> {
  return MODEL_NAME.test(model) ? model : importDefault('--model', model, cwd, imports);
}
