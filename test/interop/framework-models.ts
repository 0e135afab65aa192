import type { Model, ModelRequest, ModelResponse } from '@openai/agents';
import { MockLanguageModelV3 } from 'ai/test';

/** A model's answer in one turn: text or calls. */
export type Turn = string | readonly (readonly [id: string, name: string, input: unknown])[];

const written = (input: unknown) => (typeof input === 'string' ? input : JSON.stringify(input));

export const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** Returns an AI SDK model that gives one answer per turn. */
export function aiModel(...turns: readonly Turn[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: turns.map((turn) => ({
      content:
        typeof turn === 'string'
          ? [{ type: 'text', text: turn }]
          : turn.map(([toolCallId, toolName, input]) => ({
              type: 'tool-call',
              toolCallId,
              toolName,
              input: written(input),
            })),
      finishReason: { unified: typeof turn === 'string' ? 'stop' : 'tool-calls', raw: undefined },
      usage: USAGE,
      warnings: [],
    })),
  });
}

/** Returns the results that an AI SDK model received in its last request. */
export const readByAIModel = (model: MockLanguageModelV3) =>
  model.doGenerateCalls
    .at(-1)!
    .prompt.filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => content as { output: { type: string; value: unknown } }[])
    .map(({ output }) => output);

/** Returns an OpenAI Agents model that gives one answer per turn and records its requests. */
export function agentsModel(
  ...turns: readonly Turn[]
): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    getResponse: async ({ signal: _signal, ...request }) => {
      const turn = turns[requests.length]!;
      requests.push(structuredClone(request));
      return {
        usage: { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        output:
          typeof turn === 'string'
            ? [
                {
                  type: 'message',
                  role: 'assistant',
                  status: 'completed',
                  content: [{ type: 'output_text', text: turn }],
                },
              ]
            : turn.map(([callId, name, input]) => ({
                type: 'function_call',
                callId,
                name,
                arguments: written(input),
                status: 'completed',
              })),
      } as unknown as ModelResponse;
    },
    getStreamedResponse: () => {
      throw new Error('not streamed here');
    },
  };
}

/** Returns the results that an OpenAI Agents model received in its last request, by call. */
export const readByAgentsModel = ({ requests }: { readonly requests: readonly ModelRequest[] }) =>
  (requests.at(-1)!.input as { type: string; callId?: string; output?: unknown }[])
    .filter(({ type }) => type === 'function_call_result')
    .map(({ callId, output }) => [callId, (output as { text?: string }).text ?? output] as const);
