import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import { FakeTerminal } from './fake-terminal.js';

const root = resolve(import.meta.dirname, '../..');

describe('the chat in the overview', () => {
  it('shows one turn whose manual call is pending, kept as JSON and resumed', async () => {
    const terminal = new FakeTerminal({ columns: 80 });
    expect(await runCli([], terminal, root)).toBe(0);
    const chat = terminal.printed.slice(terminal.printed.indexOf('\nChat'));
    expect(chat).toMatch(/user +What did order 17 cost[^]*order_price → 12\.50 €\n +awaiting_tools: refund [^]*characters\s+of JSON\n[^]*submitToolResult[^]*refund → \{"refunded":true[^]*assistant Order 17 cost/);
    expect(Math.max(...chat.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('says the same as JSON, and nothing of it beside the tools of others', async () => {
    const terminal = new FakeTerminal();
    await runCli(['--json'], terminal, root);
    const { turn } = JSON.parse(terminal.printed) as { turn: unknown };
    expect(turn).toMatchObject({ held: { status: 'awaiting_tools', haltedReason: 'manual_tool_calls', pending: [{ kind: 'manual', callId: 'call-2' }] }, resumed: { status: 'completed' } });
    const others = new FakeTerminal();
    await runCli(['--json', '--tools', 'test/fixtures/legacy'], others, root);
    expect(JSON.parse(others.printed)).not.toHaveProperty('turn');
  });
});
