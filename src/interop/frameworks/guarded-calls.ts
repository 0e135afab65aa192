import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { aFunction, withMethods, type FieldsOf } from '../../core/options.js';
import { canonicalJson, digestOf, type Json } from '../../core/plain-data.js';
import type { ToolEvent } from '../../core/tool-event.js';
import {
  type CallContext,
  type Confirm,
  type Decision,
  type PendingApproval,
  type Policy,
  POLICY_MODES,
  type ToolCall,
  type ToolOutcome,
} from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { exportShape, type ExportOptions } from '../export/exported-tools.js';

/** The caller of a call; the executor itself knows what the conversation has read. */
type CallFrame = Omit<CallContext, 'flow'>;

interface CallOptions extends CallFrame {
  /** Gives the call up when it aborts. @default none */
  readonly signal?: AbortSignal;
  /** Asks the user. @default the executor's */
  readonly confirm?: Confirm;
  /** A policy beside the executor's own; the stricter of both decides. @default none */
  readonly policy?: Policy;
  /** Handed to the tool's work as `context.context`. @default none */
  readonly context?: unknown;
}

/** Makes the calls of a framework: a `ToolExecutor` fits. */
export interface CallExecutor {
  /** Decides over a call without any effect, for those who ask a user before it runs. */
  decide(
    call: ToolCall,
    options?: Omit<CallOptions, 'confirm'>,
  ): Promise<Decision & { readonly refused?: string }>;
  /** Makes a call. */
  execute(call: ToolCall, options?: CallOptions): Promise<ToolOutcome>;
  /** Tells of progress. @returns what ends it. */
  on?(listener: (event: ToolEvent) => void): () => void;
}

/** The options of tools in another framework: what makes their calls, for whom, and how they are shown. */
export interface FrameworkOptions extends ExportOptions, CallFrame {
  /** Makes the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** A policy beside the executor's own; the stricter of both decides. @default none */
  readonly policy?: Policy;
  /** Remembers for 24 days which calls users were asked about, and which approvals ran their call. Tools of other requests and processes need the same. @default memory of these tools alone */
  readonly store?: StateStore;
  /** Handed to the tools' work as `context.context` where the framework gives a call no context of its own. @default none */
  readonly context?: unknown;
  /** Returns who makes a call, from the context of the call, where one set of tools serves many users; what it returns replaces the options of the same name. @default the options, for all calls */
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
  executor: withMethods<CallExecutor>('a ToolExecutor', 'execute', 'decide'),
  policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
  store: withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'now').optional(),
  context: z.unknown().optional(),
  caller: aFunction<NonNullable<FrameworkOptions['caller']>>().optional(),
} satisfies FieldsOf<FrameworkOptions>);

/** A call, who makes it, and the program's own context of it. */
export interface FramedCall extends ToolCall {
  readonly frame: CallFrame & { readonly context?: unknown };
}

type Frame = (call: ToolCall, given: unknown) => Promise<FramedCall>;

/**
 * Returns what puts a call into its frame: who calls, and the context that the framework has for the call, or else the one of
 * the options. Neither is taken from the call, which a model wrote.
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
  /** True where the framework asked about exactly this call: a pass of its own, in which tool and policy are asked again. */
  readonly approved?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asks about calls that need approval and have none. */
  readonly confirm?: Confirm | undefined;
  readonly onProgress?: ((progress: unknown) => void) | undefined;
}

/**
 * The calls that another framework asks for, each of which runs only as the policy and the executor allow.
 *
 * Frameworks ask a user before a call runs, the executor while it runs. An approval that was given there counts here only
 * for a call with the id, tool and input of the call that `run` is given, and while the tool is defined as it is in this set;
 * the framework's part knows which call was asked about, and gives no other as approved.
 */
export class GuardedCalls {
  readonly #executor: CallExecutor;
  readonly #policy: Pick<CallOptions, 'policy'>;

  constructor(executor: CallExecutor, policy?: Policy) {
    this.#executor = executor;
    this.#policy = policy === undefined ? {} : { policy };
  }

  /** Tells whether the framework has to ask a user about a call; when it runs, tool and policy are asked again. */
  async needsApproval({ frame, ...call }: FramedCall): Promise<boolean> {
    const options = { ...frame, ...this.#policy };
    const { verdict, refused } = await this.#executor.decide(call, options);
    return verdict === 'confirm' && refused === undefined;
  }

  /** Makes a call. */
  async run(
    entry: ToolEntry,
    { frame, ...call }: FramedCall,
    { approved = false, signal, confirm, onProgress }: RunOptions,
  ): Promise<ToolOutcome> {
    // A call that was not approved stays pending: it was not denied.
    const asked: Confirm | undefined = approved
      ? (pending) => isOf(pending, entry, call) || 'later'
      : confirm;
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
      const outcome = await this.#executor.execute(call, {
        ...frame,
        ...this.#policy,
        ...(signal && { signal }),
        ...(asked && { confirm: asked }),
      });
      if (
        !approved ||
        outcome.status !== 'approval_required' ||
        outcome.pending.definitionDigest === entry.digest
      )
        return outcome;
      const { status: _status, pending: _pending, ...facts } = outcome;
      return {
        ...facts,
        status: 'error',
        code: 'TOOL_CHANGED',
        message: `Expected ${entry.name} as it was when the call was approved, got one that was replaced. Nothing was run; call it again.`,
      };
    } finally {
      stop?.();
    }
  }
}

/** Compares what is pending with what was approved. A tool that was replaced meanwhile has another digest. */
function isOf(pending: PendingApproval, entry: ToolEntry, call: ToolCall): boolean {
  return (
    pending.callId === call.id &&
    pending.toolName === entry.name &&
    pending.definitionDigest === entry.digest &&
    isSameInput(pending.input, call.input ?? {})
  );
}

/** Compares two inputs as JSON; what is none equals nothing but itself. */
export function isSameInput(one: unknown, other: unknown): boolean {
  try {
    return one === other || canonicalJson(one) === canonicalJson(other);
  } catch {
    return false;
  }
}

/**
 * Returns the result of a call, for a framework that takes errors as they are thrown.
 *
 * @throws ToolError with the words of `readOutcome` for everything that is no result: the code of an `error`;
 * `INVALID_APPROVAL` for `approval_required`; `NOT_EXECUTABLE` for `denied`, `manual` and `ask_user`. `details` has the
 * outcome's `status`, and `pending` where something is awaited.
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

/** A call that users were asked about. */
export interface AskedCall {
  /** The digest of its input; `null` when calls with different inputs were asked about under its id. */
  readonly input: string | null;
  /** The identity of the store when it was asked about. */
  readonly identity: string;
  /** Digests of the approvals that ran it; ids of calls may come again in a conversation. */
  readonly ran: readonly string[];
}

/**
 * The calls that users were asked about, and the approvals that ran one: frameworks keep approvals as long as their messages or run, and would run their calls again.
 *
 * Both are one text: a store that lost which approvals ran has lost the question too, and no call is known to have been asked about.
 */
export class AskedCalls {
  readonly #store: StateStore;
  readonly #framework: string;

  constructor(store: StateStore, framework: string) {
    this.#store = store;
    this.#framework = framework;
  }

  /** Remembers that a user is asked about a call. */
  async remember(toolName: string, call: FramedCall): Promise<void> {
    const { identity } = await this.#store.now();
    const [key, input, lifetime] = [
      this.#key(toolName, call),
      digestOf(call.input ?? {}),
      { ttlMs: LIMITS.timerMs, identity },
    ];
    if (
      (await this.#store.compareAndSet(
        key,
        undefined,
        JSON.stringify({ input, identity, ran: [] } satisfies AskedCall),
        lifetime,
      )) === true
    )
      return;
    const before = await this.find(toolName, call);
    // An earlier question keeps its identity: an approval from before a restart may have run.
    if (before !== undefined && before.input !== input)
      await this.#store.compareAndSet(
        key,
        JSON.stringify(before),
        JSON.stringify({ ...before, input: null } satisfies AskedCall),
        lifetime,
      );
  }

  /** Returns what users were asked about under the id of a call. */
  async find(toolName: string, call: FramedCall): Promise<AskedCall | undefined> {
    const text = await this.#store.get(this.#key(toolName, call));
    return text === undefined ? undefined : (JSON.parse(text) as AskedCall);
  }

  /**
   * Uses an approval up.
   *
   * @param asked as it was found; its store, if it restarted since, may have forgotten the use.
   * @param approval tells it from others of this call.
   * @throws ToolError `INVALID_APPROVAL` for an approval that has run its call already, or of a store that restarted since; `STATE_UNAVAILABLE`.
   */
  async redeem(
    toolName: string,
    call: FramedCall,
    asked: AskedCall | undefined,
    approval: string,
  ): Promise<void> {
    const { identity } = asked ?? (await this.#store.now());
    const ran = asked?.ran ?? [];
    const next: AskedCall = { input: null, ...asked, identity, ran: [...ran, digestOf(approval)] };
    try {
      if (
        !ran.includes(digestOf(approval)) &&
        (await this.#store.compareAndSet(
          this.#key(toolName, call),
          asked && JSON.stringify(asked),
          JSON.stringify(next),
          { ttlMs: LIMITS.timerMs, identity },
        )) === true
      )
        return;
    } catch (error) {
      if (!isRestarted(error)) throw error;
      throw new ToolError(
        'INVALID_APPROVAL',
        'Expected the state store in which the approval was asked for, got one that restarted since, or another server. Ask again.',
      );
    }
    throw new ToolError(
      'INVALID_APPROVAL',
      'Expected an approval that was not used, got one that has run its call already. Ask again.',
    );
  }

  #key(toolName: string, { id, frame: { conversationId } }: FramedCall): string {
    return `${this.#framework}-question:${digestOf([conversationId ?? null, id, toolName])}`;
  }
}

/** Returns the error for an approval of a call that no user is known to have been asked about. */
export function notAsked(): ToolError {
  return new ToolError(
    'INVALID_APPROVAL',
    'Expected an approval of a call that these tools asked about, got one that their store does not know. Give all tools of a run the same store, and ask again.',
  );
}
