import { z } from 'zod';
import { checkOptions, milliseconds, once, text, type FieldsOf } from '../core/options.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { expectedGot, formatIssues, invalidArgument } from '../core/issues.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import { shortJson } from '../json-schema/schema-issues.js';

/**
 * A choice that a question offers. `value` is the answer, and `label` is the text shown to the
 * user.
 */
type Choice = {
  readonly value: string;
  readonly label: string;
};

/** A question for the user, as plain data. */
export type Question = {
  readonly question: string;
  /**
   * The answers to choose from. Other answers are accepted only with `allowOther`. Without options,
   * the user answers in free text.
   */
  readonly options?: readonly string[];
  /** The values of `options` with their labels. */
  readonly choices?: readonly Choice[];
  /** Allows more than one choice, so the answer is a list. */
  readonly multiple?: boolean;
  /** Allows answers that aren't among the choices, too. */
  readonly allowOther?: boolean;
  /** A JSON Schema for the answer, as an alternative to choices. */
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
  /** The answers to choose from: strings, or values with labels. @default free text */
  readonly choices?: readonly (
    string | { readonly value: string; readonly label?: string | undefined }
  )[];
  /** Lets the user choose more than one value, so the answer is a list of values. @default false */
  readonly multiple?: boolean;
  /** Allows answers that aren't among the choices, too. @default false */
  readonly allowOther?: boolean;
  /**
   * A JSON Schema for the answer. The answer must match the schema, as an object or as JSON text.
   * Missing fields get their `default`. @default a single answer
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

type Known = Pick<AskUserOptions, 'choices' | 'multiple' | 'allowOther' | 'form' | 'timeoutMs'>;

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
      choices: z
        .array(
          z.union(
            [text(), z.strictObject({ value: text(), label: text().optional() })],
            'a string or { value, label }',
          ),
        )
        .min(1)
        .optional(),
      multiple: z.boolean().optional(),
      allowOther: z.boolean().optional(),
      form: formField().optional(),
      timeoutMs: milliseconds().optional(),
    } satisfies FieldsOf<Known>)
    .refine(
      ({ choices, multiple, allowOther, form }) =>
        form === undefined || (choices ?? multiple ?? allowOther) === undefined,
      'either a form, or choices, multiple and allowOther',
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
    choices: z.array(z.strictObject({ value: z.string(), label: z.string() })).optional(),
    multiple: z.boolean().optional(),
    allowOther: z.boolean().optional(),
    form: formField().optional(),
    timeoutMs: z.number().min(0).optional(),
    hints: z.record(z.string(), z.unknown()).optional(),
  }) satisfies FieldsOf<Question>;

/** Names that other libraries use for the options of a question. As hints, they would be ignored. */
const MISNOMERS: Readonly<Record<string, keyof Known>> = {
  options: 'choices',
  schema: 'form',
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
  const { choices, multiple, allowOther, form, timeoutMs, ...hints } = checkOptions(
    OPTIONS,
    options,
    'options of a question',
  );
  const offered = choices?.map((each) =>
    typeof each === 'string'
      ? { value: each, label: each }
      : { value: each.value, label: each.label ?? each.value },
  );
  return cloneFrozen({
    question,
    options: offered?.map(({ value }) => value),
    choices: offered,
    multiple,
    allowOther,
    form,
    timeoutMs,
    hints: Object.keys(hints).length > 0 ? hints : undefined,
  }) as Question;
}

/**
 * Returns the choices of a question with their labels, or an empty list for a free-text question.
 */
export function choicesOf({ choices, options = [] }: Question): readonly Choice[] {
  return choices ?? [...new Set(options)].map((value) => ({ value, label: value }));
}

/** An answer accepted as the tool's result, or the reason it was refused. */
type Answer =
  { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly message: string };

/**
 * Reads a user's answer: the value or label of a choice. If several choices are allowed, the answer
 * can be a list or comma-separated text. For a form, accepts any answer that matches the schema,
 * even as JSON text.
 */
export function readAnswer(question: Question, answer: unknown): Answer {
  const refused: Answer = {
    ok: false,
    message: expectedGot(`${answerWords(question)} as the answer`, describeValue(answer)),
  };
  let given: Json;
  try {
    given = cloneFrozen(answer) as Json;
  } catch {
    return refused;
  }
  if (question.form === undefined) {
    const value = chosen(question, given);
    return compileJsonSchema(schemaOf(question)).check(value).length === 0
      ? { ok: true, value }
      : refused;
  }
  const schema = compileJsonSchema(question.form);
  const values = [given, ...parsed(given)].map((each) => withDefaults(question.form!, each));
  const value = values.find((each) => schema.check(each).length === 0);
  if (value !== undefined) return { ok: true, value };
  return typeof values.at(-1) === 'string'
    ? refused
    : { ok: false, message: formatIssues(schema.check(values.at(-1)!)) };
}

/** Returns a JSON Schema for the answers to a question without a form. */
function schemaOf(question: Question): object {
  const choices = choicesOf(question);
  const one =
    choices.length > 0 && question.allowOther !== true
      ? { enum: choices.map(({ value }) => value) }
      : { type: 'string', ...(choices.length > 0 && { pattern: '\\S' }) };
  return question.multiple === true ? { type: 'array', minItems: 1, items: one } : one;
}

/** Returns the values that an answer selects by value or label. */
function chosen(question: Question, given: Json): Json {
  const offered = choicesOf(question);
  const meant = (each: Json) =>
    offered.find(({ value }) => value === each) ?? offered.find(({ label }) => label === each);
  const named = (each: Json): Json => meant(each)?.value ?? each;
  if (question.multiple !== true) return named(given);
  const list =
    typeof given !== 'string' || meant(given) !== undefined
      ? [given].flat()
      : given.split(',').map((each) => each.trim());
  return Object.freeze([...new Set(list.map((each) => named(each)))]);
}

function parsed(given: Json): readonly Json[] {
  try {
    return typeof given === 'string' ? [cloneFrozen(JSON.parse(given) as Json)] : [];
  } catch {
    return [];
  }
}

/**
 * Fills in missing fields of an object with the defaults from its schema. Returns other values
 * unchanged.
 */
export function withDefaults({ properties }: { readonly properties?: unknown }, value: Json): Json {
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

const FLAT: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'array'];

/**
 * Returns a form's fields if MCP clients can show them: the form must be an object whose fields are
 * strings, numbers, booleans, or lists.
 */
export function flatForm({
  form = {},
}: Question): { properties: object; required: string[] } | undefined {
  const { type, properties, required } = form;
  if (type !== 'object' || !isPlainObject(properties)) return undefined;
  return Object.values(properties).every(
    (field) => isPlainObject(field) && FLAT.includes(field['type']),
  )
    ? { properties, required: Array.isArray(required) ? (required as string[]) : [] }
    : undefined;
}

/** Describes the answers that a question accepts: `one of "a", "b"`. */
function answerWords(question: Question): string {
  if (question.form !== undefined) return formWords(question);
  const offered = choicesOf(question);
  if (offered.length === 0) return 'free text';
  const other = question.allowOther === true ? ', or another text' : '';
  return `${question.multiple === true ? 'one or more' : 'one'} of ${offered.map(({ value, label }) => `${JSON.stringify(value)}${label === value ? '' : ` (${label})`}`).join(', ')}${other}`;
}

/**
 * Formats the choices as the text that models read after the question: ` (one of "a", "b")`. Returns
 * an empty string for a free-text question.
 */
export function choiceWords(question: Question): string {
  return question.form === undefined && choicesOf(question).length === 0
    ? ''
    : ` (${answerWords(question)})`;
}
