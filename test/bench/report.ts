import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';

const FILE = resolve(import.meta.dirname, '../../docs/benchmarks.md');
const INTRODUCTION =
  '# Benchmarks\n\nMachines differ, so compare ratios rather than absolute times.\n';

/** The machine and date of a measurement. */
export function machine(): string {
  const processor =
    cpus()[0]
      ?.model.replace(/\(R\)| Processor/g, '')
      .trim() ?? 'unknown processor';
  return `${cpus().length} × ${processor}, ${process.platform}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
}

/** Prints one section of docs/benchmarks.md and replaces it in the file. */
export function writeSection(title: string, body: string): void {
  const section = `## ${title}\n\n${machine()}\n\n${body.trim()}\n`;
  console.log(`\n${section}`);
  const written = existsSync(FILE) ? readFileSync(FILE, 'utf8') : INTRODUCTION;
  const sections = written.split(/^(?=## )/m);
  const place = sections.findIndex((each) => each.startsWith(`## ${title}\n`));
  if (place === -1) sections.push(section);
  else sections[place] = section;
  writeFileSync(FILE, `${sections.map((each) => each.trim()).join('\n\n')}\n`);
}

/** Returns a Markdown table. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/**
 * Returns the median time of one call in microseconds. After a warm-up round, each round makes enough
 * calls to fill about 20 ms.
 */
export function timePerCall(call: () => unknown, rounds = 15): number {
  globalThis.gc?.(); // Garbage from earlier work must not be collected during the measurement.
  keep = call(); // The first call may create data that later calls share.
  let calls = 1;
  for (;;) {
    const elapsed = timed(call, calls);
    if (elapsed > 20) break;
    calls *= elapsed < 2 ? 10 : 2;
  }
  return median(Array.from({ length: rounds }, () => (timed(call, calls) * 1000) / calls));
}

function timed(call: () => unknown, calls: number): number {
  const started = performance.now();
  for (let index = 0; index < calls; index++) keep = call();
  return performance.now() - started;
}

/** Nothing reads this value, but it keeps the compiler from dropping calls with unused results. */
export let keep: unknown;

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
