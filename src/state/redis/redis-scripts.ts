import { createHash } from 'node:crypto';

/** A program that Redis runs as one step, and the name by which its cache knows it. */
export interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): RedisScript {
  return Object.freeze({ source, sha: createHash('sha1').update(source).digest('hex') });
}

/**
 * ARGV: `1` and the text expected, or `0` and an empty one for nothing; the same for the next text; milliseconds to live, or empty.
 *
 * Answers 1 when it wrote, 0 when it did not.
 */
export const COMPARE_AND_SET = script(`
local current = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
  if current then return 0 end
elseif current ~= ARGV[2] then
  return 0
end
if ARGV[3] == '0' then
  redis.call('DEL', KEYS[1])
elseif ARGV[5] == '' then
  redis.call('SET', KEYS[1], ARGV[4])
else
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
end
return 1
`);

/**
 * ARGV: the number to add; the largest sum, or empty; milliseconds to live, or empty; `1` if the key must exist.
 *
 * Answers whether it wrote (1, 0; 2 when the key holds no number) and the number under the key as text, empty for none.
 * Lua's numbers are those of JavaScript, and 17 digits name each of them exactly. A number as such would be cut to an integer by Redis.
 */
export const INCREMENT = script(`
local current = redis.call('GET', KEYS[1])
local value = 0
if current then
  if not (string.match(current, '^%-?[%d%.]+$') or string.match(current, '^%-?[%d%.]+[eE][%+%-]?%d+$')) then return {2, ''} end
  value = tonumber(current)
  if not value or value - value ~= 0 then return {2, ''} end
elseif ARGV[4] == '1' then
  return {0, ''}
end
local sum = value + tonumber(ARGV[1])
if sum - sum ~= 0 or (ARGV[2] ~= '' and sum > tonumber(ARGV[2])) then return {0, current or ''} end
local text = string.format('%.17g', sum)
if current then
  redis.call('SET', KEYS[1], text, 'KEEPTTL')
elseif ARGV[3] ~= '' then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[3])
else
  redis.call('SET', KEYS[1], text)
end
return {1, text}
`);
