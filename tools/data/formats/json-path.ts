/** One step of a path into JSON. */
export type Step = { readonly kind: 'key'; readonly key: string } | { readonly kind: 'index'; readonly index: number } | { readonly kind: 'all' };

const ROOT = /\$(?=$|[.[])/y;
/** A key after a dot or at the start: everything up to the next dot or bracket. */
const NAME = /[^.[\]"\s][^.[\]"]*/y;
const DOT = /\./y;
const INDEX = /\[(-?[0-9]{1,9})\]/y;
const ALL = /\[\*\]/y;
/** A quoted key, written as a JSON string. Each character can be read in one way only, so nothing is tried twice. */
const QUOTED = /\[("(?:[^"\\]|\\["\\/bfnrt])*")\]/y;

/** Reads a path such as `a.b[0]["c d"][*]`; what is no path comes back as the reason. */
export function parsePath(path: string): readonly Step[] | string {
  const steps: Step[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(path);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const afterRoot = take(ROOT) !== null;
  while (at < path.length) {
    const index = take(INDEX);
    const quoted = index === null ? take(QUOTED) : null;
    if (index !== null) steps.push({ kind: 'index', index: Number(index[1]) });
    else if (quoted !== null) steps.push({ kind: 'key', key: JSON.parse(quoted[1] ?? '') as string });
    else if (take(ALL) !== null) steps.push({ kind: 'all' });
    else {
      const needsDot = steps.length > 0 || afterRoot;
      const name = !needsDot || take(DOT) !== null ? take(NAME)?.[0] : undefined;
      if (name === undefined) return `Expected a path such as a.b[0], items[*].name or ["a key"], got something else at character ${at + 1}.`;
      steps.push(name === '*' ? { kind: 'all' } : { kind: 'key', key: name });
    }
  }
  return steps;
}
