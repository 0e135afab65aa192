import { InMemoryTransport, Server, type Tool } from '@modelcontextprotocol/server';
import { afterAll, describe, expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry, type ToolOutcome } from '../../src/index.js';
import type { OnElicit } from '../../src/mcp/connection/elicitation.js';
import { ManualClock } from '../../src/testing.js';
import { signalled } from './server-clients.js';
import { IN_PROCESS_PACKAGES } from './servers/in-process.js';
import { Demo, official, rawTool, listed } from './servers/start.js';

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const reads = {
  access_mode: 'readonly',
  requires_consent: false,
  allow_parallel: true,
  timeout_seconds: 30,
};

/** A server that asks a question during a call, the tool that asks, and the user who answers. */
async function asking(
  start: { readonly command: string; readonly args: readonly string[] },
  onElicit: OnElicit,
  isRouted = false,
) {
  const discovery = await listed({ asks: { ...start, ...reads } }, { onElicit });
  const registry = new ToolMetadataRegistry();
  registry.registerAll(discovery.definitions());
  const clock = new ManualClock();
  const executor = new ToolExecutor({
    registry,
    clock,
    ...(isRouted && { providers: { mcp: discovery.provider } }),
  });
  closing.push(() => executor.close());
  return { clock, executor };
}

/** Returns the outcome's value and content, or the whole outcome of a failed call, as text. */
const answerIn = (outcome: ToolOutcome) =>
  JSON.stringify(outcome.status === 'ok' ? [outcome.value, outcome.content] : outcome);

// The question arrives in the call's response or during the call.
const SERVERS = [
  { era: '2026', tool: 'mcp.asks.ask_once', start: () => new Demo('ask_once').start },
  {
    era: '2025',
    tool: 'mcp.asks.trigger-elicitation-request',
    start: () => official('everything'),
  },
] as const;

describe.each(SERVERS)('questions from a $era-protocol server', ({ era, tool, start }) => {
  it.each([false, true])(
    "the user's response time doesn't count toward the timeout (through a provider: %s)",
    async (isRouted) => {
      const setUp: Awaited<ReturnType<typeof asking>> = await asking(
        start(),
        async () => {
          setUp.clock.advance(3_600_000);
          return { action: 'accept', content: { name: 'Ada' } };
        },
        isRouted,
      );
      expect(await setUp.executor.execute({ id: 'k1', name: tool, input: {} })).toMatchObject({
        status: 'ok',
      });
    },
  );

  it("the handler gets the call and the principal, and the answer includes the form's defaults", async () => {
    const heard: unknown[] = [];
    const { executor } = await asking(
      start(),
      async (server, { message }, { signal, ...about }) => {
        heard.push([server, typeof message, about, signal.aborted]);
        return { action: 'accept', content: { name: 'Ada' } };
      },
    );
    const outcome = await executor.execute(
      { id: 'k1', name: tool, input: {} },
      { principal: 'ada' },
    );
    expect(heard).toEqual([
      ['asks', 'string', { call: { id: 'k1', toolName: tool }, principal: 'ada' }, false],
    ]);
    const shown = answerIn(outcome);
    expect(shown).toContain('Ada');
    expect(shown).toMatch(era === '2026' ? /size\\*":3/ : /It was a dark and stormy night/);
    expect(shown).not.toContain('"note');
  });

  it("the question's signal is aborted if the caller aborts the call", async () => {
    const asked = signalled();
    let heard: AbortSignal | undefined;
    const { executor } = await asking(start(), (_server, _request, { signal }) => {
      heard = signal;
      asked.fire();
      return new Promise(() => undefined);
    });
    const caller = new AbortController();
    const call = executor.execute({ id: 'k1', name: tool, input: {} }, { signal: caller.signal });
    await asked.fired;
    caller.abort();
    expect(await call).toMatchObject({ status: 'error', code: 'ABORTED' });
    expect(heard?.aborted).toBe(true);
  });
});

it('a call fails if the server asks more than ten questions', async () => {
  let questions = 0;
  const onElicit: OnElicit = async () => {
    questions += 1;
    if (questions > 20) throw new Error('asked without end');
    return { action: 'accept', content: { name: 'Ada' } };
  };
  const discovery = await listed({ asks: { ...new Demo('ask').start, ...reads } }, { onElicit });
  await expect(
    discovery.callTool('asks', 'ask', {}, { signal: new AbortController().signal }),
  ).rejects.toThrow();
  expect(questions).toBe(10);
});

const secret = 'connect postgres://admin:hunter2@db.internal:5432 failed at /home/me/app.js';
it.each([
  ['rejects', () => Promise.reject(new Error(secret))],
  [
    'throws',
    () => {
      throw new Error(secret);
    },
  ],
] as const satisfies readonly (readonly [string, OnElicit])[])(
  'if the onElicit callback %s, neither the server nor the model learns the reason',
  async (_, onElicit) => {
    const { executor } = await asking(official('everything'), onElicit);
    const outcome = await executor.execute({ id: 'a', name: SERVERS[1].tool, input: {} });
    expect(JSON.stringify(outcome)).not.toMatch(/hunter2|db\.internal|home|destructure/);
    expect(JSON.stringify(outcome)).toMatch(/couldn't be answered|Expected onElicit to return/);
  },
);

it("a 2025-protocol server can't ask a user while two principals have calls running, and is told why", async () => {
  // Both calls run until both questions are answered.
  const [arrived, answered] = [meeting(2), meeting(2)];
  const server = new Server({ name: 'asks', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [rawTool('ask') as Tool] }));
  server.setRequestHandler('tools/call', async () => {
    await arrived();
    const told = await server
      .elicitInput({
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      })
      .then(
        ({ action }) => action,
        (error: Error) => error.message,
      );
    await answered();
    return { content: [{ type: 'text', text: told }] };
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  let questions = 0;
  const discovery = await listed(
    { asks: { command: 'asks', ...reads } },
    {
      onElicit: async () => {
        questions += 1;
        return { action: 'accept', content: { name: 'Ada' } };
      },
      packages: {
        ...IN_PROCESS_PACKAGES,
        // A constructor that returns a different object than its own instance.
        stdio: () =>
          Promise.resolve({
            StdioClientTransport: function () {
              return near;
            },
          }),
      },
    },
  );
  const results = await Promise.all(
    ['ada', 'bob'].map((principal) => discovery.callTool('asks', 'ask', {}, { principal })),
  );
  expect(questions).toBe(0);
  const why = expect.stringContaining('several users have calls running');
  expect(results).toMatchObject([{ value: why }, { value: why }]);
});

/** Returns a function that resolves once it has been called `count` times. */
function meeting(count: number): () => Promise<void> {
  const all = signalled();
  let come = 0;
  return () => {
    if (++come === count) all.fire();
    return all.fired;
  };
}
