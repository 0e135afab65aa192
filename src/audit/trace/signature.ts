import type { Value } from './values.js';

const ids = new WeakMap<object, number>();
let last = 0;

/** Returns a number that identifies an object. */
function idOf(object: object): number {
  const id = ids.get(object) ?? ++last;
  ids.set(object, id);
  return id;
}

/**
 * Returns a string that identifies a value. Two values have the same string if a function can't
 * tell them apart.
 */
export function signatureOf(value: Value): string {
  switch (value.t) {
    case 'const':
      return `${typeof value.v}:${String(value.v).slice(0, 300)}`;
    case 'unknown':
      return `?${value.tags.join()}`;
    case 'union':
      return value.of.map(signatureOf).join('|');
    case 'native':
      return `${value.module}.${value.path.join('.')}`;
    case 'external':
      return `${value.pkg}.${value.path.join('.')}`;
    case 'fn':
      return `f${idOf(value.node)}.${idOf(value.scope)}`;
    default:
      return `#${idOf(value)}`;
  }
}
