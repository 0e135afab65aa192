// A model of the AI SDK that gives prepared answers, so that the programs beside it run without a key. Your own code does not need it.
import { MockLanguageModelV3 } from 'ai/test';

type Answer = string | { readonly tool: string; readonly input: object };

/** Returns a model that gives these answers one after the other: a text, or the call of a tool. */
export function scripted(...answers: readonly Answer[]): MockLanguageModelV3 {
  const usage = { inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 0, text: 0, reasoning: 0 } };
  return new MockLanguageModelV3({
    doGenerate: answers.map((answer, index) =>
      typeof answer === 'string'
        ? { content: [{ type: 'text', text: answer }], finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] }
        : {
            content: [{ type: 'tool-call', toolCallId: `call-${index}`, toolName: answer.tool, input: JSON.stringify(answer.input) }],
            finishReason: { unified: 'tool-calls', raw: undefined }, usage, warnings: [],
          }),
  });
}
