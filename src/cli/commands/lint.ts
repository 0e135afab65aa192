import { lintTools, type LintFinding } from '../../registry/lint/lint-tools.js';
import { annotation, type LintFormat } from '../lint-formats.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { table } from '../table.js';
import { plainLine } from '../plain-text.js';
import { paint, type Terminal } from '../terminal.js';

/** A finding with the file its tool was loaded from, where there is one. */
interface Located extends LintFinding {
  readonly file: string | undefined;
}

/** Prints what to mend in the tools' metadata; returns the exit code: 0 for nothing, 1 for findings. */
export function lint(terminal: Terminal, { registry, problems, fileOf }: LoadedRegistry, format: LintFormat): number {
  const unloaded = problems.map(({ file, reason }): Located => ({ rule: 'load-error', severity: 'error', toolName: '', message: reason, file }));
  const findings = [...unloaded, ...lintTools(registry).map((finding): Located => ({ ...finding, file: fileOf.get(finding.toolName) }))];
  if (format === 'json') terminal.out(JSON.stringify(findings, null, 2));
  else if (format === 'github') for (const finding of findings) terminal.out(annotation({ severity: finding.severity, title: finding.rule, file: finding.file, message: finding.toolName === '' ? finding.message : `${finding.toolName}: ${plainLine(finding.message)}` }));
  else printTable(terminal, findings, registry.size);
  return findings.length === 0 ? 0 : 1;
}

function printTable(terminal: Terminal, findings: readonly Located[], tools: number): void {
  if (findings.length === 0) return terminal.out(`${paint(terminal, 'green', '✓')} ${tools} tools, nothing to mend`);
  terminal.out(
    table(terminal, findings, [
      { title: 'SEVERITY', value: ({ severity }) => severity, style: ({ severity }) => (severity === 'error' ? 'red' : 'yellow') },
      { title: 'RULE', value: ({ rule }) => rule },
      { title: 'TOOL', value: ({ toolName }) => toolName || '–', style: () => 'bold' },
      { title: 'MESSAGE', value: ({ toolName, file, message }) => (toolName === '' ? `${file}: ${message}` : message), narrow: 'wrap' },
    ]),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  terminal.out(`\n${errors} errors, ${findings.length - errors} warnings in ${tools} tools`);
}
