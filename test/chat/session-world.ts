import { deepEqual, equal } from 'node:assert/strict';
import { modelMessageSchema } from 'ai';
import { callsIn, isOwnCall } from './session-thread.js';
import type { ChatMessage, ModelStep } from '../../src/chat.js';
import type { ScriptedCall } from '../../src/chat/model-step.js';
import {
  AccessMode,
  askUser,
  DangerLevel,
  fail,
  halt,
  ToolExecutor,
  ToolMetadataRegistry,
  type Policy,
} from '../../src/index.js';
import type { StateStore } from '../../src/state.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** The kinds of calls in a script. */
export const KINDS = [
  'auto',
  'idempotent',
  'manual',
  'ask',
  'choose',
  'halt',
  'fail',
  'throw',
  'slow',
  'pay',
  'payAsk',
  'unknown',
  'invalid',
] as const;
export type Kind = (typeof KINDS)[number];
export type Script = readonly (readonly Kind[])[];

/** The facts that outlive every process of a test, such as how often each call's work started. */
export class World {
  readonly starts = new Map<string, number>();
  /** The number of times that a user let each call run again. */
  readonly reruns = new Map<string, number>();

  /** @param filler makes each result longer. */
  constructor(readonly filler = '') {}

  /** Returns the result of a call that ran. */
  deed(callId: string): object {
    return this.filler === '' ? { did: callId } : { did: callId, filler: this.filler };
  }

  /** The arguments of each start. */
  readonly inputs: unknown[] = [];

  begin(callId: string, input: unknown): void {
    this.inputs.push(input);
    this.starts.set(callId, (this.starts.get(callId) ?? 0) + 1);
  }

  rerun(callId: string): void {
    this.reruns.set(callId, (this.reruns.get(callId) ?? 0) + 1);
  }
}

/** A process in a test. Once it's dead, none of its work continues. */
export interface Life {
  readonly dead: boolean;
}

const never = () => new Promise<never>(() => undefined);

const policy: Policy = {
  decide: ({ name, input }) => {
    const amount = (input as { amount?: number }).amount ?? 0;
    const danger = amount >= 1000 ? DangerLevel.CRITICAL : DangerLevel.MEDIUM;
    return name.startsWith('pay')
      ? { verdict: 'confirm', rule: 'test', reason: 'it pays', danger }
      : { verdict: 'allow', rule: 'test', reason: 'harmless', danger: DangerLevel.LOW };
  },
};

/** Returns new tools and a new executor, as a new process would create them. */
export function newExecutor(
  world: World,
  life: Life = { dead: false },
  store?: StateStore,
): ToolExecutor {
  const registry = new ToolMetadataRegistry();
  const inputSchema = {
    type: 'object',
    properties: { of: { type: 'string' }, amount: { type: 'number' } },
    required: ['of'],
  } as const;
  const add = (
    name: Kind,
    work: ((callId: string) => unknown) | undefined,
    idempotencyKey = false,
  ) =>
    registry.register(
      definitionOf({
        name,
        description: `Does ${name}`,
        inputSchema,
        accessMode: AccessMode.WRITE,
        allowParallel: true,
        manual: work === undefined,
        idempotencyKey,
        ...(work && {
          execute: async (input: unknown, { callId = '' }) => {
            if (life.dead) return never();
            world.begin(callId, input);
            const result = await work(callId);
            return life.dead ? never() : result;
          },
        }),
      }),
    );
  add('auto', (callId) => world.deed(callId));
  add('idempotent', (callId) => world.deed(callId), true);
  add('manual', undefined);
  add('ask', (callId) => askUser(`What about ${callId}?`));
  add('choose', () => askUser('Which?', ['red', 'blue']));
  add('halt', (callId) => halt('enough', world.deed(callId)));
  add('fail', (callId) => fail(`${callId} cannot`));
  add('throw', () => {
    throw new Error('broken');
  });
  add('slow', async (callId) => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return world.deed(callId);
  });
  add('pay', (callId) => world.deed(callId));
  add('payAsk', () => askUser('Which account?'));
  return new ToolExecutor({
    registry,
    policy,
    maxRepeats: Number.MAX_SAFE_INTEGER,
    ...(store && { store }),
  });
}

export const callId = (turn: number, at: number): string => `c${turn}-${at}`;

/** Returns the kind of a call by its id. */
export function kindOf(script: Script, id: string): Kind {
  const [turn, at] = id.slice(1).split('-').map(Number);
  return script[turn!]![at!]!;
}

/**
 * Returns a model whose answer depends only on the thread, so it's the same in every process. The model
 * refuses threads that services refuse.
 */
export function scriptOf(script: Script): ModelStep {
  return async function* ({ messages }) {
    assertSendable(messages);
    const turn = messages.filter(
      (message) => message.role === 'assistant' && callsIn(message).length > 0,
    ).length;
    await Promise.resolve();
    const calls = (script[turn] ?? []).map((kind, at): ScriptedCall & { id: string } => ({
      id: callId(turn, at),
      name: kind === 'unknown' ? 'nobody' : kind === 'invalid' ? 'auto' : kind,
      input: kind === 'invalid' ? { of: 1 } : { of: callId(turn, at) },
    }));
    const content =
      calls.length === 0
        ? 'done'
        : calls.map(({ id, name, input = {} }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: name,
            input,
          }));
    yield {
      type: 'answer',
      message: { role: 'assistant', content },
      finishReason: calls.length === 0 ? 'stop' : 'tool-calls',
    };
  };
}

/**
 * Checks that a model would accept the thread: each call has one result directly after the calls, in
 * order.
 */
export function assertSendable(messages: readonly ChatMessage[]): void {
  const schema = modelMessageSchema.array().safeParse(messages);
  if (!schema.success) throw new Error(`not what the AI SDK takes: ${schema.error.message}`);
  for (const [at, message] of messages.entries()) {
    const next = messages[at + 1];
    if (message.role === 'assistant') {
      const asked = callsIn(message)
        .filter(isOwnCall)
        .map(({ toolCallId }) => toolCallId);
      deepEqual(
        next?.role === 'tool' ? next.content.map(({ toolCallId }) => toolCallId) : [],
        asked,
      );
    } else if (message.role === 'tool') equal(messages[at - 1]?.role, 'assistant');
  }
}
