import type { SampleWire } from '../../data/wire.js';
import { element, svgElement } from '../../dom/element.js';
import { milliseconds } from '../marks.js';

/** Calls that are drawn: as many as the server keeps. */
const MOST = 100;
const HEIGHT = 48;
const STEP = 4;
const BAR = 3;
const LOWEST = 2;

/** Shows the last calls as bars, the newest at the right: as high as they took long; failed ones stand out. */
export function latencyChart(samples: readonly SampleWire[]): HTMLElement {
  const calls = samples.slice(-MOST);
  const slowest = Math.max(1, ...calls.map(({ latency_ms }) => latency_ms));
  const failed = calls.filter(({ success }) => !success).length;
  const first = MOST - calls.length;
  const label = `The last ${calls.length} calls: ${failed} failed, the slowest took ${milliseconds(slowest)}`;
  const bars = calls.map(({ at, success, latency_ms }, index) => {
    const height = Math.max(LOWEST, (latency_ms / slowest) * HEIGHT);
    const bar = { x: (first + index) * STEP, y: (HEIGHT - height).toFixed(1), width: BAR, height: height.toFixed(1), class: success ? 'call' : 'call failed' };
    return svgElement('rect', bar, svgElement('title', {}, `${new Date(at * 1_000).toLocaleString()}: ${success ? 'succeeded' : 'failed'} after ${milliseconds(latency_ms)}`));
  });
  return element(
    'figure',
    { class: 'chart' },
    svgElement('svg', { viewBox: `0 0 ${MOST * STEP} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...bars),
    element('figcaption', {}, element('span', {}, `last ${calls.length}, ${failed} failed`), element('span', {}, `slowest ${milliseconds(slowest)}`)),
  );
}
