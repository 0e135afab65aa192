import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { z } from 'zod';
import { MAX_PATH_LENGTH, segmentsOf, withoutEnding } from './path-rules.js';

/**
 * Returns the schema for an input path. The schema doesn't check the path, because only the tool
 * knows the root.
 */
export function pathInput(): z.ZodString {
  return z.string().min(1).max(MAX_PATH_LENGTH);
}

/** Input fields that contain a path or a list of paths. */
const PATH_FIELDS = ['path', 'paths', 'from', 'to', 'cwd'] as const;

/**
 * Returns keys for the files below a root, for use in plans and policy rules: `file:src/a.ts` for a
 * file, or `file:src/` for everything below a folder.
 *
 * A key is derived from the path as text, so a path through a link doesn't get its target's key. If
 * the root's file system is case-insensitive, keys are lower case. Some systems treat two names as
 * equal (different accents, trailing dots or spaces). A path with such a name also gets the other
 * name's key.
 */
export class FileKeys {
  readonly #root: string;
  readonly #given: boolean | undefined;
  #known: { readonly roots: readonly string[]; readonly ignoresCase: boolean } | undefined;

  /** @param ignoresCase True if the file system is case-insensitive. Detected once if omitted. */
  constructor(root: string, ignoresCase?: boolean) {
    this.#root = resolve(root);
    this.#given = ignoresCase;
  }

  /**
   * Returns the keys for one file.
   * @throws ToolError `FORBIDDEN_PATH` if the path can't be expressed as a key.
   */
  of(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => `${kind}:${text}`);
  }

  /**
   * Returns the keys for a file or folder and everything below it.
   * @throws ToolError `FORBIDDEN_PATH` if the path can't be expressed as a key.
   */
  below(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => (text === '' ? `${kind}:` : `${kind}:${text}/`));
  }

  /**
   * Returns an input with its paths made relative to the root, without `.`, `..`, and double or
   * trailing slashes. Paths that lead outside are left unchanged, because the tool refuses them
   * later.
   */
  inputBelow<In extends object>(input: In): In {
    const { roots } = this.#look();
    const below = (path: unknown) => {
      try {
        return segmentsOf(path, roots).join('/') || '.';
      } catch {
        return path;
      }
    };
    const given = input as Readonly<Record<string, unknown>>;
    const fields = PATH_FIELDS.filter(
      (field) => Object.hasOwn(given, field) && given[field] !== undefined,
    );
    return {
      ...input,
      ...Object.fromEntries(
        fields.map((field) => [
          field,
          Array.isArray(given[field]) ? given[field].map(below) : below(given[field]),
        ]),
      ),
    };
  }

  #texts(path: string): readonly string[] {
    const { roots, ignoresCase } = this.#look();
    const fold = (text: string) =>
      ignoresCase ? text.toUpperCase().toLowerCase().normalize('NFC') : text;
    const segments = textSegments(path, roots);
    return [
      ...new Set([
        fold(segments.join('/')),
        fold(segments.map(withoutEnding).join('/')).normalize('NFC'),
      ]),
    ];
  }

  #look() {
    if (this.#known !== undefined) return this.#known;
    const usual = process.platform === 'win32' || process.platform === 'darwin';
    try {
      const real = realpathSync(this.#root);
      return (this.#known = {
        roots: [this.#root, real],
        ignoresCase: this.#given ?? ignoresCaseAt(real) ?? usual,
      });
    } catch {
      return { roots: [this.#root], ignoresCase: this.#given ?? usual }; // The root may not exist yet.
    }
  }
}

/**
 * Returns the segments of a path as text. Also accepts paths that tools refuse, because policy
 * rules may mention such paths.
 */
function textSegments(path: string, roots: readonly string[]): readonly string[] {
  try {
    return segmentsOf(path, roots);
  } catch (error) {
    if (typeof path !== 'string' || path === '' || /\p{Cc}/u.test(path)) throw error;
    const text = path.replaceAll('\\', '/');
    return text === path
      ? posix.normalize(text).replace(/\/$/, '').split('/')
      : textSegments(text, roots);
  }
}

/**
 * Returns true if one of a folder's entries can also be opened with its case swapped, or
 * `undefined` if no entry contains letters.
 */
function ignoresCaseAt(folder: string): boolean | undefined {
  const name = readdirSync(folder).find((each) => /^[\x20-\x7e]*[a-z][\x20-\x7e]*$/i.test(each));
  if (name === undefined) return undefined;
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase();
  const [here, there] = [name, other].map((each) =>
    lstatSync(join(folder, each), { throwIfNoEntry: false }),
  );
  return (
    here !== undefined && there !== undefined && here.ino === there.ino && here.dev === there.dev
  );
}
