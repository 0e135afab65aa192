import { parse, type ParseError } from 'jsonc-parser';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseErrorWords } from '../../capability/manifest/json-text.js';
import { refusal, toIssues } from '../../core/issues.js';
import type { ToolCall } from '../../safety/calls.js';
import { plainLine, readBounded, type Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/**
 * The maximum size of a file of calls, or of one call's input. The executor's own limit is lower.
 */
const MAX_BYTES = 4 * 2 ** 20;

/**
 * Returns JSON from a file, or from standard input for `-`.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the file can't be read, is larger than 4 MiB, or isn't
 * JSON.
 */
export async function readJsonFile(
  file: string,
  terminal: Dialog,
  cwd: string,
  parseText: (text: string, where: string) => unknown = parseJson,
): Promise<unknown> {
  const stream = file === '-' ? terminal.input : createReadStream(resolve(cwd, file));
  const name = file === '-' ? 'standard input' : file;
  return parseText(await readBounded(stream, MAX_BYTES, name), name);
}

/**
 * Returns JSON from an option: the text itself, `@file`, or `-` for standard input. @throws
 * ToolError like `readJsonFile`.
 */
export async function readJsonOption(
  text: string,
  terminal: Dialog,
  cwd: string,
  name = '--input',
): Promise<unknown> {
  if (text === '-' || text.startsWith('@'))
    return readJsonFile(text.replace(/^@/, ''), terminal, cwd);
  return parseJson(text, name, ` Quote it for the shell, or use ${name} @file.`);
}

/** Parses a JSON string. @throws ToolError `INVALID_ARGUMENT`. */
export function parseJson(text: string, where: string, advice = ''): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const reason = plainLine((error as SyntaxError).message);
    throw wrongUsage(`${where} isn't valid JSON: ${reason}.${advice}`, error);
  }
}

/**
 * Parses JSON text that may have comments and trailing commas, as editors write it. @throws
 * ToolError `INVALID_ARGUMENT`.
 */
export function parseJsonc(text: string, where: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const line = text.slice(0, first.offset).split('\n').length;
  throw wrongUsage(`${where} isn't valid JSON: ${parseErrorWords(first)} on line ${line}.`);
}

/** The maximum number of calls in a list. A model makes only a few calls per turn. */
const MAX_CALLS = 1_000;
const name = z.string().min(1).max(256);

// Refuses unknown keys. For example, a call with its input under a misspelled key would run without
// input.
const schema = z
  .array(z.strictObject({ id: name.optional(), name, input: z.unknown().optional() }))
  .max(MAX_CALLS);

/**
 * Returns the calls in a JSON list of `{id?, name, input?}`. A call without an id gets an id based
 * on its position.
 *
 * @throws ToolError `INVALID_ARGUMENT` that lists every invalid entry by its position, from 0.
 */
export function callsInJson(data: unknown): readonly ToolCall[] {
  const parsed = schema.safeParse(data);
  if (!parsed.success)
    throw refusal(
      'Expected a list of calls, such as [{"name": "…", "input": {…}}]. These entries are invalid, by position from 0',
      toIssues(parsed.error, data),
    );
  return parsed.data.map(({ id, name, input }, position) => ({
    id: id ?? `call-${position}`,
    name,
    input: input ?? {},
  }));
}
