import type { CapabilityRegistry } from '../capability/capability-registry.js';

/** Returns metrics in the Prometheus text format. */
export function metricsOf(capabilities: CapabilityRegistry, waiting: number | undefined): string {
  const tools = capabilities.tools();
  const label = (text: string) => text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
  const lines = [
    '# HELP tooldex_tools The tools in the catalogue.',
    '# TYPE tooldex_tools gauge',
    `tooldex_tools ${tools.length}`,
  ];
  if (waiting !== undefined)
    lines.push(
      '# HELP tooldex_pending_calls The calls that are waiting for a person.',
      '# TYPE tooldex_pending_calls gauge',
      `tooldex_pending_calls ${waiting}`,
    );
  lines.push(
    '# HELP tooldex_recent_calls The recent calls of each tool from which its health is computed, at most 100.',
    '# TYPE tooldex_recent_calls gauge',
  );
  for (const { name, owner, health } of tools) {
    const { total, success, failure } = health.tool;
    if (total === 0) continue;
    const place = `tool="${label(name)}",persona="${label(owner ?? '')}"`;
    lines.push(
      `tooldex_recent_calls{${place},result="success"} ${success}`,
      `tooldex_recent_calls{${place},result="failure"} ${failure}`,
    );
  }
  return `${lines.join('\n')}\n`;
}
