import { z } from 'zod';
import { checkOptions, milliseconds, once, text, type FieldsOf } from '../core/options.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { expectedGot, formatIssues, invalidArgument } from '../core/issues.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import { shortJson } from '../json-schema/schema-issues.js';

/** A question for the user, as plain data. */
export type Question = {
  readonly question: string;
  /** The answers to choose from. Without options or a form, the user answers in free text. */
  readonly options?: readonly string[];
  /** A JSON Schema for the answer, instead of options. */
  readonly form?: Readonly<Record<string, unknown>>;
  /** The time to wait for an answer, in milliseconds. */
  readonly timeoutMs?: number;
  /** Extra information for the program that shows the question, such as an input mask. */
  readonly hints?: Readonly<Record<string, unknown>>;
};

/**
 * The options of `askUser`. Unknown options are passed as hints to the program that shows the
 * question.
 */
export interface AskUserOptions {
  /** The answers to choose from. @default free text */
  readonly choices?: readonly string[];
  /**
   * A JSON Schema for the answer, for example an array of choices. The answer must match the schema,
   * as a value or as JSON text. Missing fields get their `default`. @default a single answer
   */
  readonly form?: Readonly<Record<string, unknown>>;
  /**
   * The time to wait for an answer, in milliseconds. If nobody answers in time, the call fails and
   * the model is told why.
   * @default no limit
   */
  readonly timeoutMs?: number;
  /** A hint for the program that shows the question: any plain data. */
  readonly [hint: string]: unknown;
}

type Known = Pick<AskUserOptions, 'choices' | 'form' | 'timeoutMs'>;

const formField = () =>
  z.custom<Readonly<Record<string, unknown>>>((value) => {
    try {
      return isPlainObject(value) && compileJsonSchema(value) !== undefined;
    } catch {
      return false;
    }
  }, 'a JSON Schema');

const OPTIONS = once(() =>
  z
    .looseObject({
      choices: z.array(text()).min(1).optional(),
      form: formField().optional(),
      timeoutMs: milliseconds().optional(),
    } satisfies FieldsOf<Known>)
    .refine(
      ({ choices, form }) => form === undefined || choices === undefined,
      'either choices or a form',
    ),
);

/**
 * Returns the schema fields of a question that another copy of the package or a stored session
 * contains.
 */
export const questionFields = () =>
  ({
    question: z.string(),
    options: z.array(z.string()).optional(),
    form: formField().optional(),
    timeoutMs: z.number().min(0).optional(),
    hints: z.record(z.string(), z.unknown()).optional(),
  }) satisfies FieldsOf<Question>;

/** Names that other libraries use for the options of a question. As hints, they would be ignored. */
const MISNOMERS: Readonly<Record<string, keyof Known>> = {
  options: 'choices',
  schema: 'form',
  multiple: 'form',
  timeout: 'timeoutMs',
};

function assertNoMisnomer(options: unknown): void {
  for (const [misnomer, name] of Object.entries(MISNOMERS))
    if (isPlainObject(options) && misnomer in options)
      throw invalidArgument(
        'a known option of askUser',
        misnomer,
        `Did you mean ${JSON.stringify(name)}?`,
      );
}

/**
 * Returns the question described by the arguments of `askUser`. A list of strings is a list of
 * choices. @throws ToolError `INVALID_ARGUMENT`.
 */
export function makeQuestion(
  question: string,
  options: readonly string[] | AskUserOptions | undefined,
): Question {
  if (options === undefined) return { question };
  if (Array.isArray(options))
    return { question, options: cloneFrozen(options as readonly string[]) };
  assertNoMisnomer(options);
  const { choices, form, timeoutMs, ...hints } = checkOptions(
    OPTIONS,
    options,
    'options of a question',
  );
  return cloneFrozen({
    question,
    options: choices,
    form,
    timeoutMs,
    hints: Object.keys(hints).length > 0 ? hints : undefined,
  }) as Question;
}

/** An answer accepted as the tool's result, or the reason it was refused. */
type Answer =
  { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly message: string };

/** Reads a user's answer: a value that the question's schema accepts, or its JSON text. */
export function readAnswer(question: Question, answer: unknown): Answer {
  const refused: Answer = {
    ok: false,
    message: expectedGot(`${answerWords(question)} as the answer`, describeValue(answer)),
  };
  let plain: Json;
  try {
    plain = cloneFrozen(answer) as Json;
  } catch {
    return refused;
  }
  const form = schemaOf(question);
  const schema = compileJsonSchema(form);
  const values = [plain, ...parsed(plain)].map((each) => withSchemaDefaults(form, each));
  const value = values.find((each) => schema.check(each).length === 0);
  if (value !== undefined) return { ok: true, value };
  return question.form === undefined || typeof values.at(-1) === 'string'
    ? refused
    : { ok: false, message: formatIssues(schema.check(values.at(-1)!)) };
}

/** Returns the JSON Schema for the answers to a question. */
function schemaOf({ form, options }: Question): Readonly<Record<string, unknown>> {
  return form ?? (options === undefined ? { type: 'string' } : { enum: options });
}

function parsed(plain: Json): readonly Json[] {
  try {
    return typeof plain === 'string' ? [cloneFrozen(JSON.parse(plain) as Json)] : [];
  } catch {
    return [];
  }
}

/**
 * Fills in missing fields of an object with the defaults from its schema. Returns other values
 * unchanged.
 */
export function withSchemaDefaults(
  { properties }: { readonly properties?: unknown },
  value: Json,
): Json {
  if (!isPlainObject(value) || !isPlainObject(properties)) return value;
  const defaults = Object.entries(properties).flatMap(([name, field]) =>
    isPlainObject(field) && 'default' in field && !Object.hasOwn(value, name)
      ? [[name, field['default']] as const]
      : [],
  );
  return cloneFrozen({ ...value, ...Object.fromEntries(defaults) }) as Json;
}

/** Describes the answer that a form expects, based on its fields or its schema. */
export function formWords({ form = {} }: Pick<Question, 'form'>): string {
  return isPlainObject(form['properties'])
    ? `JSON with the fields ${Object.keys(form['properties']).join(', ')}`
    : `JSON that matches ${shortJson(form)}`;
}

const FLAT: readonly unknown[] = ['string', 'number', 'integer', 'boolean'];

/** Returns true for the schema of a value that MCP clients can show as a field. */
export function isField(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false;
  const { type, items } = schema;
  // Clients show lists of choices, and no other lists.
  return FLAT.includes(type) || (type === 'array' && isPlainObject(items) && isChoice(items));
}

const isChoice = (items: Readonly<Record<string, unknown>>) => 'enum' in items || 'anyOf' in items;

/**
 * Returns a form's fields if MCP clients can show them: the form must be an object whose fields are
 * strings, numbers, booleans, or lists of choices.
 */
export function flatForm({
  form = {},
}: Question): { properties: object; required: string[] } | undefined {
  const { type, properties, required } = form;
  if (type !== 'object' || !isPlainObject(properties)) return undefined;
  return Object.values(properties).every(isField)
    ? { properties, required: Array.isArray(required) ? (required as string[]) : [] }
    : undefined;
}

/** Describes the answers that a question accepts: `one of "a", "b"`. */
function answerWords(question: Question): string {
  const { form, options } = question;
  if (form !== undefined) return formWords(question);
  return options === undefined
    ? 'free text'
    : `one of ${options.map((option) => JSON.stringify(option)).join(', ')}`;
}

/**
 * Formats the choices as the text that models read after the question: ` (one of "a", "b")`. Returns
 * an empty string for a free-text question.
 */
export function choiceWords(question: Question): string {
  const { form, options } = question;
  return (form ?? options) === undefined ? '' : ` (${answerWords(question)})`;
}
