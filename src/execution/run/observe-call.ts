import type { Clock } from '../../core/clock.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Telemetry } from '../executor-options.js';
import { withDeadline } from './with-deadline.js';

/** How long telemetry may take before the call begins and after it has ended, within the time of the call. */
const WATCHER_MS = 250;

export interface ObservedCall {
  readonly call: ToolCall;
  readonly entry: ToolEntry | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** The time of the call. */
  readonly timeoutMs: number;
}

/**
 * Carries a call out with telemetry around it, once.
 *
 * What watches a call must not be able to lose its outcome, or the caller would make the call again: telemetry that throws,
 * does not begin the call or does not end is left alone.
 */
export async function observeCall({ call, entry, telemetry, clock, timeoutMs }: ObservedCall, settle: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const startedAt = clock.elapsed();
  let settled: Promise<ToolOutcome> | undefined;
  let tellBegun!: () => void;
  const begun = new Promise<void>((resolve) => (tellBegun = resolve));
  const run = () => {
    tellBegun();
    return (settled ??= settle());
  };
  const wait = (until: Promise<unknown>) => withDeadline(() => until, { clock, timeoutMs: Math.min(WATCHER_MS, Math.max(0, timeoutMs - (clock.elapsed() - startedAt))) });
  const around = Promise.resolve().then(() => telemetry.around(call, entry, run)).catch(() => undefined);
  await wait(Promise.race([begun, around]));
  const outcome = await run();
  await wait(around);
  return outcome;
}
