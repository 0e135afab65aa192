import { isPlainObject } from '../../core/plain-data.js';
import type { LanguageModel } from './model-step.js';

type ModelObject = Exclude<LanguageModel, string>;

/**
 * The model, giving the calls of a whole answer different ids.
 *
 * The SDK's `generateText` finds calls by their id: of two calls with the same one, or none, both would have the arguments
 * of the first. Its `streamText` does not.
 */
export function withDistinctCalls(model: ModelObject): ModelObject {
  const generate = model.doGenerate as (...args: unknown[]) => Promise<unknown>;
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return (model as { readonly supportedUrls?: unknown }).supportedUrls;
    },
    doGenerate: async (...args: unknown[]) => mended(await generate.apply(model, args)),
    doStream: (...args: never[]) => model.doStream(...args),
  } as ModelObject;
}

function mended(result: unknown): unknown {
  if (!isPlainObject(result) || !Array.isArray(result['content'])) return result;
  const taken = new Set<unknown>();
  const content = result['content'].map((part: unknown) => {
    // What a service ran itself has a result with the same id.
    if (!isPlainObject(part) || part['type'] !== 'tool-call' || part['providerExecuted'] === true) return part;
    const base = typeof part['toolCallId'] === 'string' && part['toolCallId'] !== '' ? part['toolCallId'] : 'call';
    let toolCallId = base;
    for (let copy = 2; taken.has(toolCallId); copy += 1) toolCallId = `${base}-${copy}`;
    taken.add(toolCallId);
    return { ...part, toolCallId };
  });
  return { ...result, content };
}
