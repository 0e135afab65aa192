import type { Clock } from '../../core/clock.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { Telemetry } from '../executor-options.js';
import { withDeadline } from './with-deadline.js';

/** How long telemetry may take before the call begins and after it has ended, within the time of the call. */
const WATCHER_MS = 250;
/** Which part of the time of a call it may take before: the rest is the tool's. */
const WATCHER_SHARE = 0.1;

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
 *
 * @param settle carries the call out, and is told how much of its time has passed.
 */
export async function observeCall({ call, entry, telemetry, clock, timeoutMs }: ObservedCall, settle: (passedMs: number) => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const startedAt = clock.elapsed();
  let settled: Promise<ToolOutcome> | undefined;
  let tellBegun!: () => void;
  const begun = new Promise<void>((resolve) => (tellBegun = resolve));
  const passedMs = () => clock.elapsed() - startedAt;
  const run = () => {
    tellBegun();
    return (settled ??= settle(passedMs()));
  };
  const wait = (until: Promise<unknown>, mostMs: number) => withDeadline(() => until, { clock, timeoutMs: Math.min(WATCHER_MS, mostMs) });
  const around = Promise.resolve().then(() => telemetry.around(call, entry, run)).catch(() => undefined);
  await wait(Promise.race([begun, around]), timeoutMs * WATCHER_SHARE);
  const outcome = await run();
  await wait(around, Math.max(0, timeoutMs - passedMs()));
  return outcome;
}
