import { ToolError } from '../core/errors.js';
import { LIMITS } from '../core/limits.js';
import { cloneFrozen, digestOf, type Json } from '../core/plain-data.js';
import type { StateStore } from '../state/state-store.js';
import { Approvals, type Approval, type ApprovalsOptions, type ApprovedCall } from './approvals.js';
import type { Decision, Pending, PendingApproval, StoredPending } from './calls.js';
import { Signer } from './signer.js';

const RECORD = 'tooldex/stored-pending/v1';
const ANSWER = 'tooldex/pending-answer/v1';
/** The store key of the list of the newest pending calls. */
const INDEX = 'pending-calls';
/** The store key of the list of the newest answered calls. */
const ANSWERED = 'answered-calls';
const MOST_LISTED = 1_000;

/**
 * An answer as stored: an approval, possibly with edited arguments, or a result. An answer without
 * an approval and without a result is a denial.
 */
interface Answer {
  readonly approval?: Approval;
  readonly input?: Json;
  readonly value?: Json;
}

/**
 * The calls that are waiting for a person or program: approvals, questions, and manual calls, with
 * their answers.
 *
 * Pending calls are signed and kept in the store as long as they can be answered. The key of a
 * pending call consists of principal, conversation, call id, tool, and arguments. Asking again
 * about the same call therefore returns the stored call. Any process that has the store and the key
 * can list and answer pending calls.
 */
export class PendingCalls {
  /** Issues and redeems approvals. */
  readonly approvals: Approvals;
  readonly #store: StateStore;
  readonly #signer: Signer;

  constructor(options: ApprovalsOptions) {
    this.approvals = new Approvals(options);
    this.#store = options.store;
    this.#signer = new Signer(options.key);
  }

  /**
   * Stores a question that asks for approval. Replaces an earlier question about the same call.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async ask(
    call: ApprovedCall,
    decision: Decision,
    shown: Pick<PendingApproval, 'preview' | 'noPreview'>,
  ): Promise<PendingApproval> {
    const pending = await this.approvals.request(call, decision, shown);
    await this.#write(pending, pending.expiresAt - pending.createdAt);
    return pending;
  }

  /**
   * Stores a question or manual call.
   * @returns The stored call and its answer if the same call is already stored, and this call if
   * not.
   */
  async keep(pending: Exclude<Pending, PendingApproval>): Promise<StoredPending> {
    const { kind, createdAt, expiresAt = Infinity } = { expiresAt: undefined, ...pending };
    const stored = await this.find({ principal: undefined, ...pending });
    const { question } = { question: undefined, ...pending };
    const { question: asked } = { question: undefined, ...stored };
    if (stored?.kind === kind && asked === question) return stored;
    await this.#write(pending, Math.min(LIMITS.timerMs, Math.max(1, expiresAt - createdAt)));
    return pending;
  }

  /**
   * Returns the stored pending call for a call, provided that the tool's definition hasn't changed
   * and the store hasn't restarted since.
   */
  async find(call: ApprovedCall): Promise<StoredPending | undefined> {
    const found = await this.#read(keyOf(call));
    return found?.definitionDigest === call.definitionDigest ? found : undefined;
  }

  /**
   * Returns the user's approval of a stored call, and the arguments if the user edited them.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async approvalOf({ id }: PendingApproval): Promise<Required<Pick<Answer, 'approval'>> & Answer> {
    return (await this.#answerTo(id)) as Required<Pick<Answer, 'approval'>> & Answer;
  }

  /**
   * Returns the newest thousand stored calls and their answers, newest first.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async list(): Promise<readonly StoredPending[]> {
    const keys = new Set((await this.#store.read(INDEX, { limit: MOST_LISTED })).toReversed());
    const found = await Promise.all([...keys].map((key) => this.#read(key)));
    return Object.freeze(found.filter((each) => each !== undefined));
  }

  /**
   * Returns the calls that have unused answers and aren't in `known`, and adds them to `known`.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async answered(known: Set<string>): Promise<readonly StoredPending[]> {
    const items = await this.#store.read(ANSWERED, { limit: MOST_LISTED });
    const fresh = items.filter((item) => !known.has(item));
    known.clear();
    for (const item of items) known.add(item);
    const found = await Promise.all(fresh.map((item) => this.#unused(item)));
    return found.filter((each) => each !== undefined);
  }

  async #unused(item: string): Promise<StoredPending | undefined> {
    const [id, key = ''] = item.split(' ');
    const stored = await this.#read(key);
    if (stored?.id !== id || stored?.answer === undefined) return undefined;
    const isUsed =
      stored.answer === 'approved' && (await this.approvals.isUsed({ pendingId: stored.id }));
    return isUsed ? undefined : stored;
  }

  /**
   * Returns a stored call by its id, if it's among the newest thousand.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async get(id: string): Promise<StoredPending | undefined> {
    return (await this.list()).find((each) => each.id === id);
  }

  /**
   * Approves a call, optionally with other arguments in `edited`.
   *
   * @throws ToolError `INVALID_APPROVAL` if the call was changed, has expired, or has already been
   * answered; `STATE_UNAVAILABLE`.
   */
  async approve(
    { answer: _, ...pending }: PendingApproval & Pick<StoredPending, 'answer'>,
    edited?: { readonly input: unknown },
  ): Promise<Approval> {
    const approval = await this.approvals.grant(pending, edited);
    await this.#answer(pending, pending.expiresAt - pending.createdAt, {
      approval,
      ...(edited !== undefined && { input: cloneFrozen(edited.input) as Json }),
    });
    return approval;
  }

  /**
   * Approves a call that continues immediately. If the same call is made later, the user is asked
   * again.
   * @throws ToolError like `approve`.
   */
  async approveNow(
    pending: PendingApproval,
    edited?: { readonly input: unknown },
  ): Promise<Approval> {
    const approval = await this.approvals.grant(pending, edited);
    const key = keyOf({ principal: undefined, ...pending });
    await this.#store.compareAndSet(key, await this.#store.get(key), undefined);
    return approval;
  }

  /** Denies a pending call. @throws ToolError like `approve` and `answer`. */
  async deny({ answer: _, ...pending }: StoredPending): Promise<void> {
    if (pending.kind !== 'approval' && 'kind' in pending)
      return this.#answer(pending, LIMITS.timerMs, {});
    await this.approvals.deny(pending);
    await this.#answer(pending, pending.expiresAt - pending.createdAt, {});
  }

  /**
   * Answers a question or manual call with a result, which must be plain data.
   *
   * @throws ToolError `ALREADY_RESOLVED` if the call has already been answered;
   * `STATE_UNAVAILABLE`.
   */
  async answer(pending: Exclude<Pending, PendingApproval>, value: Json): Promise<void> {
    await this.#answer(pending, LIMITS.timerMs, { value: cloneFrozen(value) });
  }

  async #answer(pending: Pending, ttlMs: number, answer: Answer): Promise<void> {
    const { id } = pending;
    const text = JSON.stringify(this.#signer.signed(ANSWER, { id, ...answer }));
    if (!(await this.#store.compareAndSet(answerKey(id), undefined, text, { ttlMs })))
      throw new ToolError(
        'ALREADY_RESOLVED',
        'This call has already been answered, and the first answer counts. To ask again, make the call again.',
        { details: { pendingId: id } },
      );
    const item = `${id} ${keyOf({ principal: undefined, ...pending })}`;
    await this.#store.append(ANSWERED, item, { max: MOST_LISTED });
  }

  async #answerTo(id: string): Promise<Answer | undefined> {
    const answer = genuine(this.#signer, ANSWER, await this.#store.get(answerKey(id)));
    return answer?.['id'] === id ? answer : undefined;
  }

  async #write(pending: Pending, ttlMs: number): Promise<void> {
    const key = keyOf({ principal: undefined, ...pending });
    const text = JSON.stringify(this.#signer.signed(RECORD, { pending }));
    // If two processes ask at once, the later question is stored, but both can be answered.
    while (!(await this.#store.compareAndSet(key, await this.#store.get(key), text, { ttlMs })));
    await this.#store.append(INDEX, key, { max: MOST_LISTED });
  }

  async #read(key: string): Promise<StoredPending | undefined> {
    const record = genuine(this.#signer, RECORD, await this.#store.get(key));
    const pending = record?.['pending'] as Pending | undefined;
    // A record that was copied to another key isn't valid under that key.
    if (pending === undefined || keyOf({ principal: undefined, ...pending }) !== key)
      return undefined;
    if (pending.kind === 'approval' && pending.storeIdentity !== (await this.#store.now()).identity)
      return undefined;
    const answer = await this.#answerTo(pending.id);
    if (answer === undefined) return pending;
    const { approval, value } = answer;
    return Object.freeze({
      ...pending,
      answer: approval ? 'approved' : value === undefined ? 'denied' : Object.freeze({ value }),
    });
  }
}

function keyOf(call: Omit<ApprovedCall, 'definitionDigest'>): string {
  const { principal = null, conversationId = null, callId, toolName, input } = call;
  return `pending:${digestOf([principal, conversationId, callId, toolName, input])}`;
}

/** Returns the store key of a pending call's answer. */
export const answerKey = (id: string) => `pending-answer:${id}`;

/** Returns a record if tooldex signed it, and `undefined` for any other data in the store. */
function genuine(
  signer: Signer,
  purpose: string,
  text: string | undefined,
): Readonly<Record<string, unknown>> | undefined {
  try {
    return text === undefined ? undefined : signer.genuine(purpose, JSON.parse(text));
  } catch {
    return undefined;
  }
}
