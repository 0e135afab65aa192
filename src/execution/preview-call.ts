import type { PendingApproval } from '../safety/calls.js';
import { readPreview } from '../core/preview.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/** A user waits for it, and again when the approved call runs. */
const TIMEOUT_MS = 2_000;

/** The preview that is shown with a call that needs approval, or the reason why there is none. */
type Shown = Pick<PendingApproval, 'preview' | 'noPreview'>;

/**
 * Returns what a tool says that the call would do. A tool whose preview fails, takes longer than two seconds or answers with
 * something else has none, and the user is told why: the call is then approved by its arguments alone.
 *
 * @throws ToolError `ABORTED` when the caller gives up before.
 */
export async function previewOf(
  { clock }: ExecutorFrame,
  running: RunningCall,
  { entry, input }: { readonly entry: ToolEntry; readonly input: unknown },
): Promise<Shown> {
  const { preview } = entry;
  if (preview === undefined) return {};
  const { reportProgress: _, ...context } = running.contextFor(entry.digest, undefined);
  const settled = await withDeadline<unknown>((signal) => preview(input, { ...context, signal }), {
    clock,
    timeoutMs: TIMEOUT_MS,
    signal: running.options.signal,
  });
  if (settled.kind === 'aborted') throw aborted(entry.name);
  if (settled.kind === 'timeout')
    return { noPreview: `its preview took longer than ${TIMEOUT_MS} ms` };
  if (settled.kind === 'threw') return { noPreview: 'its preview failed' };
  if (settled.value === undefined) return {};
  const read = readPreview(settled.value);
  return read === undefined
    ? {
        noPreview:
          'its preview is neither a text nor an object of summary, diff, recipients, cost and reversible',
      }
    : { preview: read };
}
