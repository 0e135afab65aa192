import type { CallEffect } from '../effect.js';
import { HOLE } from '../evaluate/values.js';

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\/|(?:^|\n)[ \t]*#[^\n]*/g;
const TEXTS = /'(?:[^']|'')*'|\$\$[\s\S]*?\$\$/g;
const NAMES = /"(?:[^"]|"")*"|`[^`]*`/g;
const READS =
  /^(?:select|values|table|show|describe|desc|explain|pragma|list|use|fetch|help|summarize|from)\b/i;
const SESSION =
  /^(?:begin|commit|rollback|start|end|savepoint|release|set|reset|prepare|deallocate|declare|close|listen|unlisten|discard)\b/i;
const WRITES =
  /^(?:insert|update|delete|merge|replace|upsert|create|alter|drop|truncate|grant|revoke|comment|vacuum|reindex|refresh|cluster|copy|load|import|attach|detach|rename|optimize|checkpoint|analyze|flush|unload|export|kill|notify|security|lock)\b/i;
const INNER_WRITE =
  /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|truncate|for\s+update|into\s+(?:outfile|dumpfile|temp|temporary|unlogged|table|[#\w.]+\s+from))\b/i;
/** Functions of databases that change something even in a SELECT. */
const CHANGING_CALL =
  /\b(?:nextval|setval|pg_(?:terminate|cancel)_backend|pg_notify|pg_reload_conf|pg_switch_wal|lo_(?:unlink|import|export|create)|dblink_exec|load_extension|writefile)\s*\(/i;
const CHANGING_PRAGMA = /=|\b(?:wal_checkpoint|optimize|incremental_vacuum|shrink_memory)\b/i;
const ANALYZED =
  /^explain\s*(?:\([^)]*\banaly[sz]e\b[^)]*\)|analy[sz]e\b(?:\s+verbose\b)?)([\s\S]+)/i;

/** Returns the effect of each statement in a SQL text. */
export function sqlEffects(text: string): readonly CallEffect[] {
  const statements = text
    .slice(0, 20_000)
    .replace(TEXTS, "''")
    .replace(COMMENTS, ' ')
    .replace(NAMES, 'q')
    .split(';')
    .map((each) => each.replace(/^[\s(]+/, '').trim())
    .filter((each) => each !== '');
  if (statements.length === 0) return [effect('SQL', 'unknown')];
  return statements.flatMap((each) => {
    const access = accessOf(each);
    return access === undefined ? [] : [effect(each.replace(/\s+/g, ' ').slice(0, 60), access)];
  });
}

function effect(call: string, access: CallEffect['access']): CallEffect {
  const deletes =
    access === 'write' && /^(?:delete|drop|truncate|kill)\b|\bdelete\s+from\b/i.test(call);
  return { kind: 'database', access, call, ...(deletes && { deletes }) };
}

/** Returns undefined for statements that only concern the session. */
function accessOf(statement: string): CallEffect['access'] | undefined {
  const isInner = INNER_WRITE.test(statement);
  const analyzed = ANALYZED.exec(statement)?.[1];
  if (analyzed !== undefined) return accessOf(analyzed.trim());
  if (/^pragma\b/i.test(statement)) return CHANGING_PRAGMA.test(statement) ? 'write' : 'read';
  if (/^set\s+(?:global|persist)\b/i.test(statement)) return 'write';
  if (/^copy\b[\s\S]*\bto\s+stdout\b/i.test(statement)) return 'read';
  if (/^with\b/i.test(statement) || READS.test(statement))
    return isInner || CHANGING_CALL.test(statement) ? 'write' : textAccess(statement);
  if (SESSION.test(statement)) return undefined;
  return WRITES.test(statement) ? 'write' : 'unknown';
}

/** Returns `unknown` if a part of the statement that isn't shown could be more than a name or value. */
function textAccess(statement: string): 'read' | 'unknown' {
  return statement.startsWith(HOLE) ? 'unknown' : 'read';
}
