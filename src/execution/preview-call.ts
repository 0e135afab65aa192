import type { Clock } from '../core/clock.js';
import { readPreview, type Shown } from '../core/preview.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/**
 * The timeout is short, because a user waits for the preview before approving the call, and again
 * when it runs.
 */
const TIMEOUT_MS = 10_000;
/**
 * Returns the tool's preview of a call. If the preview fails, takes longer than ten seconds, or
 * returns an invalid value, the user sees the reason instead and approves only the arguments.
 *
 * @throws ToolError `ABORTED` if the caller aborts first.
 */
export async function previewOf(
  clock: Clock,
  run: RunningCall,
  { entry, input }: { readonly entry: ToolEntry; readonly input: unknown },
): Promise<Shown> {
  const { preview } = entry;
  if (preview === undefined) return {};
  const settled = await withDeadline<unknown>(
    (stop) => {
      const { reportProgress: _, ...context } = run.contextFor(entry.digest, stop);
      return preview(input, context);
    },
    { clock, timeoutMs: TIMEOUT_MS, signal: run.options.signal },
  );
  if (settled.kind === 'aborted') throw aborted(entry.name);
  if (settled.kind === 'timeout')
    return { noPreview: `its preview took longer than ${TIMEOUT_MS} ms` };
  if (settled.kind === 'threw') return { noPreview: 'its preview failed' };
  if (settled.value === undefined) return {};
  const read = readPreview(settled.value);
  return read === undefined
    ? {
        noPreview:
          'its preview is neither text nor an object with summary, diff, recipients, cost and reversible',
      }
    : { preview: read };
}
