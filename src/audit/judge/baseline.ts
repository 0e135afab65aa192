import { z } from 'zod';
import { refusal, toIssues } from '../../core/issues.js';
import { compareText } from '../../core/plain-data.js';
import type { AuditFinding, ToolAudit } from './judge-tool.js';

/**
 * A known lie. A lie is identified by tool, axis and call, so it stays known if its line number
 * changes.
 */
interface KnownLie {
  readonly tool: string;
  readonly axis: string;
  readonly kind: string;
  readonly call: string;
}

const TEXT = z.string().min(1).max(1_000);
const schema = z.strictObject({
  version: z.literal(1),
  lies: z
    .array(z.strictObject({ tool: TEXT, axis: TEXT, kind: TEXT, call: z.string().max(1_000) }))
    .max(100_000),
});

/**
 * Returns the known lies in a baseline file's JSON. @throws ToolError `INVALID_ARGUMENT` with
 * everything that's invalid.
 */
export function readBaseline(data: unknown): readonly KnownLie[] {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data.lies;
  throw refusal(
    'This is not a baseline written by tooldex audit --update-baseline',
    toIssues(parsed.error, data),
  );
}

/**
 * Returns the JSON of a baseline that contains all lies of the given tools. Equal lies produce
 * identical JSON.
 */
export function writeBaseline(tools: readonly ToolAudit[]): string {
  const lies = new Map<string, KnownLie>();
  for (const { name, findings } of tools)
    for (const finding of liesIn(findings)) {
      const lie = lieOf(name, finding);
      lies.set(keyOf(lie), lie);
    }
  const sorted = [...lies.keys()].sort(compareText).map((key) => lies.get(key));
  return `${JSON.stringify({ version: 1, lies: sorted }, null, 2)}\n`;
}

/**
 * Marks the findings that a baseline contains. Returns the baseline's entries that no longer match
 * a finding.
 */
export function applyBaseline(
  tools: readonly ToolAudit[],
  accepted: readonly KnownLie[],
): { readonly tools: readonly ToolAudit[]; readonly gone: readonly KnownLie[] } {
  const keys = new Set(accepted.map(keyOf));
  const gone = new Map(accepted.map((lie) => [keyOf(lie), lie]));
  const marked = tools.map((tool) => ({
    ...tool,
    findings: tool.findings.map((finding) => {
      const key = keyOf(lieOf(tool.name, finding));
      if (finding.kind !== 'lies' || !keys.has(key)) return finding;
      gone.delete(key);
      return { ...finding, known: true as const };
    }),
  }));
  return { tools: marked, gone: [...gone.values()] };
}

/** Returns the lies that aren't in a baseline. */
export function newLies(tools: readonly ToolAudit[]): readonly ToolAudit[] {
  return tools.filter(({ findings }) => liesIn(findings).some(({ known }) => known !== true));
}

export function liesIn(findings: readonly AuditFinding[]): readonly AuditFinding[] {
  return findings.filter(({ kind }) => kind === 'lies');
}

function lieOf(tool: string, { axis, effect }: AuditFinding): KnownLie {
  return { tool, axis, kind: effect?.kind ?? 'none', call: effect?.call ?? '' };
}

function keyOf({ tool, axis, kind, call }: KnownLie): string {
  return JSON.stringify([tool, axis, kind, call]);
}
