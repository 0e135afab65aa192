import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import { LINT_RULES, type LintSeverity } from './lint-rules.js';
import { nearDuplicates } from './near-duplicates.js';
import { ToolMetadataRegistry } from '../tool-metadata-registry.js';

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
  if (!(registry instanceof ToolMetadataRegistry)) throw new ToolError('INVALID_ARGUMENT', `Expected a ToolMetadataRegistry, found ${describeValue(registry)}. Register the tools in one first`);
  const entries = [...registry];
  const alike = nearDuplicates(entries.map(({ description }) => description));
  const findings = entries.flatMap((entry, index) => {
    const own = Object.entries(LINT_RULES).flatMap(([name, rule]) => [...rule.check(entry, registry)].map((message) => ({ rule: name, severity: rule.severity, toolName: entry.name, message })));
    const earlier = alike.get(index);
    if (earlier === undefined) return own;
    const message = `the description is nearly that of ${entries[earlier]!.name}: a model cannot tell them apart`;
    return [...own, { rule: 'near-duplicate-description', severity: 'warning' as const, toolName: entry.name, message }];
  });
  return Object.freeze(findings.map((finding) => Object.freeze(finding)));
}
