import type { CallEffect } from '../effect.js';
import { reads, undecided, writes } from './known-value.js';

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\/|(?:^|\n)[ \t]*#[^\n]*/g;
const TEXTS = /'(?:[^']|'')*'|\$\$[\s\S]*?\$\$/g;
const NAMES = /"(?:[^"]|"")*"|`[^`]*`/g;
const READS =
  /^(?:select|values|table|show|describe|desc|explain|pragma|list|use|fetch|help|summarize|from)\b/i;
const SESSION =
  /^(?:begin|commit|rollback|start|end|savepoint|release|set|reset|prepare|deallocate|declare|close|lock|listen|unlisten|discard)\b/i;
const ADDS = /^(?:insert|create)\b/i;
const WRITES =
  /^(?:insert|update|delete|merge|replace|upsert|create|alter|drop|truncate|grant|revoke|comment|vacuum|reindex|refresh|cluster|copy|load|import|attach|detach|rename|optimize|checkpoint|analyze|flush|unload|export|call|do|execute|exec|kill|notify|security)\b/i;
const INNER_WRITE =
  /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|truncate|into\s+(?:outfile|dumpfile|temp|temporary|unlogged|table|[#\w.]+\s+from))\b/i;
/** SQL functions that change something even in a SELECT. */
const CHANGING_CALL =
  /\b(?:nextval|setval|pg_(?:terminate|cancel)_backend|pg_notify|pg_reload_conf|pg_switch_wal|lo_(?:unlink|import|export|create)|dblink_exec|load_extension|writefile)\s*\(/i;

/** Returns the effect of each statement in a SQL text. */
export function sqlEffects(text: string | undefined): readonly CallEffect[] {
  if (text === undefined) return [undecided('db-write', 'SQL')];
  const statements = text
    .slice(0, 20_000)
    .replace(TEXTS, "''")
    .replace(COMMENTS, ' ')
    .replace(NAMES, 'q')
    .split(';')
    .map((each) => each.replace(/^[\s(]+/, '').trim())
    .filter((each) => each !== '');
  return statements.length === 0 ? [undecided('db-write', 'SQL')] : statements.flatMap(effectOf);
}

function effectOf(statement: string): readonly CallEffect[] {
  const call = statement.replace(/\s+/g, ' ').slice(0, 60);
  const isInner = INNER_WRITE.test(statement);
  // `PRAGMA journal_mode = WAL` sets a value, but `PRAGMA table_info(t)` only reads.
  if (/^pragma\b/i.test(statement))
    return [
      /=|\b(?:wal_checkpoint|optimize|incremental_vacuum|shrink_memory)\b/i.test(statement)
        ? writes('db-write', call, true, true)
        : reads('db-read', call),
    ];
  const explained =
    /^explain\s*(?:\([^)]*\banaly[sz]e\b[^)]*\)|analy[sz]e\b(?:\s+verbose\b)?)([\s\S]*)/i.exec(
      statement,
    )?.[1];
  if (explained !== undefined && explained.trim() !== '') return effectOf(explained.trim());
  if (/^set\s+(?:global|persist)\b/i.test(statement)) return [writes('db-write', call, true, true)];
  if (/^copy\b[\s\S]*\bto\s+stdout\b/i.test(statement)) return [reads('db-read', call)];
  if (/^with\b/i.test(statement))
    return [isInner ? writes('db-write', call) : reads('db-read', call)];
  if (READS.test(statement))
    return [
      /^select\b/i.test(statement) && (isInner || CHANGING_CALL.test(statement))
        ? writes('db-write', call, isInner ? false : null, isInner ? false : null)
        : reads('db-read', call),
    ];
  if (SESSION.test(statement)) return [];
  if (WRITES.test(statement))
    return [
      /^(?:call|execute|exec)\b/i.test(statement) && !isInner
        ? undecided('db-write', call)
        : ADDS.test(statement) &&
            !/\b(?:or\s+replace|on\s+(?:conflict|duplicate))\b/i.test(statement)
          ? writes('db-write', call, false, /\bif\s+not\s+exists\b/i.test(statement))
          : writes('db-write', call, true, null),
    ];
  return [undecided('db-write', call)];
}
