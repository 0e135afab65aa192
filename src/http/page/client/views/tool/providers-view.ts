import type { MetricsWire, ProviderHealthWire, WireToolDetail } from '../../data/wire.js';
import { element } from '../../dom/element.js';
import { latencyChart } from './latency-chart.js';
import { healthWords, milliseconds } from '../marks.js';

/** Shows the health of a tool, and of each of its providers in the order in which they are tried. */
export function providersView({ health, providers }: WireToolDetail): readonly HTMLElement[] {
  const byPriority = [...providers].sort((a, b) => a.priority - b.priority);
  const known = new Map(Object.entries(health.providers));
  // Two providers of one name are told apart by a part of their configuration's digest, so some names are only in
  // `health`.
  const names = [...new Set([...byPriority.map(({ name }) => name), ...known.keys()])];
  const own = health.tool.samples ?? [];
  return [
    figures(health.tool, health.tool.abandoned),
    ...(own.length > 0 ? [latencyChart(own)] : []),
    ...names.map((name) => providerView(name, known.get(name), name === health.last_success_provider)),
  ];
}

function providerView(name: string, health: ProviderHealthWire | undefined, answeredLast: boolean): HTMLElement {
  const until = health?.router.backoff_until ?? null;
  return element(
    'div',
    { class: 'provider' },
    element(
      'h4',
      {},
      element('bdi', {}, name),
      answeredLast && element('span', { class: 'tag' }, 'answered last'),
      until !== null && element('span', { class: 'tag warning' }, `left alone until ${new Date(until * 1_000).toLocaleTimeString()}`),
    ),
    health !== undefined && figures(health.metrics),
    health?.samples !== undefined && health.samples.length > 0 && latencyChart(health.samples),
  );
}

function figures(numbers: MetricsWire, abandoned = 0): HTMLElement {
  const latencies = numbers.total === 0 ? '' : ` · average ${milliseconds(numbers.average_latency_ms)} · p95 ${milliseconds(numbers.p95_latency_ms)}`;
  return element('p', { class: 'figures' }, healthWords(numbers) + latencies + (abandoned === 0 ? '' : ` · ${abandoned} abandoned`));
}
