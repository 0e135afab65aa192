import type * as OpenTelemetryApi from '@opentelemetry/api';
import { systemClock, type Clock } from '../core/clock.js';
import { missingPackage } from '../core/issues.js';
import type { ToolOutcome } from '../safety/calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame, Telemetry } from './executor-options.js';
import type { RunningCall } from './running-call.js';
import { withDeadline } from './with-deadline.js';

/** Milliseconds that telemetry may take before the call begins and after it has ended, within the time of the call. */
const WATCHER_MS = 250;
/** The part of the time of a call that it may take before: the rest is the tool's. */
const WATCHER_SHARE = 0.1;

/**
 * Carries a call out with telemetry around it, once.
 *
 * Telemetry must not be able to lose the outcome of a call, or the caller would make the call again: telemetry that throws,
 * does not begin the call or does not end is left alone.
 */
export async function observeCall(
  { clock, timeoutMs: defaultMs }: ExecutorFrame,
  telemetry: Telemetry,
  run: RunningCall,
  entry: ToolEntry | undefined,
  settle: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const timeoutMs = entry?.timeoutMs ?? defaultMs;
  const startedAt = clock.elapsed();
  const passedMs = () => clock.elapsed() - startedAt;
  let settled: Promise<ToolOutcome> | undefined;
  let tellBegun!: () => void;
  const begun = new Promise<void>((resolve) => (tellBegun = resolve));
  const begin = () => {
    tellBegun();
    if (settled === undefined) run.watchedMs = passedMs();
    return (settled ??= settle());
  };
  const wait = (until: Promise<unknown>, mostMs: number) =>
    withDeadline(() => until, { clock, timeoutMs: Math.min(WATCHER_MS, mostMs) });
  const around = Promise.resolve()
    .then(() => telemetry.around(run.call, entry, begin))
    .catch(() => undefined);
  await wait(Promise.race([begun, around]), timeoutMs * WATCHER_SHARE);
  const outcome = await begin();
  await wait(around, Math.max(0, timeoutMs - passedMs()));
  return outcome;
}

/** The name under which spans and metrics are recorded. */
const SCOPE = 'tooldex';
/** Buckets in seconds, as the conventions advise for operations of a client. */
const SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/**
 * Makes telemetry that records every call as a span `execute_tool <tool>` and in the histogram `gen_ai.execute_tool.duration`.
 *
 * Names are those of the OpenTelemetry semantic conventions for generative AI; what has none there begins with `tooldex.`.
 * Arguments and results are not recorded: they may be private. Spans that a tool starts itself are children of its call's.
 * Without a registered SDK nothing is recorded and little is spent.
 *
 * ```js
 * const executor = new ToolExecutor({ registry, telemetry: await openTelemetry() });
 * ```
 *
 * @param options `clock` measures for the metric (the default is the system's); spans have the SDK's own time.
 * @throws ToolError `MISSING_PACKAGE` when `@opentelemetry/api` is not installed.
 */
export async function openTelemetry({
  clock = systemClock,
}: { readonly clock?: Clock } = {}): Promise<Telemetry> {
  const { metrics, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api').catch(
    missingPackage('@opentelemetry/api'),
  );
  const tracer = trace.getTracer(SCOPE);
  const duration = metrics.getMeter(SCOPE).createHistogram('gen_ai.execute_tool.duration', {
    description: 'How long tools took to answer calls',
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    around(call, entry, run) {
      const startedAt = clock.elapsed();
      const toolName = entry?.name ?? 'unknown'; // Names that models invent would make a metric of each.
      const shared = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': toolName };
      const attributes: OpenTelemetryApi.Attributes = {
        ...shared,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': call.id,
      };
      if (entry !== undefined)
        attributes['gen_ai.tool.description'] = entry.description.slice(0, 1_000);
      return tracer.startActiveSpan(
        `execute_tool ${toolName}`,
        { kind: SpanKind.INTERNAL, attributes },
        async (span) => {
          try {
            const outcome = await run();
            const error = describe(span, outcome);
            if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
            duration.record(
              (clock.elapsed() - startedAt) / 1_000,
              error === undefined ? shared : { ...shared, 'error.type': error },
            );
            return outcome;
          } finally {
            span.end();
          }
        },
      );
    },
  };
}

/** Puts what became of a call on its span. @returns the error's type, when it is one. */
function describe(span: OpenTelemetryApi.Span, outcome: ToolOutcome): string | undefined {
  span.setAttributes({
    'tooldex.outcome': outcome.status,
    'tooldex.attempts': outcome.attempts,
    'tooldex.cached': outcome.cached,
  });
  if (outcome.provider !== undefined) span.setAttribute('tooldex.provider', outcome.provider);
  if (outcome.status === 'denied') span.setAttribute('tooldex.rule', outcome.rule);
  if (outcome.status !== 'error') return undefined;
  span.setAttribute('error.type', outcome.code);
  return outcome.code;
}
