import { RecentMap } from '../core/recent-map.js';

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

const NONE: ApprovalCounts = { asked: 0, granted: 0, denied: 0, coveredByGrants: 0 };
const MOST_CONVERSATIONS = 1_000;

/** Counts what users are asked and answer. */
export class ApprovalCounter {
  #all = NONE;
  readonly #byTool = new Map<string, ApprovalCounts>();
  readonly #byConversation = new RecentMap<string, ApprovalCounts>(MOST_CONVERSATIONS);

  add(counted: keyof ApprovalCounts, toolName: string, conversationId: string | undefined): void {
    const more = (counts = NONE) => ({ ...counts, [counted]: counts[counted] + 1 });
    this.#all = more(this.#all);
    this.#byTool.set(toolName, more(this.#byTool.get(toolName)));
    if (conversationId !== undefined)
      this.#byConversation.set(conversationId, more(this.#byConversation.get(conversationId)));
  }

  read(): ApprovalMetrics {
    return Object.freeze({
      ...this.#all,
      byTool: Object.freeze(Object.fromEntries(this.#byTool)),
      byConversation: Object.freeze(Object.fromEntries(this.#byConversation)),
    });
  }
}
