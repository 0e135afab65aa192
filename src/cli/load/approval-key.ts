import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { textOption, type Options } from '../command/options.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** Option for commands that answer calls. */
export const KEY_OPTIONS = {
  approvalKeyFile: textOption(
    '<file>',
    "the file with the agents' approval key, as 64 or more hexadecimal digits",
  ),
} satisfies Options;

/** Reads the agents' approval key. @throws ToolError `INVALID_ARGUMENT`. */
export function readApprovalKey(file: string, cwd: string): Uint8Array {
  let digits;
  try {
    digits = readFileSync(resolve(cwd, file), 'utf8').trim();
  } catch (error) {
    throw wrongUsage(`Could not read --approval-key-file ${file}.`, error);
  }
  if (!/^(?:[\da-f]{2}){32,}$/i.test(digits))
    throw wrongUsage(
      `Expected 64 or more hexadecimal digits in ${file}, got ${digits.length} characters. Generate a key with: openssl rand -hex 32`,
    );
  return Buffer.from(digits, 'hex');
}
