import type { CallEffect } from '../effect.js';
import { isSqlDatabase } from './packages.js';
import { reads, textIn, undecided, wordsIn, writes, type KnownValue } from './known-value.js';
import { sqlEffects } from './sql.js';

const SQL_METHODS = new Set(
  wordsIn(
    'query execute exec run all get each prepare raw unsafe sql values iterate batch executesql ' +
      'rawquery command pragma simplequery $queryraw $executeraw $queryrawunsafe ' +
      '$executerawunsafe',
  ),
);
/** Methods for connections and transactions. Only the calls made inside them have effects. */
const AROUND =
  /^(?:release|close|end|connect|disconnect|quit|duplicate|on|once|begin\w*|commit\w*|rollback\w*|startTransaction|runTransaction|withTransaction|\$transaction|transaction|execute(?:Read|Write)|initialize|ping|create(?:Client|Pool|Connection|Cluster)?|multi|pipeline|auth|use)$/;
/** Redis commands that only read. */
const REDIS_READS = new Set(
  wordsIn(
    'get mget getrange strlen hget hmget hgetall hkeys hvals hlen hexists keys scan hscan sscan ' +
      'zscan scaniterator exists ttl pttl type lrange lindex llen scard smembers sismember ' +
      'smismember srandmember sinter sunion sdiff zcard zcount zrange zrangebyscore zrevrange ' +
      'zscore zrank zrevrank xlen xrange xrevrange xread xinfo info ping dbsize memory object ' +
      'bitcount getbit pfcount geodist geopos georadius geosearch time echo randomkey dump json ' +
      'ft subscribe psubscribe',
  ),
);

/**
 * Returns the effect of a database client's method if its arguments show the effect, or `undefined`
 * if only its name can.
 */
export function databaseEffects(
  pkg: string,
  names: readonly string[],
  call: string,
  args: readonly KnownValue[],
): readonly CallEffect[] | undefined {
  const name = names.at(-1) ?? '';
  const [first] = args;
  if (isSqlDatabase(pkg) && SQL_METHODS.has(name.toLowerCase())) {
    // The effect was already recorded when the statement was prepared.
    if (names.slice(0, -1).includes('prepare')) return [];
    const texts: readonly KnownValue[] = Array.isArray(first) ? first : [first];
    return texts.flatMap((each) => {
      const text =
        typeof each === 'string'
          ? each
          : ['text', 'sql', 'sqlText', 'query'].map((key) => textIn(each, key)).find(Boolean);
      return sqlEffects(name === 'pragma' && text !== undefined ? `PRAGMA ${text}` : text);
    });
  }
  if (pkg === 'neo4j-driver' && /^(?:run|executeQuery)$/.test(name))
    return typeof first !== 'string' || /\bcall\b(?!\s+db\.)/i.test(first)
      ? [undecided('db-write', call)]
      : /\b(?:create|merge|delete|set|remove|drop|load\s+csv|foreach)\b/i.test(first)
        ? [writes('db-write', call)]
        : [reads('db-read', call)];
  if (pkg.startsWith('mongo') && name === 'aggregate')
    return /\$(?:out|merge)\b/.test(JSON.stringify(first) ?? '')
      ? [writes('db-write', call, true)]
      : Array.isArray(first) && !first.includes(undefined)
        ? [reads('db-read', call)]
        : [undecided('db-write', call)];
  if (/^(?:command|runCommand|sendCommand|call|eval(?:sha)?)$/i.test(name))
    return [undecided('db-write', call)];
  if (AROUND.test(name)) return [];
  if (!/^(?:redis|ioredis|@redis\/.+|@upstash\/redis)$/.test(pkg))
    return name === 'index' && /elasticsearch$|^@opensearch/.test(pkg)
      ? [writes('db-write', call)]
      : undefined;
  if (/^[A-Z]|^(?:select|exec|status|isOpen|isReady|options)$/.test(name)) return [];
  const key = name.toLowerCase();
  if (
    REDIS_READS.has(key) ||
    /^(?:config|memory|client|object|acl|xinfo)_?(?:get|list|info|usage|stats)/.test(key)
  )
    return [reads('db-read', call)];
  const adds = /^(?:append|l?push|r?push|sadd|zadd|xadd|incr|decr|publish)/.test(key);
  return [writes('db-write', call, !adds, /^(?:set|del|hset|sadd|expire)/.test(key))];
}
