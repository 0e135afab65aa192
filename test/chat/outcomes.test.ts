import { describe, expect, it } from 'vitest';
import { chat, scriptedModel } from '../../src/chat.js';
import {
  askUser,
  fail,
  halt,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { readOutcome } from '../../src/safety/read-outcome.js';
import { outputsOf, toolOf } from './chat-cases.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** Each outcome: the tool that has it, how it is read, and what a chat makes of it. */
const TABLE: readonly (readonly [
  string,
  Parameters<typeof toolOf>[1],
  object,
  string,
  RegExp,
  string,
])[] = [
  ['ok', () => ({ sum: 3 }), {}, 'result', /^\{"sum":3\}$/, 'json'],
  ['ok as text', () => 'sunny', {}, 'result', /^sunny$/, 'text'],
  [
    'ok with a Map',
    () => new Map([[1, 2]]),
    {},
    'error',
    /^t ran, but its result can't be shown: expected plain data, got an object of a class/,
    'error-text',
  ],
  [
    'ok with a big integer',
    () => ({ n: 1n }),
    {},
    'error',
    /^t ran, .* got a big integer$/,
    'error-text',
  ],
  [
    'ok with a cycle',
    () => {
      const circle: unknown[] = [];
      circle.push(circle);
      return circle;
    },
    {},
    'error',
    /^t ran, .* got data that contains itself$/,
    'error-text',
  ],
  ['halt', () => halt('all done', { left: 0 }), {}, 'result', /^\{"left":0\}$/, 'json'],
  ['error', () => fail('no luck today'), {}, 'error', /^no luck today$/, 'error-text'],
  [
    'denied',
    () => 1,
    { keywords: ['deny'] },
    'error',
    /^t was not run: not on Sundays\. Do not repeat the call; do something else, or ask the user\.$/,
    'execution-denied',
  ],
  [
    'denied without a reason',
    () => 1,
    { keywords: ['mute'] },
    'error',
    /^t was not run: the policy forbids it\. Do not repeat/,
    'execution-denied',
  ],
  [
    'ask_user',
    () => askUser('Which one?', ['a', 'b']),
    {},
    'waiting',
    /^t asks the user: Which one\? \(one of: a, b\) Wait for the answer/,
    'question',
  ],
  [
    'manual',
    undefined,
    { manual: true },
    'waiting',
    /^t is answered by a user or another program.*or go on without/,
    'manual',
  ],
  [
    'approval_required',
    () => 1,
    { accessMode: 'write', executionCategory: 'write' },
    'waiting',
    /^t was not run yet: this call needs approval\..*or go on without/,
    'approval',
  ],
];

describe('an outcome', () => {
  it.each(TABLE)(
    '%s is read the same way by every target, and shown as such by a chat',
    async (_, execute, options, kind, text, shown) => {
      const registry = new ToolMetadataRegistry();
      registry.register(definitionOf({ ...toolOf('t', execute, options) }));
      const rules = [
        {
          name: 'hush-hush',
          verdict: 'deny',
          filter: { keyword: 'deny' },
          reason: 'not on Sundays',
        },
        { name: 'hush-hush-too', verdict: 'deny', filter: { keyword: 'mute' } },
      ] as const;
      const executor = new ToolExecutor({
        registry,
        policy: new SafetyPolicy({ registry, rules: rules }),
      });
      const reading = readOutcome(await executor.execute({ id: 'a', name: 't', input: {} }));
      expect(reading).toMatchObject({
        kind,
        text: expect.stringMatching(text),
        content: [{ type: 'text', text: reading.text }],
        retryable: false,
      });
      expect(Object.isFrozen(reading)).toBe(true);
      expect(reading.text).not.toContain('hush');

      const { messages, pending } = await chat({
        model: scriptedModel([{ calls: [{ id: 'a', name: 't', input: {} }] }, 'done']),
        executor,
        prompt: 'go',
      });
      if (kind === 'waiting') return expect(pending).toMatchObject([{ kind: shown, callId: 'a' }]);
      const output = outputsOf(messages)['a'] as {
        readonly type: string;
        readonly value?: unknown;
        readonly reason?: string;
      };
      expect(output.type).toBe(shown);
      expect(
        output.reason ??
          (typeof output.value === 'string' ? output.value : JSON.stringify(output.value)),
      ).toBe(reading.text);
    },
  );
});
