import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { z } from 'zod';
import { MAX_PATH_LENGTH, segmentsOf, withoutEnding } from './path-rules.js';

/** Returns the schema of an input path. Only the tool knows the root. */
export function pathInput(): z.ZodString {
  return z.string().min(1).max(MAX_PATH_LENGTH);
}

/** Input fields that hold a path or a list of paths. */
const PATH_FIELDS = ['path', 'paths', 'from', 'to', 'cwd'] as const;

/**
 * Names the files below a root by keys, for plans and policy rules: `file:src/a.ts`, or `file:src/`
 * for everything below.
 *
 * A key is derived from the path as text, so a path through a link doesn't get its target's key. If
 * the root's file system ignores case, keys are lower case. A name that some systems treat as
 * another (different accents, trailing dots or spaces) also gets the other's key.
 */
export class FileKeys {
  readonly #root: string;
  readonly #given: boolean | undefined;
  #known: { readonly roots: readonly string[]; readonly ignoresCase: boolean } | undefined;

  /** @param ignoresCase True if the file system ignores case. Looked up once if missing. */
  constructor(root: string, ignoresCase?: boolean) {
    this.#root = resolve(root);
    this.#given = ignoresCase;
  }

  /**
   * Returns the keys of one file.
   * @throws ToolError `FORBIDDEN_PATH` if no key can name the path.
   */
  of(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => `${kind}:${text}`);
  }

  /**
   * Returns the keys of a file or folder and everything below it.
   * @throws ToolError `FORBIDDEN_PATH` if no key can name the path.
   */
  below(path: string, kind = 'file'): readonly string[] {
    return this.#texts(path).map((text) => (text === '' ? `${kind}:` : `${kind}:${text}/`));
  }

  /**
   * Returns an input with its paths relative to the root, without `.`, `..`, and double or trailing
   * slashes. Other paths stay unchanged, for the wall to refuse.
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
      return { roots: [this.#root], ignoresCase: this.#given ?? usual }; // The root doesn't exist yet.
    }
  }
}

/**
 * Returns the segments of a path as text, even for a path that every wall refuses, because rules
 * may name it.
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
 * Returns true if a folder finds one of its entries in the other case too. Undefined if no entry
 * has letters.
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
