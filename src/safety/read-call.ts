import { expectedGot } from '../core/issues.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { isSettled } from '../tool/input/freeze-plain.js';
import { type CallContext, POLICY_MODES, type ToolCall } from './calls.js';

/**
 * A call as it is now, frozen: every value in it was read once.
 *
 * An input that was checked by its tool's schema is taken as it is: it was copied and frozen then. With any other, a getter
 * or a `dangerFor` that writes could show one input to one rule and another to the next.
 *
 * @throws whatever a hostile call throws, RangeError for one nested too deep.
 */
export function readCall(call: ToolCall): ToolCall {
  const { id, name, input = {} } = call;
  return Object.freeze({ id, name, input: isSettled(input) ? input : readOnce(input, new Map()) });
}

/** Plain data is copied and frozen; what a schema made of it otherwise (a date, a set) stays itself. */
function readOnce(value: unknown, copies: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    copies.set(value, copy);
    for (const item of value as unknown[]) copy.push(readOnce(item, copies));
    return Object.freeze(copy);
  }
  if (!isPlainObject(value)) return value;
  const copy = {};
  copies.set(value, copy);
  // An assignment to `__proto__` would change the prototype instead of adding a key.
  for (const [key, item] of Object.entries(value)) Object.defineProperty(copy, key, { value: readOnce(item, copies), enumerable: true });
  return Object.freeze(copy);
}

/** The frame of a call as it is now, frozen. */
export function readContext({ principal, scopes, flags, persona, conversationId, mode }: CallContext): CallContext {
  const frozen = <T>(list: T) => (Array.isArray(list) ? Object.freeze([...(list as readonly unknown[])]) : list);
  const context = { principal, scopes: frozen(scopes), flags: frozen(flags), persona, conversationId, mode };
  return Object.freeze(context) as CallContext;
}

/** Returns what is wrong with a context; `undefined` when nothing is. Scopes given as one text would contain the scopes that are parts of it. */
export function wrongContext({ principal, scopes, flags, persona, conversationId, mode }: CallContext): string | undefined {
  for (const [field, value] of Object.entries({ principal, persona, conversationId })) {
    if (value !== undefined && typeof value !== 'string') return expectedGot(`the context's ${field} as a string`, describeValue(value));
  }
  for (const [field, list] of Object.entries({ scopes, flags })) {
    if (list !== undefined && !(Array.isArray(list) && list.every((each) => typeof each === 'string'))) return expectedGot(`the context's ${field} as a list of strings`, describeValue(list));
  }
  if (mode !== undefined && !POLICY_MODES.includes(mode)) return expectedGot(`one of ${POLICY_MODES.join(', ')} as the context's mode`, describeValue(mode));
  return undefined;
}
