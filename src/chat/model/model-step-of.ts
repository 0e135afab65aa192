import type { CheckedEngine } from '../chat-engine.js';
import type { ModelStep } from './model-step.js';

/**
 * What asks the model of an engine.
 *
 * @throws ToolError `MISSING_PACKAGE` when it is a model of the AI SDK, and the SDK is not installed.
 */
export async function modelStepOf({ model, modelOptions }: Pick<CheckedEngine, 'model' | 'modelOptions'>): Promise<ModelStep> {
  if (typeof model === 'function') return model;
  const { languageModelStep } = await import('./language-model-step.js');
  return languageModelStep(model, modelOptions);
}
