import { z } from 'zod';
import {
  AccessMode,
  askUser,
  DangerLevel,
  ExecutionCategory,
  fail,
  halt,
  type ToolDefinition,
  type ToolOptions,
} from '../../src/index.js';
import type { AssistantMessage, ChatMessage, ChatResult, ToolCallPart } from '../../src/chat.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** Options for a tool that is allowed without approval and can run in parallel. */
export const reads = {
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.COMPUTE,
} as const;
export const nothing = z.object({});

/** Returns a tool that calls the given function to decide each outcome. */
export function toolOf(
  name: string,
  execute:
    | ((
        input: Record<string, never>,
        context: Parameters<NonNullable<ToolDefinition['execute']>>[1],
      ) => unknown)
    | undefined,
  options: Partial<ToolOptions> = {},
): ToolDefinition {
  return definitionOf({
    ...reads,
    name,
    description: `The tool ${name}`,
    inputSchema: z.looseObject({}),
    ...options,
    ...(execute && { execute }),
  });
}

/** Returns one tool for each outcome, and counts how often each tool ran. */
export function sampleTools() {
  const ran: string[] = [];
  const counted = (
    name: string,
    execute: (input: Record<string, never>) => unknown,
    options: Partial<ToolOptions> = {},
  ) =>
    toolOf(
      name,
      (input) => {
        ran.push(name);
        return execute(input);
      },
      options,
    );
  const tools: readonly ToolDefinition[] = [
    counted('echo', (input) => input),
    counted('weather', () => 'sunny'),
    counted('fails', () => fail('no luck today')),
    counted('throws', () => {
      throw new Error('broken');
    }),
    counted('asks', () => askUser('Which city?')),
    counted('asks_too', () => askUser('Which day?', ['today', 'tomorrow'])),
    counted('stops', () => halt('all_done', { left: 0 })),
    counted('stops_too', () => halt('enough', 'second')),
    counted('pays', () => ({ paid: true }), {
      accessMode: AccessMode.WRITE,
      dangerLevel: DangerLevel.HIGH,
      executionCategory: ExecutionCategory.WRITE,
    }),
    toolOf('charge', undefined, { manual: true }),
    toolOf('refund', undefined, { manual: true }),
  ];
  return { tools, ran };
}

/** Returns a promise that a test can settle at any time. */
export function gate<T = void>(): {
  readonly opened: Promise<T>;
  readonly open: (value: T) => void;
} {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => (open = resolve));
  return { opened, open };
}

const partsOf = (message: ChatMessage): readonly { readonly type: string }[] =>
  typeof message.content === 'string' ? [] : message.content;

/**
 * Returns the calls in a thread that have no result directly after them. Throws if model services
 * wouldn't accept the thread.
 */
export function openCalls(messages: readonly ChatMessage[]): readonly string[] {
  const open: string[] = [];
  for (const [at, message] of messages.entries()) {
    const next = messages[at + 1];
    if (message.role === 'tool' && messages[at - 1]?.role !== 'assistant')
      throw new Error(`results without calls at ${at}`);
    if (message.role !== 'assistant') continue;
    const calls = (partsOf(message) as readonly ToolCallPart[])
      .filter(({ type, providerExecuted }) => type === 'tool-call' && providerExecuted !== true)
      .map(({ toolCallId }) => toolCallId);
    const results = next?.role === 'tool' ? next.content.map(({ toolCallId }) => toolCallId) : [];
    const inOrder = calls.filter((id) => results.includes(id));
    if (new Set(calls).size < calls.length || JSON.stringify(inOrder) !== JSON.stringify(results))
      throw new Error(`results of ${results.join()} for the calls ${calls.join()}`);
    open.push(...calls.filter((id) => !results.includes(id)));
  }
  return open;
}

/** Returns true if any model would accept the thread once all pending calls have results. */
export function isSendable({
  messages,
  pending,
}: Pick<ChatResult, 'messages' | 'pending'>): boolean {
  return (
    JSON.stringify(openCalls(messages)) === JSON.stringify(pending.map(({ callId }) => callId))
  );
}

/** Returns what the model read about each call, by id. */
export function outputsOf(messages: readonly ChatMessage[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.map(({ toolCallId, output }) => [toolCallId, output] as const)
        : [],
    ),
  );
}

export function assistant(
  ...calls: readonly (readonly [id: string, name: string, input?: ToolCallPart['input']])[]
): AssistantMessage {
  return {
    role: 'assistant',
    content: calls.map(([toolCallId, toolName, input = {}]) => ({
      type: 'tool-call',
      toolCallId,
      toolName,
      input,
    })),
  };
}

export function results(
  ...values: readonly (readonly [id: string, name: string, value: string])[]
): ChatMessage {
  return {
    role: 'tool',
    content: values.map(([toolCallId, toolName, value]) => ({
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: 'text', value },
    })),
  };
}

export const user = (content: string): ChatMessage => ({ role: 'user', content });
