import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { formatIssues, toIssues } from '../../core/issues.js';

export interface DefinitionPinsOptions {
  /**
   * What happens to a tool that has no pin: `quarantine` holds it back until it is approved, `trust` pins what is seen
   * first and holds back what differs from it later.
   *
   * @default 'quarantine' with a lock file or its text; 'trust' for pins that begin empty, which otherwise let nothing pass
   */
  readonly onNew?: 'trust' | 'quarantine';
  /** For the wait while another process writes. */
  readonly clock?: Clock;
}

const schema = z.strictObject({
  onNew: z.enum(['trust', 'quarantine']).optional(),
  clock: z.custom<Clock>((value) => typeof (value as Partial<Clock> | null)?.after === 'function', 'a clock').optional(),
});

/** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkPinOptions(options: DefinitionPinsOptions): Required<DefinitionPinsOptions> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return { onNew: parsed.data.onNew ?? 'trust', clock: parsed.data.clock ?? systemClock };
  const issues = toIssues(parsed.error, options);
  throw new ToolError('INVALID_ARGUMENT', `The pins are refused:\n  ${formatIssues(issues)}`, { details: { issues } });
}
