import type { Around } from './execution/around.js';
import type { Effect } from './audit/effect.js';
import { subscribe } from 'node:diagnostics_channel';
import { isConfined, recordCall } from './audit/run/recorder.js';
import { effectsOfSeen } from './audit/run/seen-effects.js';

/** The event of a call that does what its tool declares not to do. */
export interface MetadataContradicted {
  readonly type: 'metadata-contradicted';
  readonly toolName: string;
  readonly callId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What the call was seen to do; its `at` is the place in the code. */
  readonly effect: Effect;
}

/**
 * Tells of calls of tools declared `readonly` that are seen to change something, in development and in tests.
 *
 * The recorder begins when this entry point is imported; `node --import tooldex/audit/observe` makes that the first of all, so
 * that no module keeps a function from before. It records only what calls of this executor do, and stops nothing.
 *
 * ```js
 * import { observeCalls } from 'tooldex/audit/observe';
 *
 * observeCalls(executor, ({ toolName, effect }) => console.warn(`${toolName}: ${effect.call} at ${effect.at}`));
 * ```
 *
 * @param root the folder to which places in the code are relative.
 * @returns a function that ends it.
 */
export function observeCalls(
  executor: { readonly use: (around: Around) => () => void },
  listener: (event: MetadataContradicted) => void,
  root: string = process.cwd(),
): () => void {
  return executor.use(({ tool, id }, run) => {
    if (tool.accessMode !== 'readonly') return run();
    const told = new Set<string>();
    return recordCall(
      id,
      (seen) => {
        for (const effect of effectsOfSeen(seen, [root])) {
          const key = `${effect.call} ${effect.at}`;
          if (effect.access !== 'write' || told.has(key)) continue;
          told.add(key);
          try {
            listener(
              Object.freeze({
                type: 'metadata-contradicted',
                toolName: tool.name,
                callId: id,
                at: Date.now(),
                effect,
              }),
            );
          } catch {
            // A listener must not stop what happens.
          }
        }
      },
      run,
    );
  });
}

/** True where Node preloads this entry point: then it tells by itself, on standard error, of every executor that is made. */
const isPreloaded =
  !isConfined &&
  [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((argument) =>
    /audit[/-]observe/.test(argument),
  );
if (isPreloaded) {
  const told = new Set<string>();
  subscribe('tooldex:executor', (message) => {
    observeCalls(
      (message as { readonly executor: Parameters<typeof observeCalls>[0] }).executor,
      ({ toolName, effect }) => {
        const key = `${toolName} ${effect.kind}`;
        if (told.has(key)) return;
        told.add(key);
        process.stderr.write(
          `tooldex: ${toolName} declares that it only reads, and was seen to do ${effect.call} (${effect.kind}) at ${effect.at}\n`,
        );
      },
    );
  });
}
