import { ToolExecutor } from '../../execution/tool-executor.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { CallContext } from '../../safety/calls.js';
import type { PolicyRule } from '../../safety/policy-rule.js';
import { SafetyPolicy } from '../../safety/safety-policy.js';
import { definitionOf } from '../../tool/tool-definition.js';
import type { Context } from '../command/command.js';
import { importContext } from '../load/import-default.js';
import { given, type RunValues } from '../command/options.js';
import { interruptible } from '../terminal/terminal.js';
import { askToConfirm } from './ask-user.js';
import { progressLine } from './show-calls.js';

/** The environment in which a command runs tools. */
interface Execution {
  readonly executor: ToolExecutor;
  /** Aborts when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
  /** The persona, feature flags and context for every call. */
  readonly call: CallContext;
}

/**
 * Runs `work` with an executor that asks for approval in the terminal, reports progress there, and
 * aborts on Ctrl-C.
 *
 * @param asks If false, calls that need approval stay pending.
 */
export async function withExecutor<T>(
  { terminal, cwd, imports, options }: Context<RunValues>,
  tools: ToolMetadataRegistry,
  asks: boolean,
  work: (execution: Execution) => Promise<T>,
): Promise<T> {
  const registry = withTimeLimit(tools, options.timeout);
  const call = await callContextOf(options, cwd, imports);
  const executor: ToolExecutor = new ToolExecutor({
    registry,
    policy: policyOf(registry, options),
    // If nobody can answer, calls that need approval stay pending instead of being denied.
    ...(asks &&
      terminal.interactive && {
        confirm: (pending, { signal }) => askToConfirm(terminal, executor, pending, signal),
      }),
  });
  executor.on((event) => {
    const line = progressLine(event);
    if (line !== undefined) terminal.err(line);
  });
  try {
    return await interruptible(terminal, (signal) => work({ executor, signal, call }));
  } finally {
    await executor.close();
  }
}

/**
 * Returns the context for every call. A user who sees a persona's tools also calls them as that
 * persona.
 */
export async function callContextOf(
  { persona, flags, context }: Pick<RunValues, 'persona' | 'flags' | 'context'>,
  cwd: string,
  imports: Context['imports'],
): Promise<CallContext> {
  const loaded = context === undefined ? undefined : await importContext(context, cwd, imports);
  return given({ persona, flags, context: loaded });
}

/**
 * Returns the default policy. With `--yes`, calls up to the given danger level run without
 * approval.
 */
export function policyOf(
  registry: ToolMetadataRegistry,
  { mode, yes }: Pick<RunValues, 'mode' | 'yes'>,
): SafetyPolicy {
  if (yes === undefined) return new SafetyPolicy({ registry, mode });
  const usual = new SafetyPolicy({ registry });
  const rule: PolicyRule = {
    name: '--yes',
    verdict: 'allow',
    upTo: yes,
    reason: `--yes ${yes} covers it`,
    when: (call, entry, context) => usual.decide(call, context, entry).verdict === 'confirm',
  };
  return new SafetyPolicy({ registry, mode, rules: [rule] });
}

/** Returns the same tools with a different timeout, if one is given. */
export function withTimeLimit(
  registry: ToolMetadataRegistry,
  timeoutMs: number | undefined,
): ToolMetadataRegistry {
  if (timeoutMs === undefined) return registry;
  const limited = new ToolMetadataRegistry();
  const copy = () => {
    for (const { name } of [...limited]) if (!registry.has(name)) limited.unregister(name);
    const tools = [...registry].map(({ definition }) => definitionOf({ ...definition, timeoutMs }));
    limited.registerAll(tools, { replace: true });
  };
  copy();
  registry.onChange(copy);
  return limited;
}
