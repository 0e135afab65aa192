import type { ToolEvent } from '../../core/tool-event.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { PolicyRule } from '../../safety/policy-rule.js';
import { SafetyPolicy } from '../../safety/safety-policy.js';
import { definitionOf } from '../../tool/tool-definition.js';
import type { ExecutionOptions } from '../load/options.js';
import type { Dialog } from '../terminal/terminal.js';
import { askToConfirm, Turns } from './ask-user.js';

/** The things a command works with while it runs tools. */
export interface Execution {
  readonly executor: ToolExecutor;
  /** Fires when the user interrupts the program. */
  readonly signal: AbortSignal;
  readonly turns: Turns;
}

/**
 * Does work with an executor that asks at the terminal, tells events there, and gives up on Ctrl-C.
 *
 * @param options with `asks: false` it neither asks nor listens to Ctrl-C; with `grants: false` it offers no further calls, as where there are none.
 * @param tell returns a line for an event, or nothing.
 */
export async function withExecutor<T>(
  terminal: Dialog,
  tools: ToolMetadataRegistry,
  options: ExecutionOptions & { readonly asks?: boolean; readonly grants?: boolean },
  tell: (event: ToolEvent) => string | undefined,
  work: (execution: Execution) => Promise<T>,
): Promise<T> {
  const registry = limitTime(tools, options.timeout);
  const turns = new Turns(terminal);
  const interrupt = new AbortController();
  const { asks = true, grants = true } = options;
  const stopListening = asks ? terminal.onInterrupt(() => interrupt.abort()) : () => undefined;
  const executor: ToolExecutor = new ToolExecutor({
    registry,
    policy: policyOf(registry, options),
    // Where nobody answers, calls that need approval stay pending, which says more than a denial.
    ...(asks &&
      terminal.interactive && {
        confirm: askToConfirm(
          terminal,
          turns,
          async (call) => (await executor.dryRun([call]))[0]!,
          (pending) => Promise.resolve(grants ? executor.grantChoices(pending) : []),
        ),
      }),
  });
  executor.on((event) => {
    const line = tell(event);
    if (line !== undefined) turns.tell(line);
  });
  try {
    return await work({ executor, signal: interrupt.signal, turns });
  } finally {
    stopListening();
    await executor.close();
  }
}

/** Returns the usual policy; `--yes` counts where it would ask, up to the danger that was named. */
export function policyOf(
  registry: ToolMetadataRegistry,
  { mode, yes }: ExecutionOptions,
): SafetyPolicy {
  if (yes === undefined) return new SafetyPolicy({ registry, mode });
  const usual = new SafetyPolicy({ registry });
  // Asked as the caller: for others a tool of a persona is denied, and not asked about.
  const rule: PolicyRule = {
    name: '--yes',
    verdict: 'allow',
    upTo: yes,
    reason: `--yes ${yes} covers it`,
    when: (call, entry, context) => usual.decide(call, context, entry).verdict === 'confirm',
  };
  return new SafetyPolicy({ registry, mode, rules: [rule] });
}

/** Returns the same tools, each with another limit of its time if one is given. */
export function limitTime(
  registry: ToolMetadataRegistry,
  timeoutMs: number | undefined,
): ToolMetadataRegistry {
  if (timeoutMs === undefined) return registry;
  const limited = new ToolMetadataRegistry();
  limited.registerAll(
    [...registry].map(({ definition }) => definitionOf({ ...definition, timeoutMs })),
  );
  return limited;
}
