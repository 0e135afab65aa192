import { z } from 'zod';
import { cloneFrozen, digestOf } from './plain-data.js';
import { hiddenWritten } from './visible-text.js';

/**
 * The effect that a call would have, as the user sees it before approving the call. It's plain
 * data; making it has no effect.
 */
export interface Preview {
  /** One line of at most 500 characters. */
  readonly summary: string;
  /**
   * The changes as a unified diff of at most 20,000 characters. A longer diff is cut and ends with
   * a note.
   */
  readonly diff?: string;
  /** The addresses or people that the call reaches, at most 50. */
  readonly recipients?: readonly string[];
  /** The cost as text, with its unit. */
  readonly cost?: string;
  /** False if the effect can't be undone. */
  readonly reversible?: boolean;
}

const LONGEST_LINE = 500;
const LONGEST_DIFF = 20_000;
const LONGEST_RECIPIENT = 320;
const MOST_RECIPIENTS = 50;

/**
 * Returns the schema of a preview that was read before. Stored previews are shown unchanged,
 * because a signature reveals any change.
 */
export const previewSchema = () =>
  z.strictObject({
    summary: z.string(),
    diff: z.string().optional(),
    recipients: z.array(z.string()).optional(),
    cost: z.string().optional(),
    reversible: z.boolean().optional(),
  });

const line = (longest: number) =>
  z
    .string()
    .transform((text) => shown(text, longest, (written) => written.replace(/\s+/g, ' ').trim()));
// Made on first use, and without the core's option helpers: the catalogue page reads these types
// and doesn't know Node.
let schema: ReturnType<typeof makeSchema> | undefined;
const makeSchema = () =>
  z.strictObject({
    summary: line(LONGEST_LINE).refine((text) => text !== ''),
    diff: z
      .string()
      .transform((text) => shown(text, LONGEST_DIFF))
      .optional(),
    recipients: z.array(line(LONGEST_RECIPIENT)).max(MOST_RECIPIENTS).optional(),
    cost: line(LONGEST_LINE).optional(),
    reversible: z.boolean().optional(),
  });

/**
 * Returns a preview in the form that users see: shortened, with hidden characters written as codes.
 * Returns `undefined` for anything else.
 */
export function readPreview(given: unknown): Preview | undefined {
  try {
    const read = (schema ??= makeSchema()).safeParse(
      typeof given === 'string' ? { summary: given } : cloneFrozen(given),
    );
    return read.success ? (cloneFrozen(read.data) as Preview) : undefined;
  } catch {
    return undefined; // The value isn't plain data.
  }
}

/**
 * Returns the beginning of a text with hidden characters written as codes. The rest isn't
 * processed, because it can be many megabytes.
 */
function shown(text: string, longest: number, tidied = (written: string) => written): string {
  const beginning = tidied(hiddenWritten(text.slice(0, 4 * longest)));
  if (text.length <= 4 * longest && beginning.length <= longest) return beginning;
  // The digest covers the part that isn't shown: a change there makes a different preview.
  const note = ` … [${text.length} characters in all, digest ${digestOf(text).slice(0, 16)}]`;
  return beginning.slice(0, longest - note.length).replace(/[\uD800-\uDBFF]$/, '') + note;
}
