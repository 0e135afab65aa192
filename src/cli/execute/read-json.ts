import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { ToolError } from '../../core/errors.js';
import { plainLine } from '../plain-text.js';
import type { Dialog } from '../terminal.js';
import { readBounded } from '../read-bounded.js';

/** Bytes of a file of calls, or of one call's input: more than the executor takes. */
const MAX_BYTES = 4 * 2 ** 20;

/**
 * JSON from a file, or from standard input as `-`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what cannot be read, is larger than 4 MiB, or is no JSON.
 */
export async function readJsonFile(file: string, terminal: Dialog, cwd: string): Promise<unknown> {
  if (file === '-') return parseJson(await terminal.readInput(MAX_BYTES), 'standard input');
  const name = JSON.stringify(file);
  return parseJson(await readBounded(createReadStream(resolve(cwd, file)), MAX_BYTES, name), name);
}

/** JSON as an option gives it: the text itself, `@file`, or `-` for standard input. @throws ToolError as `readJsonFile`. */
export async function readJsonOption(text: string, terminal: Dialog, cwd: string): Promise<unknown> {
  if (text === '-') return readJsonFile(text, terminal, cwd);
  return text.startsWith('@') ? readJsonFile(text.slice(1), terminal, cwd) : parseJson(text, '--input');
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const hint = where === '--input' ? '; quote it for the shell, or use --input @file' : '';
    throw new ToolError('INVALID_ARGUMENT', `expected JSON in ${where}, found ${plainLine((error as SyntaxError).message)}${hint}`, { cause: error });
  }
}
