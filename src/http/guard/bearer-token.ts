import { createHash, timingSafeEqual } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';

/** Characters of a token at least: 16 random ones are beyond guessing over a network. */
export const SHORTEST_TOKEN = 16;
const LONGEST_TOKEN = 4_096;

/**
 * A check of `Authorization` headers against a token.
 *
 * Digests are compared, and in constant time: neither the token's length nor how much of it was right can be measured.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a token that is too short, or cannot be sent in a header; it never shows the token.
 */
export function bearerCheck(token: unknown): (authorization: string | undefined) => boolean {
  if (typeof token !== 'string') throw refused(describeValue(token));
  if (token.length < SHORTEST_TOKEN || token.length > LONGEST_TOKEN) throw refused(`one of ${token.length}`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw refused('one with blanks or characters that are not ASCII');
  const expected = digest(token);
  return (authorization) => {
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    return timingSafeEqual(digest(given ?? ''), expected) && given !== undefined;
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refused(found: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected a token of ${SHORTEST_TOKEN} or more visible ASCII characters, found ${found}; make one with \`openssl rand -hex 32\``);
}
