import { createHash } from 'node:crypto';
import { z } from 'zod';
import { tool } from '../../src/index.js';
import { COMPUTE_TOOL } from './compute-tool.js';

/**
 * Maximum length of the text in characters. Hashing a text of this length takes well under a
 * second.
 */
const MAX_TEXT = 5_000_000;

const Input = z.object({
  text: z.string().max(MAX_TEXT).describe('Text to hash, as UTF-8'),
  algorithm: z
    .enum(['sha256', 'sha512', 'sha1', 'md5'])
    .default('sha256')
    .describe('Use sha1 and md5 only to compare with existing checksums'),
});

/** Computes the checksum of a text. */
@tool({
  ...COMPUTE_TOOL,
  name: 'hash_text',
  description:
    'Returns the sha256, sha512, sha1 or md5 checksum of a text (as UTF-8) as hexadecimal digits. Not for storing passwords: these hashes are fast to guess. At most 5 million characters.',
  inputSchema: Input,
  keywords: ['hash', 'checksum', 'sha256', 'sha1', 'md5', 'digest', 'fingerprint', 'sha512'],
  mandatoryKeywords: ['sha256', 'md5', 'checksum'],
  stages: ['execution', 'verification'],
  taskTypes: ['analysis', 'generation'],
  examples: [
    'What is the sha256 of "hello"?',
    'Compute the md5 checksum of this text',
    'Does this text match the hash?',
  ],
})
export class HashText {
  execute({ text, algorithm = 'sha256' }: z.input<typeof Input>) {
    const bytes = Buffer.from(text);
    return {
      algorithm,
      hash: createHash(algorithm).update(bytes).digest('hex'),
      bytes: bytes.length,
    };
  }
}
