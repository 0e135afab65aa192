import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import type { ToolCall } from '../../safety/calls.js';
import { formatIssues, toIssues } from '../../core/issues.js';

/** Calls of one list: a turn of a model has a few. */
const MOST_CALLS = 1_000;
const LONGEST_TEXT = 256;

// Strict: a call whose input stands under another name would run without it.
const schema = z.array(z.strictObject({ id: z.string().min(1).max(LONGEST_TEXT).optional(), name: z.string().min(1).max(LONGEST_TEXT), input: z.unknown().optional() })).max(MOST_CALLS);

/**
 * The calls that a JSON list of `{id?, name, input?}` stands for; without an id they are named by their position.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming every wrong entry by its position, from 0.
 */
export function readCalls(data: unknown): readonly ToolCall[] {
  const parsed = schema.safeParse(data);
  const issues = parsed.success ? [] : [...toIssues(parsed.error, data)];
  const calls = (parsed.data ?? []).map(({ id, name, input }, position) => ({ id: id ?? `call-${position}`, name, input: input ?? {} }));
  const firstOf = new Map<string, number>();
  for (const [position, { id }] of calls.entries()) {
    const first = firstOf.get(id);
    if (first === undefined) firstOf.set(id, position);
    else issues.push({ path: [position, 'id'], message: `expected an id that no other call has, found ${JSON.stringify(id)}, which is that of call ${first}` });
  }
  if (issues.length === 0) return calls;
  throw new ToolError('INVALID_ARGUMENT', `expected a list of calls as [{"name": "…", "input": {…}}], found what is refused (positions count from 0):\n  ${formatIssues(issues)}`, { details: { issues } });
}
