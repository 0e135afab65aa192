import { canonicalJson, compareText, isPlainObject, type Json } from '../../core/plain-data.js';

/** One place where two definitions differ. A side that has nothing there lacks its key. */
export interface DefinitionChange {
  /** As a JSON pointer (RFC 6901): `/inputSchema/properties/path/type`. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/**
 * Everywhere that two definitions differ, as few and as deep places as say it all; empty only for equal ones.
 *
 * What was added or removed whole is one change. The order of keys is no difference, that of lists is one; an entry put
 * into a list does not make all that follow it differ.
 */
export function diffDefinitions(before: Json, after: Json): readonly DefinitionChange[] {
  const changes: DefinitionChange[] = [];
  compare(before, after, '', changes);
  return Object.freeze(changes);
}

function compare(before: Json, after: Json, path: string, changes: DefinitionChange[]): void {
  if (isPlainObject(before) && isPlainObject(after)) compareObjects(before, after, path, changes);
  else if (Array.isArray(before) && Array.isArray(after)) compareLists(before as readonly Json[], after as readonly Json[], path, changes);
  else if (!isEqual(before, after)) changes.push(Object.freeze({ path, before, after }));
}

type JsonObject = Readonly<Record<string, Json>>;

function compareObjects(before: JsonObject, after: JsonObject, path: string, changes: DefinitionChange[]): void {
  for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(compareText)) {
    const place = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(after, key)) changes.push(Object.freeze({ path: place, before: before[key]! }));
    else if (!Object.hasOwn(before, key)) changes.push(Object.freeze({ path: place, after: after[key]! }));
    else compare(before[key]!, after[key]!, place, changes);
  }
}

/** Equal beginnings and ends are set aside; what is between is compared place by place. */
function compareLists(before: readonly Json[], after: readonly Json[], path: string, changes: DefinitionChange[]): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isEqual(before[start]!, after[start]!)) start += 1;
  let end = 0;
  while (end < shorter - start && isEqual(before.at(-1 - end)!, after.at(-1 - end)!)) end += 1;
  for (let index = start; index < Math.max(before.length, after.length) - end; index++) {
    const place = `${path}/${index}`;
    if (index >= after.length - end) changes.push(Object.freeze({ path: place, before: before[index]! }));
    else if (index >= before.length - end) changes.push(Object.freeze({ path: place, after: after[index]! }));
    else compare(before[index]!, after[index]!, place, changes);
  }
}

function isEqual(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
