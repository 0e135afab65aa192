import type { CallToolResult } from '@modelcontextprotocol/server';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolOutcome } from '../../safety/calls.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { OutputSchemas } from '../output-schemas.js';

/** A failure that the model reads, and can do something about. */
export function errorResult(...texts: readonly string[]): CallToolResult {
  return { isError: true, content: texts.map((text) => ({ type: 'text', text })) };
}

/**
 * A tool's answer: as text, and as structured content where it is an object.
 *
 * An answer that breaks its own output schema is shown as an error together with what it was: the tool did its work.
 */
export function answerResult(entry: ToolEntry, value: unknown, schemas: OutputSchemas, note?: string): CallToolResult {
  const answer = jsonOf(value);
  if (answer === undefined) return errorResult(`${entry.name} ran, but its answer cannot be written as JSON.`);
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const refusal = schemas.refusalOf(entry, answer);
  if (refusal !== undefined) return errorResult(`${entry.name} ran, but its answer is not what its output schema promises: ${refusal}. It answered:`, text, ...(note === undefined ? [] : [note]));
  const content = [text, ...(note === undefined ? [] : [note])].map((each) => ({ type: 'text' as const, text: each }));
  const isStructured = isPlainObject(answer) || schemas.of(entry) !== undefined;
  return isStructured ? { content, structuredContent: answer } : { content };
}

/** What became of a call that is over: nobody is to be asked about it any more. */
export function outcomeResult(entry: ToolEntry, outcome: ToolOutcome, schemas: OutputSchemas): CallToolResult {
  switch (outcome.status) {
    case 'ok':
      return answerResult(entry, outcome.value, schemas);
    case 'halt':
      return answerResult(entry, outcome.value, schemas, `The tool asks to end here: ${outcome.reason}`);
    case 'error':
      return errorResult(outcome.message);
    case 'denied':
      return errorResult(`${entry.name} was not run: ${outcome.reason} (${outcome.rule}).`);
    case 'manual':
      return errorResult(`${entry.name} is not run by a program: a person, or whoever serves it, answers its calls elsewhere. Go on without its answer, or ask the user.`);
    case 'approval_required':
      return errorResult(`${entry.name} was not run: a person must say yes to this call (${outcome.pending.reason}), and this client cannot ask (it does not support elicitation with forms). Ask the user to allow it on the side of the server.`);
    case 'ask_user': {
      const choice = outcome.options === undefined || outcome.options.length === 0 ? '' : ` (one of: ${outcome.options.join(', ')})`;
      return errorResult(`${entry.name} asks, and this client cannot pass the question on: ${outcome.question}${choice}. Ask the user, and call again with the answer in the arguments if the tool takes it.`);
    }
  }
}

/** A value as JSON has it; `undefined` for what JSON cannot hold, such as cycles. */
function jsonOf(value: unknown): Json | undefined {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null') as Json;
  } catch {
    return undefined;
  }
}
