import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolExecutor } from '../../src/index.js';
import { ADA, OperatorServer, pick, VIC } from './operator-fixture.js';
import { browserPresent, useBrowser, warnIfNoBrowser } from './page-fixture.js';

warnIfNoBrowser('the page for operators');

const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(!browserPresent)('the operator page (skipped without a browser)', () => {
  let executor: ToolExecutor;
  let server: OperatorServer;

  beforeEach(async () => {
    server = await OperatorServer.start([
      defineTool({
        name: 'refund',
        description: 'Refunds an order',
        inputSchema: z.object({ order: z.int(), note: z.string().optional() }),
        accessMode: 'write',
        preview: ({ order }) => ({ summary: `Refund order ${order}`, reversible: false }),
        execute: ({ order }) => `refunded ${order}`,
      }),
      defineTool({
        name: 'wipe',
        description: 'Erases a disk',
        inputSchema: z.object({ disk: z.int() }),
        accessMode: 'write',
        dangerLevel: 'high',
        preview({ disk }) {
          if (disk === 0) throw new Error('no disk 0');
          return `Erase disk ${disk}`;
        },
        execute: () => 'erased',
      }),
      pick,
      defineTool({
        name: 'status',
        description: 'Tells where an order is',
        inputSchema: z.object({ order: z.int(), speed: z.enum(['now', 'later']).optional() }),
        accessMode: 'readonly',
        execute: ({ order, speed }) => {
          if (order > 3) throw new Error(HOSTILE);
          return `order ${order} ${speed ?? ''}`;
        },
      }),
    ]);
    executor = server.executor;
  });
  afterEach(() => server.stop());

  const { open, leave } = useBrowser(); // Registered after the server's hooks, so pages close before the server.

  async function show(view: string, token = ADA) {
    const page = await open(`${server.url}/#/${view}`);
    await page.fill('#token', token);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('link', { name: /^Waiting/ }).waitFor();
    return page;
  }
  const refund = (order: number) =>
    executor.execute(
      { id: `refund-${order}`, name: 'refund', input: { order } },
      { principal: HOSTILE },
    );

  it('approves, edits, and denies pending calls, and answers a question', async () => {
    await refund(1);
    await refund(2);
    await refund(3);
    await executor.execute({ id: 'pick', name: 'pick' });
    const page = await show('waiting');
    const card = (text: string) => page.locator('article', { hasText: text });
    await card('Refund order 1').getByText("This can't be undone.").waitFor();
    await card('Refund order 1').getByRole('button', { name: 'Approve' }).click();
    await card('Refund order 1').getByText('no longer waiting').waitFor();
    await card('Refund order 2').locator('textarea').fill('{ "order": 22 }');
    await card('Refund order 2').getByRole('button', { name: 'Approve these arguments' }).click();
    await card('Refund order 2').getByText('no longer waiting').waitFor();
    await card('Refund order 3').getByRole('button', { name: 'Deny' }).click();
    await card('Which colour?').getByRole('button', { name: 'blue' }).click();
    await page.getByText('Nothing is waiting for you.').waitFor();
    await page.getByRole('button', { name: 'Hide 4 answered' }).click();
    await card('Refund').first().waitFor({ state: 'detached' });
    expect(await refund(1)).toMatchObject({ value: 'refunded 1' });
    expect(await refund(2)).toMatchObject({ value: 'refunded 22' });
    expect(await refund(3)).toMatchObject({ status: 'denied' });
    expect(await executor.execute({ id: 'pick', name: 'pick' })).toMatchObject({ value: 'blue' });
  });

  it('adds new calls at the end, and leaves answered calls in their places', async () => {
    await refund(1);
    await refund(2);
    const page = await show('waiting');
    const card = (text: string) => page.locator('article', { hasText: text });
    const places = async () => [
      await card('Refund order 1').boundingBox(),
      await card('Refund order 2').boundingBox(),
    ];
    await card('Refund order 2').waitFor();
    const before = await places();
    const [newest, oldest] = await executor.waiting();
    await executor.deny(oldest!);
    await refund(3);
    await page.getByText('1 new').waitFor();
    await card('Refund order 1').getByText('no longer waiting').waitFor();
    expect(await places()).toEqual(before);
    expect(await page.locator('article').allTextContents()).toEqual([
      expect.stringContaining('order 1'),
      expect.stringContaining('order 2'),
      expect.stringContaining('order 3'),
    ]);
    expect(newest!.input).toEqual({ order: 2 });
  });

  it('asks once more, naming the effect, before it approves a dangerous call', async () => {
    await executor.execute({ id: 'wipe', name: 'wipe', input: { disk: 4 } });
    const page = await show('waiting');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const sure = page.getByRole('button', { name: 'Yes: Erase disk 4' });
    await approve.dblclick();
    await sure.waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await approve.waitFor();
    expect(await executor.waiting()).toHaveLength(1);
    await approve.click();
    await sure.click();
    await page.getByText('no longer waiting').waitFor();
    expect(await executor.execute({ id: 'wipe', name: 'wipe', input: { disk: 4 } })).toMatchObject({
      value: 'erased',
    });
  });

  it('says that a call has no preview, and why', async () => {
    await executor.execute({ id: 'wipe', name: 'wipe', input: { disk: 0 } });
    const page = await show('waiting');
    await page.getByText('No preview: its preview failed').waitFor();
  });

  it('reports that another operator has already answered', async () => {
    await refund(1);
    const page = await show('waiting');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await approve.waitFor();
    await page.route('**/pending?*', (route) => route.abort());
    const [pending] = await executor.waiting();
    await executor.deny(pending!);
    await approve.click();
    await page.getByRole('alert').filter({ hasText: 'already been answered' }).waitFor();
    await leave(); // The aborted requests would fail the test.
  });

  it('is read-only for a token without the required role', async () => {
    await refund(1);
    const page = await show('waiting', VIC);
    await page.getByText('With this token you can view calls but not answer them.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  it('summarizes the last hour, and filters calls', async () => {
    for (let order = 1; order < 6; order += 1)
      await executor.execute(
        { id: `s-${order}`, name: 'status', input: { order } },
        { principal: 'bob' },
      );
    await executor.close(); // Writes the counts of this minute.
    const page = await show('overview');
    await page.getByText('2 of 5 failed').waitFor();
    await page.getByRole('link', { name: 'Calls' }).click();
    await page.getByText('5 of the last 1,000 calls').waitFor();
    await page.getByLabel('Status').selectOption('error');
    await page.getByText('2 of the last 1,000 calls').waitFor();
    expect(await page.locator('.calls > li').count()).toBe(2);
  });

  it("shows a conversation's calls and answers in order, linked from its calls and its card", async () => {
    const chat = { principal: 'bob', conversationId: 'chat/7' };
    const call = { id: 'r', name: 'refund', input: { order: 8 } };
    await executor.execute({ id: 's', name: 'status', input: { order: 4 } }, chat);
    await executor.execute(call, chat);
    const page = await show('waiting');
    await page.getByRole('article').getByRole('link', { name: 'chat/7' }).click();
    await page.getByRole('heading', { name: 'Conversation chat/7' }).waitFor();
    expect(await page.locator('.calls > li').allInnerTexts()).toEqual([
      expect.stringMatching(/status\s+EXECUTION_FAILED\s+<img src=x/),
      expect.stringMatching(/refund\s+approval_required/),
    ]);
    await executor.approve((await executor.waiting())[0] as never, { by: 'ada' });
    await executor.execute(call, chat);
    await page.locator('.calls > li').nth(3).waitFor();
    expect(await page.locator('.calls > li').allInnerTexts()).toEqual([
      expect.stringContaining('EXECUTION_FAILED'),
      expect.stringContaining('approval_required'),
      expect.stringMatching(/refund\s+approve\s+by ada/),
      expect.stringMatching(/refund\s+ok/),
    ]);
    await page.getByRole('link', { name: 'All calls' }).click();
    await page.getByLabel('Conversation').fill('CHAT');
    await page.getByText('3 of the last 1,000 calls').waitFor();
    await page.locator('summary', { hasText: 'EXECUTION_FAILED' }).click();
    await page.getByRole('link', { name: 'chat/7' }).click();
    await page.getByRole('heading', { name: 'Conversation chat/7' }).waitFor();
  });

  it("shows grants, which an operator can revoke, and operators' actions", async () => {
    await refund(1);
    const page = await show('waiting');
    await page.getByRole('button', { name: /^Also allow: refund with the same/ }).click();
    await page.getByText('no longer waiting').waitFor();
    await page.getByRole('link', { name: 'Actions' }).click();
    const grant = page.getByRole('article', { name: 'Grant for refund' });
    await grant.getByText('{"order":1}').waitFor();
    await page.locator('.calls > li', { hasText: 'grant' }).getByText('ada').waitFor();
    await grant.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No active grants.').waitFor();
    await page.locator('.calls > li', { hasText: 'revoke' }).waitFor();
    expect(await executor.grants()).toEqual([]);
  });

  it('shows the 200 oldest calls, lets the next one follow, and finds a newer one by a part of its name', async () => {
    for (let order = 1; order <= 201; order += 1) await refund(order);
    await executor.execute({ id: 'wipe', name: 'wipe', input: { disk: 4 } });
    const page = await show('waiting');
    const card = page.locator('article');
    await page.getByText('The 200 oldest calls.').waitFor();
    expect(await card.count()).toBe(200);
    await card.first().getByRole('button', { name: 'Deny' }).click();
    await card.nth(200).getByText('Refund order 201').waitFor();
    await page.getByLabel('Tool').fill('WIP');
    await page.getByText('1 waiting, oldest first').waitFor();
    expect(await card.allInnerTexts()).toEqual([expect.stringContaining('Erase disk 4')]);
    await page.getByLabel('Tool').fill('wipes');
    await page.getByText('No such call is waiting.').waitFor();
  });

  it('opens the card that a link names', async () => {
    for (const order of [1, 2, 3]) await refund(order);
    const [newest] = await executor.waiting();
    const page = await show(`waiting?open=${newest!.id}`);
    await page.locator('article:focus', { hasText: 'Refund order 3' }).waitFor();
    await page.goto(`${server.url}/#/waiting?open=gone`);
    await page.getByText("The call that the link leads to isn't waiting any more.").waitFor();
  });

  it('runs a tool from a form, and shows what a model would read', async () => {
    const page = await show('tools?open=status');
    await page.locator('.try input').fill('2');
    await page.locator('.try select').selectOption({ label: '"later"' });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('order 2 later', { exact: true }).waitFor();
  });

  it('runs a write that was tried once, after its approval', async () => {
    const page = await show('tools?open=refund');
    await page.locator('.try input').first().fill('5');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('It waits for a person.').waitFor();
    const [pending] = await executor.waiting();
    await executor.approve(pending as never);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('refunded 5', { exact: true }).waitFor();
  });
});
