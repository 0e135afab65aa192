import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import { checkOptions, withMethods, type FieldsOf } from '../../core/options.js';

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
  onNew: z.enum(['trust', 'quarantine']).default('trust'),
  clock: withMethods<Clock>('a clock', 'after').default(systemClock),
} satisfies FieldsOf<DefinitionPinsOptions>);

/** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkPinOptions(options: DefinitionPinsOptions): Required<DefinitionPinsOptions> {
  return checkOptions(schema, options, 'options of the pins');
}
