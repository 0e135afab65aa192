import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { z } from 'zod';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { ToolError, type ToolErrorCode } from '../../core/errors.js';
import { expectedGot, refusal, toIssues } from '../../core/issues.js';
import type { ToolCall } from '../../safety/calls.js';
import { plainLine, readBounded, type Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The most bytes of a file of calls, or of one call's input: more than the executor takes. */
const MAX_BYTES = 4 * 2 ** 20;

/**
 * Returns JSON from a file, or from standard input as `-`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what cannot be read, is larger than 4 MiB, or is no JSON.
 */
export async function readJsonFile(
  file: string,
  terminal: Dialog,
  cwd: string,
  parseText: (text: string, where: string) => unknown = parseJson,
): Promise<unknown> {
  if (file === '-') return parseText(await terminal.readInput(MAX_BYTES), 'standard input');
  const name = JSON.stringify(file);
  return parseText(await readBounded(createReadStream(resolve(cwd, file)), MAX_BYTES, name), name);
}

/** Returns JSON as an option gives it: the text itself, `@file`, or `-` for standard input. @throws ToolError as `readJsonFile`. */
export async function readJsonOption(
  text: string,
  terminal: Dialog,
  cwd: string,
): Promise<unknown> {
  if (text === '-') return readJsonFile(text, terminal, cwd);
  return text.startsWith('@')
    ? readJsonFile(text.slice(1), terminal, cwd)
    : parseJson(text, '--input');
}

/** Returns the value of JSON text. @throws ToolError with the code. */
export function parseJson(
  text: string,
  where: string,
  code: ToolErrorCode = 'INVALID_ARGUMENT',
): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const hint = where === '--input' ? 'Quote it for the shell, or use --input @file.' : undefined;
    throw new ToolError(
      code,
      expectedGot(`JSON in ${where}`, plainLine((error as SyntaxError).message), hint),
      { cause: error },
    );
  }
}

/** Returns the value of JSON text with comments and commas at the end, as editors have it. @throws ToolError `INVALID_ARGUMENT`. */
export function parseJsonc(text: string, where: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    throw wrongUsage(
      `JSON in ${where}`,
      `${printParseErrorCode(first.error)} in line ${text.slice(0, first.offset).split('\n').length}`,
    );
  return value;
}

/** The most calls of one list: a turn of a model has a few. */
const MOST_CALLS = 1_000;
const LONGEST_TEXT = 256;

// Strict: a call whose input stands under another name would run without it.
const schema = z
  .array(
    z.strictObject({
      id: z.string().min(1).max(LONGEST_TEXT).optional(),
      name: z.string().min(1).max(LONGEST_TEXT),
      input: z.unknown().optional(),
    }),
  )
  .max(MOST_CALLS);

/**
 * Returns the calls that a JSON list of `{id?, name, input?}` stands for; without an id they are named by their position.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming every wrong entry by its position, from 0.
 */
export function readCalls(data: unknown): readonly ToolCall[] {
  const parsed = schema.safeParse(data);
  const issues = parsed.success ? [] : [...toIssues(parsed.error, data)];
  const calls = (parsed.data ?? []).map(({ id, name, input }, position) => ({
    id: id ?? `call-${position}`,
    name,
    input: input ?? {},
  }));
  const firstOf = new Map<string, number>();
  for (const [position, { id }] of calls.entries()) {
    const first = firstOf.get(id);
    if (first === undefined) firstOf.set(id, position);
    else
      issues.push({
        path: [position, 'id'],
        message: expectedGot(
          'an id that no other call has',
          `${JSON.stringify(id)}, which is that of call ${first}`,
        ),
      });
  }
  if (issues.length === 0) return calls;
  throw refusal(
    'Expected a list of calls as [{"name": "…", "input": {…}}], got what is refused (positions count from 0)',
    issues,
  );
}
