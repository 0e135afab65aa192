export {
  auditTools,
  expectHonest,
  type AuditOptions,
  type AuditReport,
  type HonestOptions,
} from './audit/judge/audit-tools.js';
export type { AuditFinding, ToolAudit } from './audit/judge/judge-tool.js';
export type { Effect } from './audit/effect.js';
export type { AuditKnowledge } from './audit/known/known-calls.js';
