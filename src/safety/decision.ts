import type { DangerLevel } from '../core/enums.js';
import type { Verdict } from '../core/tool-event.js';
import type { CallContext, ToolCall } from './tool-call.js';

/** What may be done with a call, and why. */
export interface Decision {
  readonly verdict: Verdict;
  /** In words, for the person who is asked and for the model that is refused. */
  readonly reason: string;
  /** What decided: the name of a rule, or of one of the built-in checks. */
  readonly rule: string;
  /** The danger of this call: the tool's level, or a higher one that its arguments brought. */
  readonly danger: DangerLevel;
}

/** Whatever decides over calls. `SafetyPolicy` is one; a function that throws or answers anything else counts as a no. */
export interface Policy {
  decide(call: ToolCall, context: CallContext): Decision | Promise<Decision>;
}
