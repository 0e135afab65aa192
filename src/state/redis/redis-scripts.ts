/** The prefix of the error that the guard returns. */
export const RESTARTED = 'TOOLDEX_RESTARTED';

/**
 * Reads the server's identity: its `run_id`, which is unique per server start, and its replication
 * id, which changes when a former replica becomes master again. The identity is empty if the server
 * hides it.
 */
const IDENTITY = `
local function part(section, pattern)
  local info = redis.pcall('INFO', section)
  return type(info) == 'string' and string.match(info, pattern) or ''
end
local function identity()
  local run = part('server', 'run_id:(%w+)')
  return run == '' and '' or run .. ':' .. part('replication', 'master_replid:(%w+)')
end
`;

/**
 * Fails if ARGV[1] is the identity of another server. Runs in the same atomic step as the write
 * that follows.
 */
const GUARD = `${IDENTITY}
if ARGV[1] ~= '' and ARGV[1] ~= identity() then return redis.error_reply('${RESTARTED} another server') end
`;

export const NOW = `${IDENTITY}
local time = redis.call('TIME')
return {time[1], time[2], identity()}
`;

/**
 * ARGV after the guard: the expected value, the next value, and the TTL. A value is `1` and its
 * text, or `0` and an empty text for no value. The TTL is in milliseconds, `keep`, or empty for no
 * expiry.
 *
 * Returns 1 if the value was written, 0 if not.
 */
export const COMPARE_AND_SET = `${GUARD}
local current = redis.call('GET', KEYS[1])
if ARGV[2] == '0' then
  if current then return 0 end
elseif current ~= ARGV[3] then
  return 0
end
if ARGV[4] == '0' then
  redis.call('DEL', KEYS[1])
elseif ARGV[6] == '' then
  redis.call('SET', KEYS[1], ARGV[5])
elseif ARGV[6] == 'keep' then
  redis.call('SET', KEYS[1], ARGV[5], 'KEEPTTL')
else
  redis.call('SET', KEYS[1], ARGV[5], 'PX', ARGV[6])
end
return 1
`;

/**
 * ARGV after the guard: the number to add, the maximum sum (or empty), and the TTL in milliseconds
 * (or empty).
 *
 * Returns a status (1 if written, 0 if not, 2 if the value isn't a number), and the current number
 * as text, or empty if there is none. The number is returned as text, because Redis would truncate
 * a number to an integer. 17 digits represent any number of Lua and JavaScript exactly.
 */
export const INCREMENT = `${GUARD}
local current = redis.call('GET', KEYS[1])
local value = tonumber(current or '0')
if not value or value - value ~= 0 then return {2, ''} end
local sum = value + tonumber(ARGV[2])
if sum - sum ~= 0 or (ARGV[3] ~= '' and sum > tonumber(ARGV[3])) then return {0, current or ''} end
local text = string.format('%.17g', sum)
if current then
  redis.call('SET', KEYS[1], text, 'KEEPTTL')
elseif ARGV[4] ~= '' then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[4])
else
  redis.call('SET', KEYS[1], text)
end
return {1, text}
`;

/** ARGV: the item, the maximum number of items to keep, and the TTL in milliseconds (or empty). */
export const APPEND = `
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -ARGV[2], -1)
if ARGV[3] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
`;

/**
 * ARGV: the member, the maximum number of members (or empty), and the TTL in milliseconds (or
 * empty). All members have the same score, so Redis sorts them by their bytes.
 *
 * Returns 1 if the index contains the member, 0 if the index is full.
 */
export const ADD_TO_INDEX = `
if ARGV[2] ~= '' and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2])
  and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], 0, ARGV[1])
if ARGV[3] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1
`;
