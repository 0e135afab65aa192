import { ToolError } from '../core/errors.js';
import { unavailableReason } from '../registry/tool-filter.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';
import { aborted, assertWanted, withDeadline } from './with-deadline.js';

/** @throws ToolError `ABORTED` when the caller has given up, `TOOL_UNAVAILABLE`. */
export function assertUsable({ options }: RunningCall, entry: ToolEntry): void {
  assertWanted(options.signal, entry.name);
  const reason = entry.available === undefined ? undefined : unavailableReason(entry);
  if (reason !== undefined) throw new ToolError('TOOL_UNAVAILABLE', reason);
}

/** @throws ToolError `TOOL_CHANGED` when the tool was replaced or removed since the call was judged, `ABORTED`. */
export function assertSame({ registry }: ExecutorFrame, run: RunningCall, entry: ToolEntry): void {
  assertWanted(run.options.signal, entry.name);
  if (registry.get(run.call.name) !== entry)
    throw new ToolError(
      'TOOL_CHANGED',
      `${entry.name} was replaced or removed after this call was judged. Nothing was run; call it again.`,
    );
}

/** Tells the caller that the tool is about to start. @throws what `onStart` throws, ToolError `TIMEOUT` or `ABORTED`. */
export async function announceStart(
  { clock, timeoutMs: defaultMs }: ExecutorFrame,
  { call, options: { onStart, signal } }: RunningCall,
  { name, timeoutMs = defaultMs }: ToolEntry,
): Promise<void> {
  const told = await withDeadline(() => onStart?.(call), { clock, timeoutMs, signal });
  if (told.kind === 'threw') throw told.error;
  if (told.kind === 'aborted') throw aborted(name);
  if (told.kind === 'timeout')
    throw new ToolError(
      'TIMEOUT',
      `onStart of ${name} did not end within ${timeoutMs} ms. The tool was not started.`,
      { details: { timeoutMs } },
    );
}
