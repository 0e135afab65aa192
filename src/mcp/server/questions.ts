import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { digestOf, type Json } from '../../core/plain-data.js';
import type { PendingApproval } from '../../safety/calls.js';

/** Characters of arguments that are shown whole, and of the beginning and end of what is longer. */
const SHOWN_WHOLE = 4_096;
const SHOWN_ENDS = 1_024;
/** Whatever a reader does not see or takes for a space: what somebody says yes to must not hide anything. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

type Form = ElicitRequestFormParams & { mode: 'form' };

/**
 * Asks for a person's yes. The form has no fields: to accept is the yes, everything else a no.
 *
 * The arguments stand as JSON, in which no text can pass for a line of the question.
 */
export function approvalForm({ toolName, danger, reason, input }: PendingApproval): Form {
  return form(`Run ${toolName}? Danger: ${danger}. ${reason}\n\n${shownArguments(input)}\n\nAccept runs exactly this call.`, {});
}

/** Asks what a tool wants to know. */
export function questionForm(toolName: string, question: string, options: readonly string[] | undefined): Form {
  const choice = options === undefined || options.length === 0 ? {} : { enum: [...new Set(options)] };
  return form(`${toolName} asks: ${question}`, { answer: { type: 'string', title: 'Answer', ...choice } }, ['answer']);
}

function form(message: string, properties: Form['requestedSchema']['properties'], required?: string[]): Form {
  return { mode: 'form', message, requestedSchema: { type: 'object', properties, ...(required && { required }) } };
}

function shownArguments(input: Json): string {
  const json = seen(JSON.stringify(input, null, 2));
  if (json === '{}') return 'Without arguments.';
  if (json.length <= SHOWN_WHOLE) return `Arguments:\n${json}`;
  const hidden = json.length - 2 * SHOWN_ENDS;
  return `Arguments of ${json.length} characters, SHA-256 ${digestOf(input)}. The first ${SHOWN_ENDS}:\n${json.slice(0, SHOWN_ENDS)}\n${hidden} characters that are NOT shown, then the last ${SHOWN_ENDS}:\n${json.slice(-SHOWN_ENDS)}`;
}

function seen(json: string): string {
  const writtenOut = (character: string) => Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('');
  return json.split('\n').map((line) => line.replace(UNSEEN, writtenOut)).join('\n');
}
