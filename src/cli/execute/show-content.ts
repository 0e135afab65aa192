import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bytesOf, sha256Of } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { describePart, type ContentPart, type MediaPart } from '../../tool/content.js';

/** Returns the parts of a result in words: texts that are not the value already, and of anything else what it is and how large. */
export function contentTexts(outcome: ToolOutcome): readonly string[] {
  if (!('content' in outcome) || outcome.content === undefined) return [];
  const { value } = outcome;
  const isShown = (text: string) =>
    typeof value === 'string'
      ? value.includes(text)
      : [undefined, 2].some((indent) => text === JSON.stringify(value, null, indent));
  return outcome.content
    .filter((part) => part.type !== 'text' || !isShown(part.text))
    .map(describePart);
}

/** Returns a part as plain data: in place of bytes their size and SHA-256. */
export function contentToJson(part: ContentPart): object {
  if (!('data' in part) || part.data === undefined) return part;
  const { data, ...rest } = part;
  const bytes = bytesOf(data);
  return { ...rest, size: bytes.length, digest: sha256Of(bytes) };
}

/**
 * Writes the images, audio and files of a result into a folder, under names of their own or of the tool; no file is overwritten.
 *
 * @returns the paths of the files as they were written.
 * @throws ToolError `INVALID_ARGUMENT` for a folder that cannot be written.
 */
export async function saveContent(
  outcome: ToolOutcome,
  folder: string,
  cwd: string,
): Promise<readonly string[]> {
  const parts = ('content' in outcome ? (outcome.content ?? []) : []).filter(
    (part): part is MediaPart & { readonly data: string } =>
      'data' in part && part.data !== undefined,
  );
  const saved: string[] = [];
  try {
    await mkdir(resolve(cwd, folder), { recursive: true });
    for (const part of parts)
      saved.push(
        join(
          folder,
          await writeFree(resolve(cwd, folder), nameOf(part, outcome.toolName), bytesOf(part.data)),
        ),
      );
  } catch (error) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        '--save as a folder that can be written',
        `${(error as NodeJS.ErrnoException).code ?? 'an error'} for ${JSON.stringify(folder)}`,
      ),
      { cause: error },
    );
  }
  return saved;
}

/** Writes a file under the first name that is free: `chart.png`, `chart-2.png` … */
async function writeFree(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const dot = name.lastIndexOf('.');
  for (let copy = 1; ; copy += 1) {
    const free = copy === 1 ? name : `${name.slice(0, dot)}-${copy}${name.slice(dot)}`;
    try {
      await writeFile(join(folder, free), bytes, { flag: 'wx' });
      return free;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

const ENDINGS: Readonly<Record<string, string>> = {
  jpeg: 'jpg',
  'svg+xml': 'svg',
  plain: 'txt',
  markdown: 'md',
  mpeg: 'mp3',
  'octet-stream': 'bin',
};

/** Returns a name without folders, controls and leading dots, whose ending is that of the media type unless it has one. */
function nameOf({ name, mediaType }: MediaPart, toolName: string): string {
  const subtype = /^[^/]+\/([\w.+-]+)/.exec(mediaType)?.[1]?.toLowerCase() ?? '';
  const ending = ENDINGS[subtype] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin');
  const last = (name ?? '')
    .split(/[/\\]/)
    .at(-1)!
    .replace(/[^\p{L}\p{N}._-]+/gu, '_');
  // File systems count bytes, at most 255; a character that is cut in two becomes U+FFFD.
  const end = Buffer.from(last)
    .subarray(-200)
    .toString()
    .replace(/^[._\ufffd]+/, '');
  const base = end === '' ? toolName : end;
  return /[^.]\.\w{1,8}$/.test(end) ? base : `${base}.${ending}`;
}
