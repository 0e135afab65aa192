import { z } from 'zod';
import { cloneFrozen, digestOf } from './plain-data.js';
import { hiddenWritten } from './visible-text.js';

/**
 * A preview of a call's effect, shown to the user before approval. A preview is plain data, and
 * creating a preview must not have side effects.
 */
export interface Preview {
  /** One line of at most 500 characters. */
  readonly summary: string;
  /**
   * The changes as a unified diff of at most 20,000 characters. A longer diff is truncated and ends
   * with a note.
   */
  readonly diff?: string;
  /** The addresses or people reached by the call, at most 50. */
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
 * Returns the schema of a stored preview. This schema transforms nothing, because a change would
 * invalidate the signature.
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
// This schema isn't built with the option helpers, because the catalogue's web page uses this file
// without Node's types.
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
 * Returns a preview as users see it: truncated, with hidden characters replaced by codes. Returns
 * `undefined` for a value that isn't a preview.
 */
export function readPreview(preview: unknown): Preview | undefined {
  try {
    const read = (schema ??= makeSchema()).safeParse(
      typeof preview === 'string' ? { summary: preview } : cloneFrozen(preview),
    );
    return read.success ? (cloneFrozen(read.data) as Preview) : undefined;
  } catch {
    return undefined; // The value isn't plain data.
  }
}

/**
 * Returns the start of a text, with hidden characters replaced by codes. The rest of the text isn't
 * processed, because it can be many megabytes long.
 */
function shown(text: string, longest: number, tidied = (written: string) => written): string {
  const beginning = tidied(hiddenWritten(text.slice(0, 4 * longest)));
  if (text.length <= 4 * longest && beginning.length <= longest) return beginning;
  // The digest covers the part that isn't shown, so any change to that part changes the preview.
  const note = ` … [${text.length} characters in all, digest ${digestOf(text).slice(0, 16)}]`;
  return beginning.slice(0, longest - note.length).replace(/[\uD800-\uDBFF]$/, '') + note;
}

/** The preview shown with a call, or the reason why a tool with previews produced none. */
export interface Shown {
  readonly preview?: Preview;
  readonly noPreview?: string;
}

/** Returns the digest of the preview, or of the reason why there was none. */
export function previewDigestOf({ preview, noPreview }: Shown): string {
  return digestOf([preview ?? null, noPreview ?? null]);
}

/**
 * Returns the lines that show the effect of a pending call. Returns an empty list if the tool has
 * no preview.
 */
export function previewLines({ preview, noPreview }: Shown): readonly string[] {
  if (preview === undefined) return noPreview === undefined ? [] : [`No preview: ${noPreview}.`];
  const { summary, recipients = [], cost, reversible, diff } = preview;
  return [
    summary,
    ...(recipients.length === 0 ? [] : [`To: ${recipients.join(', ')}`]),
    ...(cost === undefined ? [] : [`Cost: ${cost}`]),
    ...(reversible === false ? ["This can't be undone."] : []),
    ...(diff === undefined ? [] : diff.replace(/\n$/, '').split('\n')),
  ];
}
