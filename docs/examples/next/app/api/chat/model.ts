// The model of the chat: the gateway's with a key, and a scripted one without.
import type { LanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

const usage = { inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 0, text: 0, reasoning: 0 } };

/** Asks for a refund, and then reports the result. Your own program doesn't need this model. */
const scripted = new MockLanguageModelV3({
  doStream: ({ prompt }) => {
    const answer = prompt.at(-1)?.role === 'tool'
      ? [
          { type: 'text-start', id: 't' } as const,
          { type: 'text-delta', id: 't', delta: 'Order 17 is settled.' } as const,
          { type: 'text-end', id: 't' } as const,
        ]
      : [
          {
            type: 'tool-call',
            toolCallId: crypto.randomUUID(),
            toolName: 'refund_order',
            input: '{"order":17,"cents":1250}',
          } as const,
        ];
    const unified = answer.length === 1 ? 'tool-calls' : 'stop';
    return Promise.resolve({
      stream: new ReadableStream({
        start(controller) {
          for (const part of answer) controller.enqueue(part);
          controller.enqueue({ type: 'finish', finishReason: { unified, raw: undefined }, usage });
          controller.close();
        },
      }),
    });
  },
});

/** A model from the AI gateway if there's a key for it. */
export const model: LanguageModel = process.env.AI_GATEWAY_API_KEY ? 'openai/gpt-5-mini' : scripted;
