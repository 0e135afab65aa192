import { z } from 'zod';
import { checkOptions, once, type FieldsOf } from '../core/options.js';
import { digestOf } from '../core/plain-data.js';
import { poisonedTexts } from '../core/poisoned-text.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/**
 * The words of people who need a tool, as far as its own text lacks them, by tool name: the content of
 * `tooldex.hints.json`. Only search uses hints: models never see them, and no decision depends on
 * them. A tool has at most 16 keywords and requests, of at most 64 words each.
 */
export type ToolHints = Readonly<
  Record<
    string,
    {
      /**
       * The `textDigest` of the tool that the hints were written for. If the tool's text has changed
       * since then, they aren't used. @default they're always used
       */
      readonly of?: string | undefined;
      /** Words or short phrases for the tool's object, effect, or purpose. @default none */
      readonly keywords?: readonly string[];
      /** Requests of people who haven't read the tool's description. @default none */
      readonly requests?: readonly string[];
    }
  >
>;

const MOST_WORDS = 64;
const MOST_TEXTS = 16;

const texts = () =>
  z
    .array(
      z
        .string()
        .refine((text) => text.split(/\s+/u).length <= MOST_WORDS, `at most ${MOST_WORDS} words`),
    )
    .default([]);
const hintsSchema = once(() =>
  z.record(
    z.string(),
    z
      .strictObject({
        of: z.string().optional(),
        keywords: texts(),
        requests: texts(),
      } satisfies FieldsOf<ToolHints[string]>)
      .superRefine(({ keywords, requests }, context) => {
        if (keywords.length + requests.length > MOST_TEXTS)
          context.addIssue(`at most ${MOST_TEXTS} keywords and requests`);
        for (const { rule, message } of poisonedTexts({ keywords, requests }))
          if (rule !== 'mixed-alphabets') context.addIssue(`hints without ${message}`);
      }),
  ),
);
export type CheckedHints = z.output<ReturnType<typeof hintsSchema>>;

/**
 * Checks hints. @throws ToolError `INVALID_ARGUMENT` if a tool has too many hints, or a hint is too
 * long, contains hidden characters, or instructs a model.
 */
export function checkHints(hints: unknown, what = 'hints'): CheckedHints {
  return checkOptions(hintsSchema, hints, what);
}

/**
 * Returns the SHA-256 of the text that hints and vectors are about: the tool's name, description, and
 * parameters. Store it as `of` beside them. (Experimental.)
 */
export function textDigest({
  name,
  description,
  inputJsonSchema,
}: Pick<ToolEntry, 'name' | 'description' | 'inputJsonSchema'>): string {
  return digestOf({ name, description, inputJsonSchema });
}

/** Returns true if something was written for an earlier version of a tool's text. */
export function isStale(of: string | undefined, entry: ToolEntry): boolean {
  return of !== undefined && of !== textDigest(entry);
}
