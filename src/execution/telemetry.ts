import type * as OpenTelemetryApi from '@opentelemetry/api';
import { systemClock, type Clock } from '../core/clock.js';
import { missingPackage } from '../core/issues.js';
import type { ToolCall, ToolOutcome } from '../safety/calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Telemetry } from './executor-options.js';

/**
 * Carries a call out with telemetry around it, once.
 *
 * Telemetry that throws, doesn't begin the call or gives another outcome doesn't lose the call's: the caller would make the call again.
 */
export async function observeCall(
  telemetry: Telemetry,
  call: ToolCall,
  entry: ToolEntry | undefined,
  settle: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  let settled: Promise<ToolOutcome> | undefined;
  const begin = () => (settled ??= settle());
  try {
    await telemetry.around(call, entry, begin);
  } catch {
    // Its own failure.
  }
  return begin();
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
