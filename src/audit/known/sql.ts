import type { CallEffect } from '../effect.js';
import { reads, undecided, writes } from './known-value.js';

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g;
const TEXTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$[\s\S]*?\$\$/g;
const READS = /^(?:select|values|table|show|describe|desc|explain|pragma|list|use|fetch|help|analyze\s+verbose)\b/i;
const SESSION = /^(?:begin|commit|rollback|start|end|savepoint|release|set|reset|prepare|deallocate|declare|close|lock|listen|unlisten|discard)\b/i;
const ADDS = /^(?:insert|create)\b/i;
const WRITES = /^(?:insert|update|delete|merge|replace|upsert|create|alter|drop|truncate|grant|revoke|comment|vacuum|reindex|refresh|cluster|copy|load|import|attach|detach|rename|optimize|call|do|execute|exec|kill|notify|security)\b/i;
const INNER_WRITE = /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|truncate|into\s+(?:outfile|dumpfile|temp|table|#?\w+\s+from))\b/i;

/** Returns the effects of a text in SQL; of several statements, of each. */
export function sqlEffects(text: string | undefined): readonly CallEffect[] {
  if (text === undefined) return [undecided('db-write', 'SQL')];
  const statements = text.slice(0, 20_000).replace(COMMENTS, ' ').replace(TEXTS, "''").split(';').map((each) => each.trim()).filter((each) => each !== '');
  return statements.length === 0 ? [undecided('db-write', 'SQL')] : statements.flatMap(effectOf);
}

function effectOf(statement: string): readonly CallEffect[] {
  const call = statement.replace(/\s+/g, ' ').slice(0, 60);
  const isInner = INNER_WRITE.test(statement);
  // PRAGMA journal_mode = WAL sets, PRAGMA table_info(t) asks; EXPLAIN ANALYZE runs what it explains.
  if (/^pragma\b/i.test(statement)) return [statement.includes('=') ? writes('db-write', call, true, true) : reads('db-read', call)];
  if (/^explain\b/i.test(statement)) return [/^explain\s*\(?\s*analy[sz]e/i.test(statement) && isInner ? writes('db-write', call) : reads('db-read', call)];
  if (/^with\b/i.test(statement)) return [isInner ? writes('db-write', call) : reads('db-read', call)];
  if (READS.test(statement)) return [isInner && /^select\b/i.test(statement) ? writes('db-write', call, false, false) : reads('db-read', call)];
  if (SESSION.test(statement)) return [];
  if (WRITES.test(statement)) return [ADDS.test(statement) && !/\b(?:or\s+replace|on\s+(?:conflict|duplicate))\b/i.test(statement) ? writes('db-write', call, false, /\bif\s+not\s+exists\b/i.test(statement)) : writes('db-write', call, true, null)];
  return [undecided('db-write', call)];
}
