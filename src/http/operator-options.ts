import { z } from 'zod';
import { aFunction, withMethods, type FieldsOf } from '../core/options.js';
import type { ToolExecutor } from '../execution/tool-executor.js';
import { approvalKey } from '../safety/signer.js';
import type { OperatorAction } from '../safety/calls.js';
import type { StateStore } from '../state/state-store.js';

/** Options for operators: the people who run agents. */
export interface OperatorOptions {
  /** The state store of the executors whose calls operators see and answer. */
  readonly store: StateStore;
  /**
   * The executors' approval key. Without the key, the page shows no waiting calls. @default none
   */
  readonly approvalKey?: Uint8Array | undefined;
  /** Lets tokens with the role `approve` answer calls. @default false */
  readonly allowApprove?: boolean | undefined;
  /**
   * The executor that runs tools for tokens with the role `run`, under its own policy. @default
   * none, so nobody can try tools
   */
  readonly executor?: ToolExecutor | undefined;
  /**
   * The value that a tool receives as `context.context` when an operator tries it. @default none
   */
  readonly context?: unknown;
  /** Receives every action of an operator. @default none */
  readonly onAction?: ((action: OperatorAction) => void) | undefined;
}

/** Option field for operators. */
export const operatorField = z
  .strictObject({
    store: withMethods<StateStore>('a StateStore', 'get', 'pageOfIndex', 'now'),
    approvalKey: approvalKey().optional(),
    allowApprove: z.boolean().default(false),
    executor: withMethods<ToolExecutor>('a ToolExecutor', 'execute').optional(),
    context: z.unknown().optional(),
    onAction: aFunction<NonNullable<OperatorOptions['onAction']>>().optional(),
  } satisfies FieldsOf<OperatorOptions>)
  .optional();

/** The options for operators with defaults. */
export type OperatorSettings = NonNullable<z.output<typeof operatorField>>;
