import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { aFunction, withMethods, type FieldsOf } from '../../core/options.js';
import { canonicalJson, type Json } from '../../core/plain-data.js';
import type { ToolEvent } from '../../core/tool-event.js';
import {
  type CallContext,
  type Confirm,
  type Decision,
  type PendingApproval,
  type Policy,
  POLICY_MODES,
  type StoredPending,
  type ToolCall,
  type ToolOutcome,
} from '../../safety/calls.js';
import type { PendingCalls } from '../../safety/pending-calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { exportShape, type ExportOptions } from '../export/exported-tools.js';

/** The caller of a call. */
type CallFrame = Omit<CallContext, 'flow'>;

interface CallOptions extends CallFrame {
  /** Ends the call when it aborts. @default none */
  readonly signal?: AbortSignal;
  /** Asks the user. @default the executor's */
  readonly confirm?: Confirm;
  /** A policy in addition to the executor's. The stricter one decides. @default none */
  readonly policy?: Policy;
  /** Passed to the tool as `context.context`. @default none */
  readonly context?: unknown;
}

/** Makes the calls of a framework, and keeps those that need a user. A `ToolExecutor` does. */
export interface CallExecutor {
  /** Judges a call, and stores it if it needs approval. Nothing runs. */
  request(
    call: ToolCall,
    options?: Omit<CallOptions, 'confirm'>,
  ): Promise<StoredPending | (Decision & { readonly refused?: string })>;
  /** Records that a user approved a stored call. */
  approve(pending: PendingApproval): Promise<unknown>;
  readonly pendingCalls: Pick<PendingCalls, 'find' | 'list'>;
  /** Makes a call, with the approval that was recorded for it. */
  execute(call: ToolCall, options?: CallOptions): Promise<ToolOutcome>;
  /** Adds a listener for events. Returns a function that removes it. */
  on?(listener: (event: ToolEvent) => void): () => void;
}

/** The options of tools in another framework. */
export interface FrameworkOptions extends ExportOptions, CallFrame {
  /** Makes the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** A policy in addition to the executor's. The stricter one decides. @default none */
  readonly policy?: Policy;
  /** Passed to tools as `context.context` if the framework has no context for the call. @default none */
  readonly context?: unknown;
  /** Returns who makes a call, from the context of the call, if one set of tools serves many users. What it returns replaces the options of the same name. @default the options, for all calls */
  caller?(context: unknown): CallFrame | Promise<CallFrame>;
}

const name = z.string().optional();
const names = z.array(z.string()).optional();

export const frameworkSchema = z.strictObject({
  ...{
    principal: name,
    scopes: names,
    flags: names,
    persona: name,
    conversationId: name,
    mode: z.enum(POLICY_MODES).optional(),
  },
  ...exportShape,
  executor: withMethods<CallExecutor>('a ToolExecutor', 'execute', 'request', 'approve'),
  policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
  context: z.unknown().optional(),
  caller: aFunction<NonNullable<FrameworkOptions['caller']>>().optional(),
} satisfies FieldsOf<FrameworkOptions>);

/** A call, who makes it, and the program's own context. */
export interface FramedCall extends ToolCall {
  readonly frame: CallFrame & { readonly context?: unknown };
}

type Frame = (call: ToolCall, given: unknown) => Promise<FramedCall>;

/**
 * Returns a function that adds to a call who makes it, and its context: the framework's, or else that of the options. A
 * model wrote the call, so neither comes from it.
 */
export function framing({
  principal,
  scopes,
  flags,
  persona,
  conversationId,
  mode,
  context,
  caller,
}: { readonly [Option in keyof FrameworkOptions]?: FrameworkOptions[Option] | undefined }): Frame {
  const own: CallFrame = Object.fromEntries(
    Object.entries({ principal, scopes, flags, persona, conversationId, mode }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return async (call, given) => {
    const used = given ?? context;
    return {
      ...call,
      frame: { ...own, ...(await caller?.(used)), ...(used !== undefined && { context: used }) },
    };
  };
}

interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Asks about calls that need approval. */
  readonly confirm?: Confirm | undefined;
  readonly onProgress?: ((progress: unknown) => void) | undefined;
}

/**
 * The calls that another framework asks for.
 *
 * Frameworks ask a user before a call runs, and pass on a yes. The executor stores what the user is asked about. A yes
 * approves exactly this call, and it runs once, in any process and however often the framework sends its messages again.
 */
export class GuardedCalls {
  readonly #executor: CallExecutor;
  readonly #policy: Pick<CallOptions, 'policy'>;

  constructor(executor: CallExecutor, policy?: Policy) {
    this.#executor = executor;
    this.#policy = policy === undefined ? {} : { policy };
  }

  /** Returns true if the framework has to ask a user about a call. The executor stores the call. */
  async needsApproval({ frame, ...call }: FramedCall): Promise<boolean> {
    const asked = await this.#executor.request(call, { ...frame, ...this.#policy });
    return 'kind' in asked && asked.kind === 'approval';
  }

  /**
   * Records the user's yes to a call that was asked about.
   *
   * @param always true if the user approved all calls of the tool. Then nobody was asked about this one.
   * @throws ToolError `INVALID_APPROVAL` for a call that is not stored, or shares its id with another one.
   */
  async approve(entry: ToolEntry, call: FramedCall, always = false): Promise<void> {
    const { pendingCalls } = this.#executor;
    const { principal, conversationId } = call.frame;
    const asked = {
      principal,
      conversationId,
      callId: call.id,
      toolName: entry.name,
      input: (call.input ?? {}) as Json,
      definitionDigest: entry.digest,
    };
    let pending = await pendingCalls.find(asked);
    if (pending === undefined && always && (await this.needsApproval(call)))
      pending = await pendingCalls.find(asked);
    if (pending?.kind !== 'approval') {
      if (always) return;
      throw new ToolError(
        'INVALID_APPROVAL',
        'The executor does not know this approval. Its store restarted, or the call, its arguments, its tool or its caller changed. Ask again.',
      );
    }
    if (pending.answer !== undefined) return; // The executor checks whether it ran.
    const others = (await pendingCalls.list()).filter(
      (each) =>
        each.kind === 'approval' &&
        each.answer === undefined &&
        each.callId === call.id &&
        each.toolName === entry.name &&
        each.principal === principal &&
        each.conversationId === conversationId &&
        !isSameInput(each.input, asked.input),
    );
    if (others.length > 0 && !always)
      throw new ToolError(
        'INVALID_APPROVAL',
        'Several calls with different inputs share the approved id, so none of them ran. Call again, each with an id of its own.',
      );
    await this.#executor.approve(pending);
  }

  /** Makes a call. */
  async run(
    entry: ToolEntry,
    { frame, ...call }: FramedCall,
    { signal, confirm, onProgress }: RunOptions,
  ): Promise<ToolOutcome> {
    const stop =
      onProgress &&
      this.#executor.on?.(
        (event) =>
          event.type === 'call-progress' &&
          event.callId === call.id &&
          event.toolName === entry.name &&
          onProgress(event.progress),
      );
    try {
      return await this.#executor.execute(call, {
        ...frame,
        ...this.#policy,
        ...(signal && { signal }),
        ...(confirm && { confirm }),
      });
    } finally {
      stop?.();
    }
  }
}

/** Compares two inputs as JSON. */
export function isSameInput(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/**
 * Returns the result of a call.
 *
 * @throws ToolError with the message of `readOutcome` if there is no result. The code is that of an
 * `error`, `INVALID_APPROVAL` for `approval_required`, and `NOT_EXECUTABLE` for `denied`, `manual`,
 * and `ask_user`. `details` has the outcome's `status`, and `pending` if somebody has to answer.
 */
export function resultOf(outcome: ToolOutcome): Json {
  const { kind, text: message, data, code, pending } = readOutcome(outcome);
  if (kind === 'result') return data!;
  const { status } = outcome;
  const details = {
    ...(status === 'error' && outcome.details),
    status,
    ...(pending && { pending }),
  };
  throw new ToolError(
    code ?? (status === 'approval_required' ? 'INVALID_APPROVAL' : 'NOT_EXECUTABLE'),
    message,
    { details },
  );
}
