import { createHash } from 'node:crypto';
import { WINDOW_STEPS } from '../state-arguments.js';

/** The beginning of the guard's errors. */
export const RESTARTED = 'TOOLDEX_RESTARTED';

/** A program that Redis runs as one step, and the name by which its cache knows it. */
export interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): RedisScript {
  return Object.freeze({ source, sha: createHash('sha1').update(source).digest('hex') });
}

/**
 * Reads the identity: the `run_id`, which is new at every start and each server's own, and the id of the replication
 * history, which is new when a former replica becomes the master again. Empty if the server hides it.
 */
const IDENTITY = `
local function told(section, pattern)
  local info = redis.pcall('INFO', section)
  return type(info) == 'string' and string.match(info, pattern) or ''
end
local function identity()
  local run = told('server', 'run_id:(%w+)')
  return run == '' and '' or run .. ':' .. told('replication', 'master_replid:(%w+)')
end
`;

/**
 * Refuses if ARGV[1] names another server than this one.
 *
 * It runs in the same step as the write: a restart of Redis, or a proxy that changes servers, could otherwise come in
 * between.
 */
const GUARD = `${IDENTITY}
if ARGV[1] ~= '' and ARGV[1] ~= identity() then return redis.error_reply('${RESTARTED} another server') end
`;

export const NOW = script(`${IDENTITY}
local time = redis.call('TIME')
return {time[1], time[2], identity()}
`);

/**
 * ARGV after the guard: `1` and the text expected, or `0` and an empty one for nothing; the same for the next text;
 * milliseconds to live, empty for good, or `keep`.
 *
 * Answers 1 when it wrote, 0 when it did not.
 */
export const COMPARE_AND_SET = script(`${GUARD}
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
`);

/**
 * ARGV after the guard: the number to add; the largest sum; milliseconds to live, or empty; `1` if the key
 * must exist.
 *
 * Answers whether it wrote (1, 0; 2 when the key holds no number) and the number under the key as text, empty for none.
 * Lua's numbers are those of JavaScript, and 17 digits name each of them exactly. Redis would cut a bare number to an
 * integer.
 */
export const INCREMENT = script(`${GUARD}
local current = redis.call('GET', KEYS[1])
local value = 0
if current then
  if not (string.match(current, '^%-?[%d%.]+$') or string.match(current, '^%-?[%d%.]+[eE][%+%-]?%d+$')) then return {2, ''} end
  value = tonumber(current)
  if not value or value - value ~= 0 then return {2, ''} end
elseif ARGV[5] == '1' then
  return {0, ''}
end
local sum = value + tonumber(ARGV[2])
if sum - sum ~= 0 or sum > tonumber(ARGV[3]) then return {0, current or ''} end
local text = string.format('%.17g', sum)
if current then
  redis.call('SET', KEYS[1], text, 'KEEPTTL')
elseif ARGV[4] ~= '' then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[4])
else
  redis.call('SET', KEYS[1], text)
end
return {1, text}
`);

/**
 * Works as INCREMENT, with the length of the window for the milliseconds to live. The key holds `window@`, the
 * microsecond in which it began, and, for each step that counts, its number and the sum added in it. Answers that microsecond, too.
 */
export const INCREMENT_WINDOW = script(`${GUARD}
local current = redis.call('GET', KEYS[1])
if current and string.sub(current, 1, 6) ~= 'window' then return {2, ''} end
if not current and ARGV[5] == '1' then return {0, ''} end
local length = tonumber(ARGV[4])
local step = length / ${WINDOW_STEPS}
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000 + time[2] / 1000) / step)
local born = current and string.match(current, '^window@(%d+)') or string.format('%.0f', time[1] * 1000000 + time[2])
local value, present, kept = 0, 0, {'window@' .. born}
for number, added in string.gmatch(current or '', ' (%d+)=([^ ]+)') do
  if tonumber(number) >= now - ${WINDOW_STEPS} then
    value = value + tonumber(added)
    if tonumber(number) == now then
      present = tonumber(added)
    else
      kept[#kept + 1] = number .. '=' .. added
    end
  end
end
local by = tonumber(ARGV[2])
local sum = value + by
if sum - sum ~= 0 or sum > tonumber(ARGV[3]) then return {0, current and string.format('%.17g', value) or '', current and born or ''} end
kept[#kept + 1] = string.format('%.0f=%.17g', now, present + by)
redis.call('SET', KEYS[1], table.concat(kept, ' '), 'PX', math.ceil(length + step))
return {1, string.format('%.17g', sum), born}
`);

/** ARGV after the guard: the item; the length that the list must have, or empty; the most items; milliseconds to live, or empty. */
export const APPEND = script(`${GUARD}
local length = redis.call('LLEN', KEYS[1])
if (ARGV[3] ~= '' and length ~= tonumber(ARGV[3])) or length >= tonumber(ARGV[4]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
if ARGV[5] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return length + 1
`);
