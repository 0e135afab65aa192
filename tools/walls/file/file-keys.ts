import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { z } from 'zod';
import { MAX_PATH_LENGTH, segmentsOf, withoutEnding } from './path-rules.js';

/** The schema of a path among a tool's inputs: what the policy and the tool read is canonical. */
export function pathInput(): z.ZodString {
  return z.string().min(1).max(MAX_PATH_LENGTH).overwrite(canonicalPath);
}

/** A path below the root as text, without `.`, `..`, doubled and trailing slashes; any other as it is, for the wall to refuse. */
export function canonicalPath(path: string): string {
  try {
    return segmentsOf(path, []).join('/') || '.';
  } catch {
    return path;
  }
}

/**
 * Names the files below one root by keys, for plans and the policy's rules: `file:src/a.ts`, `file:src/` with all below.
 *
 * A key is worked out from the path as text, so one that leads through a link is not known for the file at its end. Where
 * the root's file system ignores case, keys are in lower case. A name that some systems take for another (accents written
 * otherwise, dots or spaces at its end) also has the other's key.
 */
export class FileKeys {
  readonly #root: string;
  readonly #given: boolean | undefined;
  #known: { readonly roots: readonly string[]; readonly ignoresCase: boolean } | undefined;

  /** @param ignoresCase whether the file system does; looked up once when not given. */
  constructor(root: string, ignoresCase?: boolean) {
    this.#root = resolve(root);
    this.#given = ignoresCase;
  }

  /** The keys of one file. @throws ToolError `FORBIDDEN_PATH` for what no key can name. */
  of(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => `${kind}:${text}`);
  }

  /** The keys of a file or folder and everything below it. @throws ToolError `FORBIDDEN_PATH` for what no key can name. */
  below(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => (text === '' ? `${kind}:` : `${kind}:${text}/`));
  }

  #texts(path: string): readonly string[] {
    const { roots, ignoresCase } = this.#look();
    const fold = (text: string) => (ignoresCase ? text.toUpperCase().toLowerCase().normalize('NFC') : text);
    const segments = textSegments(path, roots);
    return [...new Set([fold(segments.join('/')), fold(segments.map(withoutEnding).join('/')).normalize('NFC')])];
  }

  #look() {
    if (this.#known !== undefined) return this.#known;
    const usual = process.platform === 'win32' || process.platform === 'darwin';
    try {
      const real = realpathSync(this.#root);
      return (this.#known = { roots: [this.#root, real], ignoresCase: this.#given ?? ignoresCaseAt(real) ?? usual });
    } catch {
      return { roots: [this.#root], ignoresCase: this.#given ?? usual }; // There is no root yet.
    }
  }
}

/** The segments of a path as text; also of one that every wall refuses, as rules may name it. */
function textSegments(path: string, roots: readonly string[]): readonly string[] {
  try {
    return segmentsOf(path, roots);
  } catch (error) {
    if (typeof path !== 'string' || path === '' || /\p{Cc}/u.test(path)) throw error;
    const text = path.replaceAll('\\', '/');
    return text === path ? posix.normalize(text).replace(/\/$/, '').split('/') : textSegments(text, roots);
  }
}

/** Whether a folder finds one of its entries in the other case too; nothing when it has none with letters. */
function ignoresCaseAt(folder: string): boolean | undefined {
  const name = readdirSync(folder).find((each) => /^[\x20-\x7e]*[a-z][\x20-\x7e]*$/i.test(each));
  if (name === undefined) return undefined;
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase();
  const [here, there] = [name, other].map((each) => lstatSync(join(folder, each), { throwIfNoEntry: false }));
  return here !== undefined && there !== undefined && here.ino === there.ino && here.dev === there.dev;
}
