import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { aFunction, withMethods, type FieldsOf } from '../../core/options.js';
import { canonicalJson, type Json, without } from '../../core/plain-data.js';
import type { ToolEvent } from '../../core/tool-event.js';
import {
  type CallContext,
  type Confirm,
  type Decision,
  type Pending,
  type PendingApproval,
  type Policy,
  POLICY_MODES,
  type StoredPending,
  type ToolCall,
  type ToolOutcome,
} from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { WaitingFilter } from '../../safety/waiting-calls.js';
import { exportShape, type ExportOptions } from '../export/exported-tools.js';

/** The principal, conversation and other facts about the caller of a call. */
type CallFrame = Omit<CallContext, 'flow'>;

interface CallOptions extends CallFrame {
  /** Aborts the call. @default none */
  readonly signal?: AbortSignal;
  /** Asks the user. @default the executor's */
  readonly confirm?: Confirm;
  /** A policy in addition to the executor's. The stricter decision wins. @default none */
  readonly policy?: Policy;
  /** The value that the tool receives as `context.context`. @default none */
  readonly context?: unknown;
}

/**
 * Runs a framework's calls, and stores calls that need a user. `ToolExecutor` implements this
 * interface.
 */
export interface CallExecutor {
  /** Evaluates a call, and stores it if it needs approval. Doesn't run the call. */
  request(
    call: ToolCall,
    options?: Omit<CallOptions, 'confirm'>,
  ): Promise<StoredPending | (Decision & { readonly refused?: string })>;
  /** Records that a user approved a stored call. */
  approve(pending: PendingApproval): Promise<unknown>;
  /** Returns the calls that wait for a user. */
  waiting(filter: WaitingFilter): Promise<readonly Pending[]>;
  /** Runs a call, using the approval recorded for it. */
  execute(call: ToolCall, options?: CallOptions): Promise<ToolOutcome>;
  /** Calls `listener` for every event. Returns a function that unsubscribes. */
  on?(listener: (event: ToolEvent) => void): () => void;
}

/** The options for exporting tools to another framework. */
export interface FrameworkOptions extends ExportOptions, CallFrame {
  /** The object that runs the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** A policy in addition to the executor's. The stricter decision wins. @default none */
  readonly policy?: Policy;
  /**
   * The value that tools receive as `context.context` if the framework doesn't provide a context
   * for the call. @default none
   */
  readonly context?: unknown;
  /**
   * Returns the caller of a call, based on the call's context. Use this option if one set of tools
   * serves several users. The returned fields override the options with the same names. @default
   * the options, for all calls
   */
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
  executor: withMethods<CallExecutor>('a ToolExecutor', 'execute', 'request', 'approve', 'waiting'),
  policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
  context: z.unknown().optional(),
  caller: aFunction<NonNullable<FrameworkOptions['caller']>>().optional(),
} satisfies FieldsOf<FrameworkOptions>);

interface RunDetails {
  readonly onProgress?: ((progress: unknown) => void) | undefined;
  /**
   * The kind of approval, if the user approved the call. `always` means that the user approved all
   * calls to the tool, and so wasn't asked about this call.
   */
  readonly approved?: 'once' | 'always' | undefined;
}

/**
 * Runs the calls that another framework makes. If the policy requires approval, a call runs only
 * after the user has approved it.
 *
 * Frameworks ask a user before a call runs, and only report that the user approved. So the executor
 * stores the call that the user was asked about. An approval covers only this exact call. The call
 * runs once, even if the framework sends its messages again, and even from another process.
 */
export class GuardedCalls {
  readonly #executor: CallExecutor;
  readonly #options: CallOptions;
  readonly #caller: FrameworkOptions['caller'] | undefined;

  constructor(
    executor: CallExecutor,
    options: { readonly [Option in keyof FrameworkOptions]?: FrameworkOptions[Option] | undefined },
  ) {
    const { principal, scopes, flags, persona, conversationId, mode, policy, context } = options;
    const frame = { principal, scopes, flags, persona, conversationId, mode };
    this.#executor = executor;
    this.#options = without({ ...frame, policy, context });
    this.#caller = options.caller;
  }

  /**
   * Returns the options for a call. Nothing is taken from the call itself, because a model wrote it.
   *
   * @param frameworkContext Takes precedence over the context in the program's options.
   * @throws any error from the program's `caller`.
   */
  async optionsFor(
    frameworkContext: unknown,
    own: { [Option in 'signal' | 'confirm']?: CallOptions[Option] | undefined } = {},
  ): Promise<CallOptions> {
    const { policy } = this.#options;
    const context = frameworkContext ?? this.#options.context;
    const caller = await this.#caller?.(context);
    return { ...this.#options, ...caller, ...without({ policy, context, ...own }) };
  }

  /**
   * Returns true if the framework has to ask a user about a call. If so, the executor has already
   * stored the call.
   */
  async needsApproval(call: ToolCall, options: CallOptions): Promise<boolean> {
    const asked = await this.#executor.request(call, options);
    return 'kind' in asked && asked.kind === 'approval';
  }

  /**
   * Runs a call.
   *
   * @throws ToolError `INVALID_APPROVAL` if the user approved the call, but the executor doesn't know
   * the call, or knows several calls with its id.
   */
  async run(
    call: ToolCall,
    options: CallOptions,
    { onProgress, approved }: RunDetails,
  ): Promise<ToolOutcome> {
    const { id, name } = call;
    const stop =
      onProgress &&
      this.#executor.on?.((event) => {
        if (event.type === 'call-progress' && event.callId === id && event.toolName === name)
          onProgress(event.progress);
      });
    try {
      const isStored = !approved || (await this.#approve(call, options, approved));
      const outcome = await this.#executor.execute(call, options);
      if (outcome.status !== 'approval_required' || isStored) return outcome;
      if (approved === 'once') throw unknownApproval();
      await this.#executor.approve(outcome.pending);
      return await this.#executor.execute(call, options);
    } finally {
      stop?.();
    }
  }

  /** Records that the user approved a call. @returns false if the call isn't waiting. */
  async #approve(
    { id: callId, name: toolName, input = {} }: ToolCall,
    { principal, conversationId }: CallFrame,
    approved: 'once' | 'always',
  ): Promise<boolean> {
    const owner = { principal: principal ?? null, conversationId: conversationId ?? null };
    const filter = { ...owner, toolName, callId };
    const waiting = (await this.#executor.waiting(filter)).filter(
      ({ kind }) => kind === 'approval',
    );
    const pending = waiting.find((each) => isSameInput(each.input, input));
    if (pending === undefined) return false;
    if (waiting.length > 1 && approved === 'once')
      throw new ToolError(
        'INVALID_APPROVAL',
        'Several calls with different inputs share the approved id, so none of them ran. Call them again, each with a unique id.',
      );
    await this.#executor.approve(pending as PendingApproval);
    return true;
  }
}

function unknownApproval(): ToolError {
  return new ToolError(
    'INVALID_APPROVAL',
    "The executor doesn't know this approval: its store restarted, or the call, its arguments, its preview, its tool or its caller changed. Request a new approval.",
  );
}

/** Compares two inputs as JSON. */
export function isSameInput(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/**
 * Returns the result of a call.
 *
 * @throws ToolError with the text from `readOutcome` if there is no result. The code is the
 * outcome's code for `error`, `INVALID_APPROVAL` for `approval_required`, and `NOT_EXECUTABLE` for
 * `denied`, `manual`, and `ask_user`. `details` contains the outcome's `status`, and `pending` if a
 * user has to answer.
 */
export function resultOrThrow(outcome: ToolOutcome): Json {
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
