import type { Value } from './values.js';

const ids = new WeakMap<object, number>();
let last = 0;

/** Returns a number that is the object's own. */
export function idOf(object: object): number {
  let id = ids.get(object);
  if (id === undefined) ids.set(object, (id = ++last));
  return id;
}

/** Returns a text that is the same for values that a function cannot tell apart. */
export function signatureOf(value: Value): string {
  switch (value.t) {
    case 'const':
      return `${typeof value.v}:${String(value.v).slice(0, 300)}`;
    case 'unknown':
      return `?${value.tags.join()}`;
    case 'union':
      return value.of.map((one) => signatureOf(one)).join('|');
    case 'native':
    case 'external':
      return `${value.t === 'native' ? value.module : value.pkg}.${value.path.join('.')}`;
    case 'fn':
      return `f${idOf(value.node)}.${idOf(value.scope)}`;
    case 'obj':
      return `o${value.id}`;
    default:
      return `#${idOf(value)}`;
  }
}
