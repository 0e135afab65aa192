import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chat, scriptedModel, streamChat, type ChatResult } from '../../src/chat.js';
import { isSendable, sampleTools } from './chat-cases.js';
import { propertyRuns } from '../property-runs.js';

/** The tools of one turn, and the reason for which each would halt the chat. */
const REASONS = {
  asks: 'ask_user',
  fails: 'tool_error',
  stops: 'all_done',
  charge: 'manual_tool_calls',
  pays: 'approval_required',
  echo: undefined,
} as const;
type Name = keyof typeof REASONS;
const ORDER = [
  'ask_user',
  'tool_error',
  'all_done',
  'manual_tool_calls',
  'approval_required',
  'halt_when',
  'max_turns',
] as const;

async function runTurn(
  names: readonly Name[],
  { haltWhen = false, maxTurns = 8, stream = false } = {},
): Promise<ChatResult> {
  const options = {
    model: scriptedModel([{ calls: names.map((name, at) => ({ id: `c${at}`, name })) }, 'done']),
    tools: sampleTools().tools,
    prompt: 'please',
    onToolError: 'halt' as const,
    haltWhen: () => haltWhen,
    maxTurns,
  };
  if (!stream) return chat(options);
  let result: ChatResult | undefined;
  for await (const event of streamChat(options))
    if (event.type === 'chat-completed') ({ result } = event);
  return result!;
}

const expected = (names: readonly Name[], { haltWhen = false, maxTurns = 8 }) => {
  const reasons = new Set<string | undefined>([
    ...names.map((name) => REASONS[name]),
    haltWhen ? 'halt_when' : undefined,
    maxTurns === 1 ? 'max_turns' : undefined,
  ]);
  return ORDER.find((reason) => reasons.has(reason)) ?? 'completed';
};

describe('several reasons to halt', () => {
  const names = Object.keys(REASONS) as Name[];

  // At most four calls, because the fifth equal call would count as a loop.
  it('haltedReason follows the documented precedence for any combination of calls, and every pending call is reported', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        async (calls, haltWhen, once, stream) => {
          const limits = { haltWhen, maxTurns: once ? 1 : 8 };
          const result = await runTurn(calls, { ...limits, stream });
          expect(result.haltedReason).toBe(expected(calls, limits));
          expect(isSendable(result)).toBe(true);
          expect(result.pending.map(({ callId }) => callId)).toEqual(
            calls.flatMap((name, at) =>
              ['asks', 'charge', 'pays'].includes(name) ? [`c${at}`] : [],
            ),
          );
          const first = calls.findIndex((name) => REASONS[name] === 'ask_user');
          expect(result.pendingToolCallId).toBe(first === -1 ? undefined : `c${first}`);
          const ending = calls.includes('fails') ? calls.indexOf('fails') : calls.indexOf('stops');
          expect(result.metadata.haltToolCallId).toBe(ending === -1 ? undefined : `c${ending}`);
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  });
});
