import { z } from 'zod';
import { PRIORITY_NAMES, priorityOf } from '../core/enum-order.js';
import { Priority, SideEffect } from '../core/enums.js';
import { FLOW_LABELS, FLOW_TARGETS, type FlowLabel } from '../core/flow.js';
import { LIMITS } from '../core/limits.js';
import { once } from '../core/options.js';
import { cloneFrozen, isPlainObject } from '../core/plain-data.js';
import { mapAxes, type AxisName, type AxisValue } from './axes.js';
import { optionsOfKind, TOOL_FIELDS, type FieldKind, type OptionOfKind } from './tool-fields.js';
import type { ToolOptions } from './tool-options.js';

/** A tool name as allowed by MCP. Exports encode the name for model APIs with stricter rules. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const NAME_RULE = 'a name of 1 to 128 letters, digits, dots, underscores and hyphens';

const name = () => z.string().regex(NAME, { error: NAME_RULE });
/** Returns a schema for non-blank text. */
export const textField = (longest: number = LIMITS.labelLength) =>
  z.string().max(longest).regex(/\S/, { error: "text that isn't blank" });
/** Returns a schema for a list of limited length. */
export const listField = <T extends z.ZodType>(item: T) => z.array(item).max(LIMITS.listLength);
const unique = (values: readonly string[]) => [...new Set(values)];

/**
 * Normalizes a label for storage and comparison: trimmed, single-spaced, lowercase, and in Unicode
 * NFC.
 */
export function normalizeLabel(label: string): string {
  // Untyped callers can pass anything. A value that isn't a string doesn't match any label.
  return typeof label === 'string'
    ? label.trim().replace(/\s+/g, ' ').toLowerCase().normalize('NFC')
    : '';
}
const label = () => textField().transform(normalizeLabel);
const labels = () => listField(label()).transform(unique);
const words = () => listField(textField()).transform(unique);
const sentence = () => textField(LIMITS.sentenceLength);
/** Returns a schema for a plain object. `z.record` would silently drop a key named `__proto__`. */
const plainObject = () =>
  z
    .custom<Readonly<Record<string, unknown>>>(isPlainObject, { error: 'an object of plain data' })
    .superRefine((value, context) => {
      try {
        cloneFrozen(value);
      } catch (error) {
        context.addIssue((error as TypeError).message);
      }
    });

/** Returns a schema for a priority, as a number or by its name. */
const priority = () =>
  z.literal([...PRIORITY_NAMES, ...Object.values(Priority)]).transform(priorityOf);

/** Returns a schema for the values of each axis. */
export const axisSchemas = () =>
  mapAxes<{
    readonly [Name in AxisName]: z.ZodType<AxisValue<Name>, NonNullable<ToolOptions[Name]>>;
  }>((name, { values }) =>
    name === 'priority' ? priority() : (z.enum(values) as unknown as z.ZodType<never, never>),
  );

const sideEffects = () =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? [value] : value),
      listField(z.enum(SideEffect)),
    )
    .refine((effects) => !effects.includes(SideEffect.NONE) || effects.length === 1, {
      error: '"none" alone, or the effects without it',
    });

const auth = () =>
  z.strictObject({
    required: z.boolean(),
    type: textField().optional(),
    scopes: words().optional(),
    env: z.record(z.string(), z.enum(['required', 'optional'])).optional(),
    docs: sentence().optional(),
  });

const provider = () =>
  z.strictObject({
    name: textField(),
    priority: z.number().int().default(100),
    healthCheckIntervalMs: z.number().min(0).optional(),
    config: plainObject().optional(),
  });

/** The schema for each kind of option: which values are allowed, and how they're stored. */
export const optionKinds = once(
  () =>
    ({
      name: name(),
      names: listField(name()).transform(unique),
      description: textField(LIMITS.descriptionLength),
      text: textField(),
      version: textField(),
      sentence: sentence(),
      requests: listField(sentence()),
      label: label(),
      labels: labels(),
      words: words(),
      tags: words(),
      personas: words(),
      flag: z.boolean(),
      wholeSeconds: z.number().min(1).max(LIMITS.timerMs),
      seconds: z.number().min(0).max(LIMITS.timerMs),
      amount: z.number().min(0),
      bytes: z.int().min(1_024),
      object: plainObject(),
      ...axisSchemas(),
      sideEffects: sideEffects(),
      flowLabels: listField(z.enum(FLOW_LABELS)).transform((labels): readonly FlowLabel[] =>
        FLOW_LABELS.filter((label) => labels.includes(label)),
      ),
      flowTarget: z.enum(FLOW_TARGETS),
      idempotency: z.boolean(),
      auth: auth(),
      providers: listField(provider()),
    }) satisfies { readonly [Kind in FieldKind]?: z.ZodType },
);

type Kinds = ReturnType<typeof optionKinds>;
type Shape = { [Name in OptionOfKind<keyof Kinds>]: Kinds[(typeof TOOL_FIELDS)[Name]['kind']] };

/** The schema for a tool's plain-data options. */
export const metadataSchema = once(() => {
  const kinds = optionKinds();
  const shape = Object.fromEntries(
    optionsOfKind(...(Object.keys(kinds) as (keyof Kinds)[])).map((option) => [
      option,
      kinds[TOOL_FIELDS[option].kind],
    ]),
  ) as Shape;
  return z.strictObject(shape).partial().required({ name: true, description: true });
});

/** The metadata that the author declared, validated and in stored form. */
export type DeclaredMetadata = z.output<ReturnType<typeof metadataSchema>>;
