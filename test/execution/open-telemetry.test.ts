import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  defineTool,
  fail,
  openTelemetry,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const meters = new MeterProvider({
  readers: [
    new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 2 ** 30 }),
  ],
});

async function executorOf(): Promise<ToolExecutor> {
  const registry = new ToolMetadataRegistry();
  const inputSchema = z.object({ secret: z.string().optional() });
  const base = { description: 'A tool', inputSchema, accessMode: AccessMode.READONLY } as const;
  registry.register(
    defineTool({
      ...base,
      name: 'child',
      execute: () =>
        trace.getTracer('own').startActiveSpan('inner', (span) => (span.end(), 'done')),
    }),
  );
  registry.register(defineTool({ ...base, name: 'failing', execute: () => fail('no luck') }));
  registry.register(
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema,
      accessMode: AccessMode.WRITE,
      execute: () => 1,
    }),
  );
  return new ToolExecutor({ registry, telemetry: await openTelemetry() });
}

describe('OpenTelemetry', () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
    );
    metrics.setGlobalMeterProvider(meters);
  });
  beforeEach(() => spans.reset());
  afterAll(async () => {
    await meters.shutdown();
    trace.disable();
    metrics.disable();
    context.disable();
  });

  it('a call is recorded as a span with the standard attribute names, without arguments or results', async () => {
    await (await executorOf()).execute({ id: 'c1', name: 'child', input: { secret: 'hunter2' } });
    const span = spans.getFinishedSpans().find(({ name }) => name === 'execute_tool child')!;
    expect(span.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'child',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.description': 'A tool',
      'tooldex.outcome': 'ok',
      'tooldex.attempts': 1,
      'tooldex.cached': false,
    });
    expect(JSON.stringify(span.attributes)).not.toContain('hunter2');
  });

  it("a call's span is the parent of the spans that the tool starts", async () => {
    await (await executorOf()).execute({ id: 'c1', name: 'child' });
    const [inner, call] = spans.getFinishedSpans();
    expect(inner!.name).toBe('inner');
    expect(inner!.parentSpanContext?.spanId).toBe(call!.spanContext().spanId);
  });

  it('spans of failed calls have an error code, and all unknown tools share one span name', async () => {
    const executor = await executorOf();
    await executor.execute({ id: 'c1', name: 'failing' });
    await executor.execute({ id: 'c2', name: 'made_up_by_a_model' });
    await executor.execute({ id: 'c3', name: 'write' });
    const [failing, unknown, held] = spans.getFinishedSpans();
    expect(failing!.attributes['error.type']).toBe('EXECUTION_FAILED');
    expect(unknown!.name).toBe('execute_tool unknown');
    expect(unknown!.attributes['error.type']).toBe('TOOL_NOT_FOUND');
    expect(held!.attributes).toMatchObject({
      'tooldex.outcome': 'approval_required',
      'tooldex.attempts': 0,
    });
    expect(held!.attributes).not.toHaveProperty('error.type');
  });

  it('durations are recorded in seconds, by tool and error', async () => {
    measured.reset();
    await (await executorOf()).execute({ id: 'c1', name: 'failing' });
    await meters.forceFlush();
    const metric = measured
      .getMetrics()
      .flatMap((each) => each.scopeMetrics)
      .flatMap((scope) => scope.metrics)
      .find(({ descriptor }) => descriptor.name === 'gen_ai.execute_tool.duration')!;
    expect(metric.descriptor.unit).toBe('s');
    expect(metric.dataPoints.map(({ attributes }) => attributes)).toContainEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'failing',
      'error.type': 'EXECUTION_FAILED',
    });
  });
});
