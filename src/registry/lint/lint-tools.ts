import { LINT_RULES, type LintSeverity } from './lint-rules.js';
import { nearDuplicates } from './near-duplicates.js';
import type { ToolMetadataRegistry } from '../tool-metadata-registry.js';

/** One thing to mend in a tool's metadata. */
export interface LintFinding {
  /** Stable: CI settings may name it. */
  readonly rule: string;
  readonly severity: LintSeverity;
  readonly toolName: string;
  readonly message: string;
}

/** Everything worth mending in the metadata of a registry's tools, in registration order, then by rule. */
export function lintTools(registry: ToolMetadataRegistry): readonly LintFinding[] {
  const entries = [...registry];
  const alike = new Map<number, string[]>();
  for (const [first, second] of nearDuplicates(entries.map(({ description }) => description))) {
    alike.set(second, [...(alike.get(second) ?? []), entries[first]!.name]);
  }
  const findings = entries.flatMap((entry, index) => {
    const own = Object.entries(LINT_RULES).flatMap(([name, rule]) => [...rule.check(entry, registry)].map((message) => ({ rule: name, severity: rule.severity, toolName: entry.name, message })));
    const others = alike.get(index);
    const message = `the description is nearly that of ${others?.join(', ')}: a model cannot tell them apart`;
    return others === undefined ? own : [...own, { rule: 'near-duplicate-description', severity: 'warning' as const, toolName: entry.name, message }];
  });
  return Object.freeze(findings.map((finding) => Object.freeze(finding)));
}
