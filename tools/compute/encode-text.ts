import { TextDecoder } from 'node:util';
import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { COMPUTE_TOOL } from './compute-tool.js';

/** Maximum length of the text in characters. 5 million take well under a second. */
const MAX_TEXT = 5_000_000;

const Input = z.object({
  text: z.string().max(MAX_TEXT).describe('Text to encode, or encoded text to decode'),
  format: z
    .enum(['base64', 'base64url', 'hex', 'url'])
    .describe('url means percent-encoding for one part of a URL'),
  direction: z
    .enum(['encode', 'decode'])
    .describe('encode turns text into the format; decode turns it back into text'),
});

/** Encodes and decodes text. Refuses text that couldn't be restored exactly. */
@tool({
  ...COMPUTE_TOOL,
  name: 'encode_text',
  description:
    "Encodes text (as UTF-8) to base64, base64url, hex or URL percent-encoding, or decodes it back to text. Fails if the input isn't in the given format or doesn't decode to UTF-8 text. At most 5 million characters.",
  inputSchema: Input,
  keywords: [
    'encode',
    'decode',
    'base64',
    'base64url',
    'hex',
    'hexadecimal',
    'url encode',
    'percent encoding',
    'unescape',
  ],
  mandatoryKeywords: ['base64', 'url encode', 'url decode'],
  stages: ['analysis', 'execution'],
  taskTypes: ['generation', 'analysis'],
  examples: [
    'Decode this base64 text',
    'Encode "a b&c" for a URL',
    'What does 68656c6c6f mean in hex?',
  ],
})
export class EncodeText {
  execute({ text, format, direction }: z.input<typeof Input>) {
    if (direction === 'encode') {
      // Half of a surrogate pair has no UTF-8 form, so it would silently become another character.
      if (Buffer.from(text).toString() !== text)
        return fail(
          "The text contains half of a surrogate pair, which can't be encoded. Remove it.",
        );
      return {
        text: format === 'url' ? encodeURIComponent(text) : Buffer.from(text).toString(format),
      };
    }
    return format === 'url' ? decodeUrl(text) : decodeBytes(text, format);
  }
}

function decodeUrl(text: string) {
  try {
    return { text: decodeURIComponent(text) };
  } catch {
    return fail(
      'The text contains a "%" that doesn\'t begin a valid percent-encoding. Write a literal percent sign as %25.',
    );
  }
}

function decodeBytes(text: string, format: 'base64' | 'base64url' | 'hex') {
  // Encoded text is often wrapped across lines.
  const compact = text.replace(/\s+/g, '');
  const bytes = Buffer.from(compact, format);
  // The decoder skips unknown characters. So the text is valid only if encoding the result gives
  // the same text again.
  if (canonical(bytes.toString(format), format) !== canonical(compact, format))
    return fail(
      `The text isn't valid ${format}: it contains invalid characters or has the wrong length. Check that it is complete.`,
    );
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return fail(
      `This ${format} decodes to ${bytes.length} bytes that aren't UTF-8 text. It may be an image or another binary file.`,
    );
  }
}

/** Returns text without padding, and hexadecimal digits in lower case. */
function canonical(encoded: string, format: 'base64' | 'base64url' | 'hex'): string {
  if (format === 'hex') return encoded.toLowerCase();
  return encoded.endsWith('==')
    ? encoded.slice(0, -2)
    : encoded.endsWith('=')
      ? encoded.slice(0, -1)
      : encoded;
}
