import { previewLines } from '../../core/preview.js';
import type { CallToolResult, ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { describeValue, digestOf, isPlainObject, type Json } from '../../core/plain-data.js';
import { compileJsonSchema } from '../../json-schema/compile-json-schema.js';
import type { PendingApproval, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { isForModel, type ContentPart } from '../../tool/content.js';
import { flatForm, formWords, isField, type Question } from '../../tool/question.js';
import { jsonSchemaOf, type JsonSchema } from '../../tool/tool-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { blockOfPart } from '../translate/content-blocks.js';

/** Maximum length of arguments that are shown in full. Longer arguments are cut in the middle. */
const SHOWN_WHOLE = 4_096;
const SHOWN_ENDS = 1_024;
/**
 * Characters that are invisible or look like a space. They're escaped, so that arguments shown for
 * approval can't hide anything.
 */
const UNSEEN = /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

type Form = ElicitRequestFormParams & { mode: 'form' };
type Field = Form['requestedSchema']['properties'][string];

/** Returns a failure that the model can read and react to. */
export function errorResult(...texts: readonly string[]): CallToolResult {
  return { isError: true, content: texts.map((text) => ({ type: 'text', text })) };
}

/**
 * Returns the user's answer to a tool's question, or a failure if the answer doesn't match the
 * output schema.
 */
export function answerToQuestion(entry: ToolEntry, { text, data }: Answer): CallToolResult {
  const schema = outputSchemaOf(entry);
  if (
    schema === undefined ||
    (isPlainObject(data) && compileJsonSchema(schema).check(data).length === 0)
  )
    return answerResult(entry, data, [{ type: 'text', text }]);
  return errorResult(
    `${entry.name} ran, but its output schema requires an object, and the answer is ${describeValue(data)}. The answer:`,
    text,
  );
}

interface Answer {
  readonly text: string;
  readonly data: Json;
}

/** Returns a tool's result as content, and also as structured content if it's an object. */
function answerResult(
  entry: ToolEntry,
  data: Json,
  content: readonly ContentPart[],
  ...notes: readonly string[]
): CallToolResult {
  const blocks = [
    ...content.map(blockOfPart),
    ...notes.map((text) => ({ type: 'text' as const, text })),
  ];
  const isStructured = isPlainObject(data) || outputSchemaOf(entry) !== undefined;
  return isStructured ? { content: blocks, structuredContent: data } : { content: blocks };
}

/**
 * Returns an outcome in the form that clients read. The executor has already checked it against the
 * output schema. A pending call becomes an error that explains why it's pending, for clients that
 * can't be asked.
 */
export function outcomeResult(entry: ToolEntry, outcome: ToolOutcome): CallToolResult {
  const { kind, text, data, content, haltReason } = readOutcome(outcome);
  const notes = haltReason === undefined ? [] : [`The tool asks you to stop here: ${haltReason}`];
  if (kind !== 'result') return errorResult(text, ...notes);
  const forUsers =
    'content' in outcome ? (outcome.content ?? []).filter((part) => !isForModel(part)) : [];
  return answerResult(entry, data!, [...content, ...forUsers], ...notes);
}

/**
 * Returns the refusal for a call that needs approval if the client can't ask the user. The refusal
 * lists the settings that would allow the call.
 */
export function refusedUnasked(
  outcome: Extract<ToolOutcome, { status: 'approval_required' }>,
): CallToolResult {
  return errorResult(
    `${readOutcome(outcome).text} This client can't ask the user. The operator of this server can allow such calls with tooldex mcp serve --yes ${outcome.pending.danger} or with a policy rule. For tools from MCP servers, access and consent in their settings work too.`,
  );
}

const outputSchemas = new WeakMap<ToolEntry, JsonSchema | undefined>();

/**
 * Returns the JSON Schema for a tool's results, or `undefined` if the results aren't objects or the
 * schema can't be checked. Clients refuse results that don't match the schema.
 */
export function outputSchemaOf(entry: ToolEntry): JsonSchema | undefined {
  if (!outputSchemas.has(entry)) outputSchemas.set(entry, readOutputSchema(entry));
  return outputSchemas.get(entry);
}

function readOutputSchema({ outputSchema }: ToolEntry): JsonSchema | undefined {
  try {
    const json = outputSchema && jsonSchemaOf(outputSchema, 'output');
    if (json?.['type'] !== 'object') return undefined;
    compileJsonSchema(json);
    return json;
  } catch {
    return undefined;
  }
}

/**
 * Returns the form that asks for approval. The form has no fields: accepting it approves the call,
 * and every other response denies it.
 *
 * Arguments are shown as JSON and each line of the preview begins with `>`, so neither can imitate
 * the question's own text.
 */
export function approvalForm(pending: PendingApproval): Form {
  const { toolName, danger, reason, input } = pending;
  const preview = previewLines(pending)
    .map((line) => `> ${line}\n`)
    .join('');
  return form(
    `Run ${toolName}? Danger: ${danger}. ${reason}\n\n${preview === '' ? '' : `What the tool says it would do:\n${preview}\n`}${shownArguments(input)}\n\nIf you accept, this exact call runs.`,
    {},
  );
}

/**
 * Returns the form for a tool's question. `refused` explains why the previous answer was rejected.
 */
export function questionForm(toolName: string, question: Question, refused?: string): Form {
  const message = `${refused === undefined ? '' : `${refused}\n\n`}${toolName} asks: ${question.question}`;
  const flat = flatForm(question);
  if (flat) return form(message, flat.properties as Record<string, Field>, flat.required);
  return form(message, { answer: fieldFor(question) }, ['answer']);
}

function fieldFor(question: Question): Field {
  const { form, options } = question;
  if (form !== undefined && isField(form)) return form as Field;
  const title = form === undefined ? 'Answer' : formWords(question);
  return { type: 'string', title, ...(options && { enum: [...options] }) };
}

/** Returns the answer from a submitted form. */
export function answerIn(form: Readonly<Record<string, unknown>>, question: Question): unknown {
  if (flatForm(question)) return form;
  return Object.hasOwn(form, 'answer') ? form['answer'] : undefined;
}

function form(
  message: string,
  properties: Form['requestedSchema']['properties'],
  required?: string[],
): Form {
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, ...(required && { required }) },
  };
}

/** Returns a text in which characters that the user wouldn't see are shown as `\uXXXX`. */
export function withMarks(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

function shownArguments(input: Json): string {
  const json = withMarks(JSON.stringify(input, null, 2));
  if (json === '{}') return 'Without arguments.';
  if (json.length <= SHOWN_WHOLE) return `Arguments:\n${json}`;
  const hidden = json.length - 2 * SHOWN_ENDS;
  return `Arguments of ${json.length} characters, SHA-256 ${digestOf(input)}. The first ${SHOWN_ENDS}:\n${json.slice(0, SHOWN_ENDS)}\n${hidden} characters that are NOT shown, then the last ${SHOWN_ENDS}:\n${json.slice(-SHOWN_ENDS)}`;
}
