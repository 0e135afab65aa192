import type { Clock } from '../../core/clock.js';
import { isWriting } from '../../core/enum-order.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { canonicalJson } from '../../core/plain-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { LeavePlace } from './concurrency.js';

/** A call that was answered while its work still ran, and whose work has not ended since. */
export type AbandonedCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** When it was answered, in milliseconds since 1970. */
  readonly since: number;
};

export interface AbandonedCallsOptions {
  readonly clock: Clock;
  /** How long work may take to end after its call was answered: it was told to by its signal. */
  readonly graceMs: number;
  /** How many such calls give their places back, and from how many on no call is started. */
  readonly max: number;
}

interface LeftCall {
  readonly call: AbandonedCall;
  readonly end: () => void;
}

/**
 * Keeps the calls whose handlers go on after the answer: they cannot be stopped, only counted.
 *
 * At first their places are given back to other tools. After the grace the call is abandoned: calls of a tool that writes,
 * or that does not run beside itself, are refused until the work ends or the call is released.
 */
export class AbandonedCalls {
  readonly #options: AbandonedCallsOptions;
  readonly #left = new Set<LeftCall>();
  /** Those whose grace is over, the longest first. */
  readonly #overdue = new Set<LeftCall>();
  readonly #watchers = new Set<() => void>();

  constructor(options: AbandonedCallsOptions) {
    this.#options = options;
  }

  /** The abandoned calls, the longest first. */
  list(): readonly AbandonedCall[] {
    return Object.freeze([...this.#overdue].map(({ call }) => call));
  }

  /** Takes over the place of a call that was answered while its work runs. @returns what must be called when the work has ended. */
  take(whose: Omit<AbandonedCall, 'toolName' | 'since'>, { name: toolName, allowParallel }: ToolEntry, place: LeavePlace, onAbandoned: () => void): () => void {
    const { clock, graceMs, max } = this.#options;
    const keepsAll = this.#left.size >= max;
    const keepsTool = keepsAll || allowParallel !== true;
    if (!keepsAll) place.leaveAll();
    if (!keepsTool) place.leaveTool();
    const cancel = clock.after(graceMs, () => {
      this.#overdue.add(left);
      onAbandoned();
      for (const watcher of [...this.#watchers]) watcher();
    }, { background: true });
    const end = () => {
      if (!this.#left.delete(left)) return;
      this.#overdue.delete(left);
      cancel();
      if (keepsAll) place.leaveAll();
      if (keepsTool) place.leaveTool();
    };
    const left: LeftCall = { call: Object.freeze({ ...whose, toolName, since: clock.now() }), end };
    this.#left.add(left);
    return end;
  }

  /**
   * Lets other calls run as if the work of a call had ended. @returns whether there was such a call.
   *
   * @throws ToolError `INVALID_ARGUMENT` for an id that several calls have.
   */
  release(released: string | AbandonedCall): boolean {
    const isMeant = typeof released === 'string' ? ({ callId }: AbandonedCall) => callId === released : (call: AbandonedCall) => canonicalJson(call) === canonicalJson(released);
    const [first, ...others] = [...this.#overdue].filter(({ call }) => isMeant(call));
    if (typeof released === 'string' && others.length > 0) throw new ToolError('INVALID_ARGUMENT', expectedGot('the id of one abandoned call', `one that ${others.length + 1} have`, 'Give the call, as executor.abandoned() lists it.'));
    first?.end();
    return first !== undefined;
  }

  /** Returns why a call of a tool is not started now, if abandoned calls forbid it. */
  refusalOf({ name, allowParallel, accessMode }: ToolEntry): ToolError | undefined {
    const overdue = this.#overdue;
    if (overdue.size === 0) return undefined;
    const same = allowParallel !== true || isWriting(accessMode) ? [...overdue].find(({ call }) => call.toolName === name)?.call : undefined;
    if (same !== undefined) {
      return abandonedRunning(`Expected ${name} to be idle, got the call ${JSON.stringify(same.callId)}, which was given up and still runs. Wait until it ends, or have it released.`, same);
    }
    const { max } = this.#options;
    const first = [...overdue][0]?.call;
    if (first === undefined || overdue.size < max) return undefined;
    return abandonedRunning(`Expected less than ${max} calls that were given up and still run, got ${overdue.size}, among them ${JSON.stringify(first.callId)} of ${first.toolName}. Wait until they end, or have them released.`, first);
  }

  /** Calls back whenever a call becomes abandoned, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

function abandonedRunning(message: string, { callId, toolName }: AbandonedCall): ToolError {
  return new ToolError('ABANDONED_RUNNING', message, { details: { callId, toolName } });
}
