import { digestOfText, taggedAnswer, type Answer, type Conditions } from './answer.js';

/** A part of an answer that is kept: its JSON in UTF-8, and a digest of it. */
export interface JsonPiece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly digest: string;
}

export function jsonPiece(json: string): JsonPiece {
  return Object.freeze({ bytes: utf8(json), digest: digestOfText(json) });
}

/**
 * Returns an answer out of pieces with commas between them.
 *
 * Pieces are copied, neither encoded nor digested again: that would take most of the time of a long list. The ETag is a
 * digest of their digests.
 */
export function piecesAnswer(before: string, pieces: readonly JsonPiece[], after: string, conditions: Conditions): Answer {
  const etag = `"${digestOfText([before, after, ...pieces.map(({ digest }) => digest)].join('\n'))}"`;
  const parts = [utf8(before), ...pieces.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [COMMA, bytes])), utf8(after)];
  return taggedAnswer(Buffer.concat(parts), etag, 'application/json; charset=utf-8', conditions);
}

const COMMA = utf8(',');

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text);
}
