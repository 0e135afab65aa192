import { z } from 'zod';
import {
  anObject,
  checkOptions,
  milliseconds,
  once,
  text,
  type FieldsOf,
} from '../core/options.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { expectedGot, formatIssues } from '../core/issues.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';

/** One of the answers a question offers: the value is the answer, the label is what the user reads. */
interface Choice {
  readonly value: string;
  readonly label: string;
}

/** A form to fill in, as a JSON Schema of an object: its fields are texts, numbers, booleans, or lists of choices, as MCP has them. */
interface QuestionForm {
  readonly type: 'object';
  readonly properties: Readonly<
    Record<
      string,
      {
        readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array';
        readonly [keyword: string]: unknown;
      }
    >
  >;
  readonly required?: readonly string[];
}

/** A question to the user as plain data. */
export interface Question {
  readonly question: string;
  /** The values that may be answered, others only with `allowOther`; without any the user answers in free text. */
  readonly options?: readonly string[];
  /** The same values with the label of each. */
  readonly choices?: readonly Choice[];
  /** Asks for a list of one or more values. */
  readonly multiple?: boolean;
  /** Accepts an answer that is none of the choices, too. */
  readonly allowOther?: boolean;
  /** Asks for an object of these fields, in place of one answer. */
  readonly form?: QuestionForm;
  /** The time for which an answer is awaited. */
  readonly timeoutMs?: number;
  /** Further facts for the program that shows the question, such as an input mask. */
  readonly hints?: Readonly<Record<string, unknown>>;
}

/** The options of `askUser`. All others are hints for the program that shows the question; tooldex carries them along. */
export interface AskUserOptions {
  /** The answers that are offered: texts, or values with their labels. @default any text is an answer */
  readonly choices?: readonly (
    string | { readonly value: string; readonly label?: string | undefined }
  )[];
  /** Accepts several choices; the answer is then a list of values. @default false */
  readonly multiple?: boolean;
  /** Accepts an answer that is none of the choices, too. @default false */
  readonly allowOther?: boolean;
  /** Asks for an object of these fields; missing ones get their `default`. @default one answer is asked for */
  readonly form?: QuestionForm;
  /**
   * The time for which an answer is awaited; then the call fails, and the model reads that there was no answer.
   * @default without end
   */
  readonly timeoutMs?: number;
  /** A hint, any plain data. */
  readonly [hint: string]: unknown;
}

type Known = Pick<AskUserOptions, 'choices' | 'multiple' | 'allowOther' | 'form' | 'timeoutMs'>;

const FIELD_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'array'];
const formField = () =>
  z.custom<QuestionForm>(
    isForm,
    'a JSON Schema of an object whose fields are of the type string, number, integer, boolean, or array with items',
  );

function isForm(value: unknown): boolean {
  if (!isPlainObject(value) || value['type'] !== 'object' || !isPlainObject(value['properties']))
    return false;
  const isFlat = (field: unknown) =>
    isPlainObject(field) &&
    FIELD_TYPES.includes(field['type']) &&
    (field['type'] !== 'array' || isPlainObject(field['items']));
  if (!Object.values(value['properties']).every(isFlat)) return false;
  try {
    compileJsonSchema(value);
    return true;
  } catch {
    return false;
  }
}

const choice = () =>
  z.union(
    [text(), z.strictObject({ value: text(), label: text().optional() })],
    'a text or { value, label }',
  );
const OPTIONS = once(() =>
  z
    .looseObject({
      choices: z
        .array(choice())
        .min(1)
        .refine(
          (choices) => new Set(choices.flatMap(namesOf)).size === choices.flatMap(namesOf).length,
          'choices of which none has a value or label of another',
        )
        .optional(),
      multiple: z.boolean().optional(),
      allowOther: z.boolean().optional(),
      form: formField().optional(),
      timeoutMs: milliseconds().optional(),
    } satisfies FieldsOf<Known>)
    .refine(
      ({ choices, multiple, allowOther, form }) =>
        form === undefined || (choices ?? multiple ?? allowOther) === undefined,
      'no choices, multiple or allowOther beside a form',
    )
    .refine(
      ({ choices, multiple }) => multiple !== true || choices !== undefined,
      'choices beside multiple',
    ),
);

/** The fields of a question that comes from outside: another copy of the package, or a stored session. */
export const questionFields = () =>
  ({
    question: z.string(),
    options: z.array(z.string()).optional(),
    choices: z.array(z.strictObject({ value: z.string(), label: z.string() })).optional(),
    multiple: z.boolean().optional(),
    allowOther: z.boolean().optional(),
    form: formField().optional(),
    timeoutMs: z.number().min(0).optional(),
    hints: anObject<Readonly<Record<string, unknown>>>().optional(),
  }) satisfies FieldsOf<Question>;

/**
 * Returns the question that the arguments of `askUser` describe; a list of texts stands for its choices. @throws
 * ToolError `INVALID_ARGUMENT`.
 */
export function makeQuestion(
  question: string,
  options: readonly string[] | AskUserOptions | undefined,
): Question {
  if (options === undefined) return { question };
  if (Array.isArray(options))
    return { question, options: cloneFrozen(options as readonly string[]) };
  const { choices, multiple, allowOther, form, timeoutMs, ...hints } = checkOptions(
    OPTIONS,
    options,
    'options of a question',
  );
  const offered = choices?.map((each) => ({
    value: valueOf(each),
    label: typeof each === 'string' ? each : (each.label ?? each.value),
  }));
  return cloneFrozen({
    question,
    ...(offered && { options: offered.map(({ value }) => value), choices: offered }),
    ...(multiple !== undefined && { multiple }),
    ...(allowOther !== undefined && { allowOther }),
    ...(form !== undefined && { form }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(Object.keys(hints).length > 0 && { hints }),
  });
}

function valueOf(each: string | { readonly value: string }): string {
  return typeof each === 'string' ? each : each.value;
}

/** Returns the texts by which a user may choose a choice. */
function namesOf(
  each: string | { readonly value: string; readonly label?: string | undefined },
): readonly string[] {
  return typeof each === 'string' || each.label === undefined || each.label === each.value
    ? [valueOf(each)]
    : [each.value, each.label];
}

/** Returns the choices of a question with their labels; none for a question in free text. */
export function choicesOf({ choices, options = [] }: Question): readonly Choice[] {
  return choices ?? [...new Set(options)].map((value) => ({ value, label: value }));
}

/** An answer as the tool's result, or the reason why it is refused. */
export type Answer =
  | {
      readonly ok: true;
      readonly value: string | readonly string[] | Readonly<Record<string, Json>>;
    }
  | { readonly ok: false; readonly message: string };

/** Reads a user's answer: a value or label of a choice, a list or text with commas where several may be taken, an object or its JSON for a form. */
export function readAnswer(question: Question, answer: unknown): Answer {
  if (question.form !== undefined) return readForm(question.form, answer);
  const { multiple = false, allowOther = false } = question;
  const offered = choicesOf(question);
  const pick = (each: string) =>
    (offered.find(({ value }) => value === each) ?? offered.find(({ label }) => label === each))
      ?.value ?? (allowOther && each.trim() !== '' ? each : undefined);
  const refused: Answer = {
    ok: false,
    message: expectedGot(`${answerWords(question)} as the answer`, describeValue(answer)),
  };
  if (!multiple) {
    const value = typeof answer !== 'string' || offered.length === 0 ? answer : pick(answer);
    return typeof value === 'string' ? { ok: true, value } : refused;
  }
  const isOne =
    typeof answer === 'string' &&
    offered.some(({ value, label }) => value === answer || label === answer);
  const given: unknown =
    typeof answer !== 'string'
      ? answer
      : isOne
        ? [answer]
        : answer.split(',').map((each) => each.trim());
  if (!Array.isArray(given) || given.length === 0) return refused;
  const values = given.map((each: unknown) => (typeof each === 'string' ? pick(each) : undefined));
  return values.includes(undefined)
    ? refused
    : { ok: true, value: Object.freeze([...new Set(values as string[])]) };
}

function readForm(form: QuestionForm, answer: unknown): Answer {
  let given = answer;
  try {
    if (typeof answer === 'string') given = JSON.parse(answer);
  } catch {
    // It is refused as a text.
  }
  if (!isPlainObject(given))
    return {
      ok: false,
      message: expectedGot(
        `an object with the fields ${Object.keys(form.properties).join(', ')} as the answer`,
        describeValue(answer),
      ),
    };
  const object = given;
  const fields = Object.entries(form.properties).map(([name, field]): [string, unknown] => [
    name,
    Object.hasOwn(object, name) ? object[name] : field['default'],
  ]);
  const value = cloneFrozen({
    ...Object.fromEntries(fields.filter(([, each]) => each !== undefined)),
    ...object,
  }) as Readonly<Record<string, Json>>;
  const issues = compileJsonSchema(form).check(value);
  return issues.length === 0 ? { ok: true, value } : { ok: false, message: formatIssues(issues) };
}

/** Returns the answers that a question takes: `one of "a", "b"`. */
function answerWords(question: Question): string {
  const offered = choicesOf(question);
  if (offered.length === 0) return 'a text';
  const other = question.allowOther === true ? ', or another text,' : '';
  return `${question.multiple === true ? 'one or more' : 'one'} of ${offered.map(({ value, label }) => `${JSON.stringify(value)}${label === value ? '' : ` (${label})`}`).join(', ')}${other}`;
}

/** Returns the choices as a model reads them behind the question: ` (one of: a, b)`; nothing if there are none. */
export function choiceWords(question: Question): string {
  if (question.form !== undefined)
    return ` (fields: ${Object.keys(question.form.properties).join(', ')})`;
  const offered = choicesOf(question);
  if (offered.length === 0) return '';
  const shown = offered
    .map(({ value, label }) => (value === label ? value : `${value} (${label})`))
    .join(', ');
  return ` (${question.multiple === true ? 'one or more' : 'one'} of: ${shown}${question.allowOther === true ? '; or another answer' : ''})`;
}
