import { z } from 'zod';
import { cloneFrozen, digestOf } from './plain-data.js';
import { hiddenWritten } from './visible-text.js';

/** The effect that a call would have, as a user sees it before approving the call: plain data, made by the tool without any effect. */
export interface Preview {
  /** One line of at most 500 characters. */
  readonly summary: string;
  /** The changes of text as a unified diff; at most 20,000 characters, and what is longer ends with a note. */
  readonly diff?: string;
  /** The addresses or people that the call reaches; at most 50. */
  readonly recipients?: readonly string[];
  /** The cost in words, with its unit. */
  readonly cost?: string;
  /** False for what cannot be undone. */
  readonly reversible?: boolean;
}

const LONGEST_LINE = 500;
const LONGEST_DIFF = 20_000;
const LONGEST_RECIPIENT = 320;
const MOST_RECIPIENTS = 50;

/** The schema of a preview that was read before: stored previews are shown as they are, and what signs them shows any change. */
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
// Not made before it is needed, and without the options of the core: the page of the catalogue reads these types, and knows no Node.
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

/** Returns a preview as it is shown, bounded and with everything hidden written out; `undefined` for what is none. */
export function readPreview(given: unknown): Preview | undefined {
  try {
    const read = (schema ??= makeSchema()).safeParse(
      typeof given === 'string' ? { summary: given } : cloneFrozen(given),
    );
    return read.success ? (cloneFrozen(read.data) as Preview) : undefined;
  } catch {
    return undefined; // No plain data.
  }
}

/** Returns the beginning of a text with everything hidden written out: nothing is done with the rest, which may be any number of megabytes. */
function shown(text: string, longest: number, tidied = (written: string) => written): string {
  const beginning = tidied(hiddenWritten(text.slice(0, 4 * longest)));
  if (text.length <= 4 * longest && beginning.length <= longest) return beginning;
  // A change of what is not shown is another preview, too.
  const note = ` … [${text.length} characters in all, digest ${digestOf(text).slice(0, 16)}]`;
  return beginning.slice(0, longest - note.length).replace(/[\uD800-\uDBFF]$/, '') + note;
}
