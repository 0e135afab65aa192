import type { Listeners } from '../core/listeners.js';
import type { ToolEvent } from '../core/tool-event.js';

/** The counts of questions to users, of their answers, and of calls that a grant spared the question. */
interface ApprovalCounts {
  readonly asked: number;
  readonly granted: number;
  readonly denied: number;
  readonly coveredByGrants: number;
}

/** The counts of this executor: in all, by tool, and by conversation (the 1,000 that were last asked in). */
export interface ApprovalMetrics extends ApprovalCounts {
  readonly byTool: Readonly<Record<string, ApprovalCounts>>;
  readonly byConversation: Readonly<Record<string, ApprovalCounts>>;
}

type Counts = { -readonly [Each in keyof ApprovalCounts]: number };

const COUNTED = {
  requested: 'asked',
  granted: 'granted',
  denied: 'denied',
  covered: 'coveredByGrants',
} as const;
const MOST_CONVERSATIONS = 1_000;
const none = (): Counts => ({ asked: 0, granted: 0, denied: 0, coveredByGrants: 0 });

/** Counts the approvals that an executor tells of. @returns a function that reads the counts. */
export function countApprovals(listeners: Listeners<ToolEvent>): () => ApprovalMetrics {
  const all = none();
  const byTool = new Map<string, Counts>();
  const byConversation = new Map<string, Counts>();
  listeners.add((event) => {
    if (event.type !== 'approval' || event.state === 'redeemed' || event.state === 'refused')
      return;
    const counted = COUNTED[event.state];
    all[counted] += 1;
    countsOf(byTool, event.toolName)[counted] += 1;
    if (event.conversationId === undefined) return;
    const counts = countsOf(byConversation, event.conversationId);
    counts[counted] += 1;
    byConversation.delete(event.conversationId);
    byConversation.set(event.conversationId, counts);
    if (byConversation.size > MOST_CONVERSATIONS)
      byConversation.delete(byConversation.keys().next().value!);
  });
  return () =>
    Object.freeze({ ...all, byTool: plain(byTool), byConversation: plain(byConversation) });
}

function countsOf(by: Map<string, Counts>, name: string): Counts {
  let counts = by.get(name);
  if (counts === undefined) by.set(name, (counts = none()));
  return counts;
}

function plain(by: ReadonlyMap<string, Counts>): Readonly<Record<string, ApprovalCounts>> {
  return Object.freeze(
    Object.fromEntries([...by].map(([name, counts]) => [name, Object.freeze({ ...counts })])),
  );
}
