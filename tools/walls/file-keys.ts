import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { z } from 'zod';
import { MAX_PATH_LENGTH, segmentsOf, withoutEnding } from './path-rules.js';

/** The schema of a path among a tool's inputs; only the tool knows the root that it is below. */
export function pathInput(): z.ZodString {
  return z.string().min(1).max(MAX_PATH_LENGTH);
}

/** The fields of inputs that hold a path or a list of paths. */
const PATH_FIELDS = ['path', 'paths', 'from', 'to', 'cwd'] as const;

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

  /** An input whose paths are relative to the root, without `.`, `..`, doubled and trailing slashes; others stay, for the wall to refuse. */
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
    return text === path
      ? posix.normalize(text).replace(/\/$/, '').split('/')
      : textSegments(text, roots);
  }
}

/** Returns true if a folder answers to one of its entries in the other case too; nothing when it has none with letters. */
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
