// Replaces the service that the AI SDK uses for a model given as text. It's loaded before each example.
// The model calls every tool once. It passes the first number in the prompt where the schema wants a
// number, and the prompt where the schema wants text.
import { MockLanguageModelV3 } from 'ai/test';

type Ask = Parameters<MockLanguageModelV3['doGenerate']>[0];
type Answer = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

function answer(content: Answer['content'], unified: 'stop' | 'tool-calls'): Answer {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

function inputFor(schema: object, text: string): object {
  const { properties } = schema as {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>;
  };
  return Object.fromEntries(
    Object.entries(properties ?? {}).map(([name, { type }]) => [
      name,
      type === 'integer' || type === 'number' ? Number(/\d+/.exec(text)?.[0] ?? 1) : text,
    ]),
  );
}

async function doGenerate({ prompt, tools = [] }: Ask): Promise<Answer> {
  const last = prompt.at(-1);
  if (last?.role !== 'user') return answer([{ type: 'text', text: 'Done.' }], 'stop');
  const text = last.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  const calls = tools.flatMap((tool) =>
    tool.type === 'function'
      ? [{ toolName: tool.name, input: JSON.stringify(inputFor(tool.inputSchema as object, text)) }]
      : [],
  );
  return answer(
    calls.map((call, index) => ({ type: 'tool-call', toolCallId: `call-${index}`, ...call })),
    'tool-calls',
  );
}

Object.assign(globalThis, {
  AI_SDK_DEFAULT_PROVIDER: {
    languageModel: (modelId: string) => new MockLanguageModelV3({ modelId, doGenerate }),
  },
});
