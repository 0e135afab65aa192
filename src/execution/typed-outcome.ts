import type { ToolOutcome } from '../safety/calls.js';

/** The outcome of a call whose tool returns `Result`. */
export type TypedOutcome<Result> = ToolOutcome extends infer Each
  ? Each extends { readonly status: 'ok' }
    ? Omit<Each, 'value'> & { readonly value: Result }
    : Each
  : never;
