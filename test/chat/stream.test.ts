import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import {
  chat,
  scriptedModel,
  streamChat,
  type ChatEvent,
  type ChatMessage,
  type ChatTurn,
  type ScriptedAnswer,
  type ToolOutput,
} from '../../src/chat.js';
import { gate, sampleTools, toolOf, user } from './chat-cases.js';
import { propertyRuns } from '../property-runs.js';

const NAMES = ['echo', 'weather', 'fails', 'throws', 'asks', 'stops', 'pays', 'charge', 'nobody'];
const turnArbitrary = fc.record({
  text: fc.constantFrom('', 'well, let me see'),
  calls: fc.array(
    fc.record({ name: fc.constantFrom(...NAMES), input: fc.record({ n: fc.nat(3) }) }),
    { minLength: 1, maxLength: 5 },
  ),
});
const scriptArbitrary = fc
  .array(turnArbitrary, { maxLength: 4 })
  .map((turns): readonly ScriptedAnswer[] => [...turns, 'done']);

/** Fields that differ between two runs. */
const RANDOM =
  /"(?:id|conversationId|createdAt|expiresAt|storeIdentity|signature|durationMs)":(?:"[0-9a-f-]+"|[\d.]+),?/g;
const comparable = (value: unknown) => JSON.stringify(value).replace(RANDOM, '');

/** Returns the thread as it can be rebuilt from the events alone. */
function threadOf(events: readonly ChatEvent[]): readonly ChatMessage[] {
  const messages: ChatMessage[] = [user('please')];
  for (const [at, event] of events.entries()) {
    if (event.type !== 'model-answered') continue;
    if (event.message.content.length > 0) messages.push(event.message);
    const outputs = new Map<string, ToolOutput>();
    for (const later of events.slice(at))
      if (later.type === 'tool-encoded' && later.turn === event.turn)
        outputs.set(later.callId, later.output);
    const content =
      typeof event.message.content === 'string'
        ? []
        : event.message.content.flatMap((part) =>
            part.type === 'tool-call' && outputs.has(String(part['toolCallId' as never]))
              ? [
                  {
                    type: 'tool-result' as const,
                    toolCallId: part['toolCallId' as never],
                    toolName: part['toolName' as never],
                    output: outputs.get(part['toolCallId' as never])!,
                  },
                ]
              : [],
          );
    if (content.length > 0) messages.push({ role: 'tool', content });
  }
  return messages;
}

async function eventsOf(events: AsyncIterable<ChatEvent>): Promise<readonly ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

it('the events of streamChat add up to the result of chat', async () => {
  await fc.assert(
    fc.asyncProperty(
      scriptArbitrary,
      fc.constantFrom('continue', 'halt'),
      async (script, onToolError) => {
        const options = () => ({
          model: scriptedModel(script),
          tools: sampleTools().tools,
          prompt: 'please',
          onToolError: onToolError as 'continue',
        });
        const result = await chat(options());
        const events = await eventsOf(streamChat(options()));
        const last = events.at(-1)!;
        expect(last.type).toBe('chat-completed');
        const streamed = (last as Extract<ChatEvent, { type: 'chat-completed' }>).result;
        expect(comparable(streamed)).toBe(comparable(result));
        expect(threadOf(events)).toEqual(streamed.messages);
        const turns = events.flatMap((event): readonly ChatTurn[] =>
          event.type === 'turn-completed' ? [event.turn] : [],
        );
        expect(turns).toEqual(streamed.turns);
        const pending = events.flatMap((event) =>
          event.type === 'tool-pending' ? [event.callId] : [],
        );
        expect(new Set(pending)).toEqual(new Set(streamed.pending.map(({ callId }) => callId)));
        const text = (turn: number) =>
          events
            .flatMap((event) =>
              event.type === 'text-delta' && event.turn === turn ? [event.text] : [],
            )
            .join('');
        expect(streamed.turns.map(({ index }) => text(index))).toEqual(
          streamed.turns.map((turn) => turn.text),
        );
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

it('a chat reports the progress of its own calls only', async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(
    toolOf('works', (input, { reportProgress }) => reportProgress?.({ of: input['of'] })),
  );
  const executor = new ToolExecutor({ registry });
  const script = (of: string) =>
    scriptedModel([{ calls: [{ id: 'a', name: 'works', input: { of } }] }, 'ok']);
  const [mine, theirs] = await Promise.all(
    ['mine', 'theirs'].map((of) =>
      eventsOf(streamChat({ executor, model: script(of), prompt: 'x' })),
    ),
  );
  const progress = (events: readonly ChatEvent[]) =>
    events.flatMap((event) => (event.type === 'tool-progress' ? [event.progress] : []));
  expect([progress(mine!), progress(theirs!)]).toEqual([[{ of: 'mine' }], [{ of: 'theirs' }]]);
});

it('leaving the loop over streamChat aborts the running tool and starts nothing else', async () => {
  const started: string[] = [];
  const fired = gate();
  const working = gate();
  const tools = [
    toolOf('first', (_input, { signal }) => {
      started.push('first');
      working.open();
      signal?.addEventListener('abort', () => fired.open());
      return new Promise(() => undefined);
    }),
    toolOf('later', () => started.push('later')),
  ];
  const model = scriptedModel([{ calls: [{ name: 'first' }] }, { calls: [{ name: 'later' }] }]);
  for await (const { type } of streamChat({ model, tools, prompt: 'x' })) {
    if (type !== 'tool-started') continue;
    await working.opened; // An earlier exit would keep the tool from starting at all.
    break;
  }
  await fired.opened;
  await new Promise((resolve) => setImmediate(resolve));
  expect([started, model.requests.length]).toEqual([['first'], 1]);
});

it('a scripted model made from a function answers every request', async () => {
  const model = scriptedModel(({ messages }) => `message ${messages.length}`);
  const first = await chat({ model, prompt: 'Hi' });
  const second = await chat({ model, messages: first.messages, prompt: 'And now?' });
  expect([first.text, second.text, model.requests.length]).toEqual(['message 1', 'message 3', 2]);
});
