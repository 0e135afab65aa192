import type * as OpenTelemetryApi from '@opentelemetry/api';
import { systemClock, type Clock } from '../core/clock.js';
import { missingPackage, requireInstalled } from '../core/issues.js';
import { once } from '../core/options.js';
import type { ToolCall, ToolOutcome } from '../safety/calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Telemetry } from './executor-options.js';

/**
 * Runs a call with telemetry. If the telemetry throws or doesn't start the call, the call's own
 * outcome is still returned. A caller that lost the outcome would repeat the call.
 */
export async function observeCall(
  telemetry: Telemetry,
  call: ToolCall,
  entry: ToolEntry | undefined,
  settle: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const settled = once(settle);
  try {
    await telemetry.around(call, entry, settled);
  } catch {
    // The telemetry itself failed.
  }
  return settled();
}

/** The name of the tracer and meter. */
const SCOPE = 'tooldex';
/**
 * Histogram buckets in seconds, as recommended by the OpenTelemetry conventions for client
 * operations.
 */
const SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/**
 * Creates telemetry that records every call as a span `execute_tool <tool>` and in the histogram
 * `gen_ai.execute_tool.duration`.
 *
 * Names follow the OpenTelemetry semantic conventions for generative AI. Other names begin with
 * `tooldex.`. Arguments and results aren't recorded, because they may be private. Spans that a tool
 * starts are children of the call's span. If no SDK is registered, nothing is recorded and the
 * overhead is small.
 *
 * ```js
 * const executor = new ToolExecutor({ registry, telemetry: await openTelemetry() });
 * ```
 *
 * @param options `clock` measures durations for the metric (the system clock by default). Spans use
 * the SDK's clock.
 * @throws ToolError `MISSING_PACKAGE` if `@opentelemetry/api` isn't installed.
 */
export async function openTelemetry({
  clock = systemClock,
}: { readonly clock?: Clock } = {}): Promise<Telemetry> {
  const { metrics, SpanKind, SpanStatusCode, trace } = await importOpenTelemetry();
  const tracer = trace.getTracer(SCOPE);
  const duration = metrics.getMeter(SCOPE).createHistogram('gen_ai.execute_tool.duration', {
    description: 'Duration of tool calls',
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    around(call, entry, run) {
      const startedAt = clock.elapsed();
      const toolName = entry?.name ?? 'unknown'; // Models invent names, and each would become a separate metric.
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

async function importOpenTelemetry(): Promise<typeof OpenTelemetryApi> {
  try {
    return requireInstalled(await import('@opentelemetry/api'));
  } catch (cause) {
    return missingPackage('@opentelemetry/api')(cause);
  }
}

/** Records a call's outcome on its span. @returns the error type, if the call failed. */
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
