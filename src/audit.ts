export {
  auditTools,
  expectHonest,
  type AuditOptions,
  type AuditReport,
  type HonestOptions,
} from './audit/judge/audit-tools.js';
export { auditMcpServer, type McpAuditOptions } from './audit/judge/audit-mcp-server.js';
export type { AuditFinding, ToolAudit } from './audit/judge/judge-tool.js';
export type { Effect } from './audit/effect.js';
export type { RunChoice, RunResult } from './audit/run/run-tools.js';
export type { AuditKnowledge } from './audit/known/known-value.js';
