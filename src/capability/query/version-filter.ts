import semver from 'semver';
import { invalidArgument } from '../../core/issues.js';

/** The largest constraint in characters: far above honest use, because the parser of ranges takes them one by one. */
const LONGEST = 256;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+].*)?$/;
/** The options of ranges. Versions before a release count as any other: a catalogue shows what it has. */
const OPTIONS = { includePrerelease: true } as const;

type Test = (version: semver.SemVer) => boolean;

/**
 * Returns a check of versions against a constraint: the ranges of npm, such as `>=1.2`, `^1`, `1.x || >=2`, `1.0 -
 * 1.4`.
 *
 * A comma means and, as do several constraints in a list; `==` is `=`, and `!=1.2.0` excludes. Blank constraints are
 * ignored. Versions may be as short as `1` or `0.9`; a tool without a version, or with an invalid one, meets no
 * constraint. Source of the order: Semantic Versioning 2.0.0, §11.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming an invalid constraint.
 */
export function versionFilter(constraint: string | readonly string[] | undefined): (version: string | undefined) => boolean {
  if (constraint === undefined) return () => true;
  const list: readonly unknown[] = Array.isArray(constraint) ? constraint : [constraint];
  const tests = list.flatMap(compileConstraint);
  if (tests.length === 0) return () => true;
  /** The answers for versions met so far: a catalogue has few, and parsing takes longer than all else. */
  const answers = new Map<string | undefined, boolean>();
  return (version) => {
    let answer = answers.get(version);
    if (answer === undefined) {
      const parsed = parseVersion(version);
      answers.set(version, (answer = parsed !== undefined && tests.every((test) => test(parsed))));
    }
    return answer;
  };
}

/** Returns a version in full, whatever parts of it were written; `undefined` for an invalid one. */
export function parseVersion(version: string | undefined): semver.SemVer | undefined {
  const parts = version === undefined || version.length > LONGEST ? null : VERSION.exec(version.trim());
  if (parts === null) return undefined;
  const [, major, minor = '0', patch = '0', rest = ''] = parts;
  // Numbers written as `01.2` are no Semantic Version, but their meaning is clear.
  return semver.parse(`${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`) ?? undefined;
}

/** Returns the tests of a constraint; none for a blank one. */
function compileConstraint(constraint: unknown): readonly Test[] {
  if (typeof constraint !== 'string' || constraint.length > LONGEST) throw invalidVersion(constraint);
  if (constraint.replaceAll(',', '').trim() === '') return [];
  const alternatives = constraint.split('||').map((alternative) => {
    const pieces = alternative.split(',').map((piece) => piece.trim()).filter((piece) => piece !== '');
    if (pieces.length === 0) throw invalidVersion(constraint);
    return pieces.map((piece) => compilePiece(piece, constraint));
  });
  return [(version) => alternatives.some((pieces) => pieces.every((test) => test(version)))];
}

function compilePiece(piece: string, constraint: string): Test {
  const excluded = /^!=\s*(?=[\dvxX*])/.exec(piece);
  const text = excluded === null ? piece.replace(/^={2,3}(?!=)/, '=') : piece.slice(excluded[0].length);
  try {
    const range = new semver.Range(text, OPTIONS);
    return (version) => range.test(version) === (excluded === null);
  } catch {
    throw invalidVersion(constraint);
  }
}

function invalidVersion(constraint: unknown) {
  return invalidArgument("a version constraint such as '>=1.2', '^1' or '1.x || >=2'", constraint);
}
