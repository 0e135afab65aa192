/** The inputs of calls that ended with `halt`. Each is an object of a single call. */
const HALTED = new WeakSet<object>();

/** Remembers that the call with this input asked to end the run. */
export function markHalted(input: unknown): void {
  if (typeof input === 'object' && input !== null) HALTED.add(input);
}

/** The part of the AI SDK's steps that `stopOnHalt` reads. */
type Step = { readonly content: readonly object[] };

/**
 * Returns a condition for the AI SDK's `stopWhen` that ends the loop after a step in which a tool
 * returned `halt`. Without it, the AI SDK calls the model again, because `halt` is just a result to
 * the AI SDK.
 *
 * ```ts
 * generateText({ …, tools: toAISDKTools(registry, { executor }), stopWhen: [stepCountIs(5), stopOnHalt()] });
 * ```
 *
 * A call that the AI SDK runs after its approval isn't part of any step, so it can't end the loop.
 */
export function stopOnHalt(): (run: { readonly steps: readonly Step[] }) => boolean {
  return ({ steps }) =>
    (steps.at(-1)?.content ?? []).some((part) => {
      const { input } = part as { readonly input?: unknown };
      return typeof input === 'object' && input !== null && HALTED.has(input);
    });
}
