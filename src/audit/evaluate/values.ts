import type {
  ArrayLiteralExpression,
  ClassLikeDeclaration,
  Node,
  ObjectLiteralExpression,
  SignatureDeclaration,
  Type,
} from 'typescript';
import type { Change } from '../code/code.js';
import type { OutsidePlace } from '../code/outside-code.js';

/** Stands for a part of a text that the code doesn't show. */
export const HOLE = '…';

/** The bindings of one function activation. Activations with equal bindings are the same object. */
export interface Scope {
  /** The function, or undefined for the top level of all modules. */
  readonly node?: Node;
  readonly outer?: Scope;
  /** The arguments by parameter. A parameter without an entry has unknown arguments. */
  readonly bound: ReadonlyMap<Node, Values>;
  readonly self?: Values;
  /** True if what is created here outlives the call of the tool. */
  readonly kept: boolean;
  /** The origin of unknown arguments: a tool's input, something injected, or just values. */
  readonly unbound: 'input' | 'kept' | 'value';
}

/** True if later calls of the tool see the same object. */
interface Lifetime {
  readonly kept: boolean;
}

export interface FunctionValue {
  readonly is: 'function';
  readonly node: SignatureDeclaration;
  readonly env: Scope;
  readonly self?: Values;
  /** Arguments that were bound before the call. */
  readonly first?: readonly Values[];
}

interface ClassValue {
  readonly is: 'class';
  readonly node: ClassLikeDeclaration;
  readonly env: Scope;
}

export interface ObjectValue extends Lifetime {
  readonly is: 'object';
  readonly node: ObjectLiteralExpression | ArrayLiteralExpression;
  readonly env: Scope;
  readonly changes: readonly Change[];
  readonly changedIn?: Scope;
}

/** An instance of a class in own code. Without `args`, the constructor's arguments are unknown. */
export interface InstanceValue extends Lifetime {
  readonly is: 'instance';
  readonly node: ClassLikeDeclaration;
  readonly env: Scope;
  readonly args?: readonly Values[];
}

/** Something of a package. Its path has `()` for the result of a call, and `new` for an instance. */
export interface OutsideValue extends Lifetime, OutsidePlace {
  readonly is: 'outside';
  /** The expression that created the object, to tell objects apart. */
  readonly made?: Node;
  /** The object whose method this is. */
  readonly self?: Values;
  /** The arguments of the call that returned this value, or that were bound before the call. */
  readonly args?: readonly Values[];
  /** The items of a list in their order. `MANY` stands for any number of items that the code doesn't show. */
  readonly items?: readonly Values[];
}

export interface AnyValue extends Lifetime {
  readonly is: 'any';
  readonly type?: Type;
  /** True for the tool's input, and parts of it. */
  readonly input?: boolean;
  readonly many?: true;
}

/** The values that an expression can evaluate to. */
export type Values = readonly Value[];

export type Value =
  | { readonly is: 'literal'; readonly value: string | number | boolean | null | undefined }
  | FunctionValue
  | ClassValue
  | ObjectValue
  | InstanceValue
  | OutsideValue
  | AnyValue;

export const UNKNOWN: AnyValue = Object.freeze({ is: 'any', kept: false });
/** Stands for any number of values that the code doesn't show. */
export const MANY: AnyValue = Object.freeze({ is: 'any', kept: false, many: true });
export const literal = (value: string | number | boolean | null | undefined): Value => ({
  is: 'literal',
  value,
});
export const NOTHING = literal(undefined);

/** Returns a value of a package, or of the language with the package `global`. */
export const outside = (
  pkg: string,
  path: readonly string[],
  kept: boolean,
  more?: Partial<OutsideValue>,
): OutsideValue => ({ is: 'outside', pkg, path, kept, ...more });

export const listValue = (items: readonly Values[], kept = false): OutsideValue =>
  outside('global', ['Array'], kept, { items });

export const closure = (node: SignatureDeclaration, env: Scope, self?: Values): FunctionValue => ({
  is: 'function',
  node,
  env,
  ...(self && { self }),
});

/** Returns true if later calls see the same object. Classes and functions can have fields of their own. */
export const isKept = (value: Value): boolean =>
  'kept' in value ? value.kept : 'env' in value && value.env.kept;

/** Returns the texts that values can be, with a hole where that's unknown. Flags such as `O_RDONLY` are their names. */
export function textsOf(values: Values): readonly string[] {
  return [
    ...new Set(
      values.map((value) => {
        if (value.is === 'literal') return String(value.value);
        const name = value.is === 'outside' ? value.path.at(-1) : undefined;
        return name?.startsWith('O_') === true ? name : HOLE;
      }),
    ),
  ];
}

const keys = new WeakMap<object, string>();
let last = 0;

/** Returns a text that is the same for equal values. Nodes, types and activations equal only themselves. */
export function memberKeyOf(part: unknown): string {
  if (typeof part !== 'object' || part === null) return String(JSON.stringify(part));
  if (part instanceof Map) return memberKeyOf([...part]);
  if (Array.isArray(part)) return `[${part.map(memberKeyOf).join()}]`;
  let key = keys.get(part);
  if (key === undefined) {
    key = 'is' in part ? memberKeyOf(Object.entries(part)) : `#${(last += 1)}`;
    keys.set(part, key);
  }
  return key;
}

/** Returns each value once. Too many values become one unknown value. */
export function distinct(values: Values): Values {
  if (values.length < 2) return values;
  const found = [...new Map(values.map((value) => [memberKeyOf(value), value])).values()];
  return found.length <= MOST_VALUES ? found : [...found.slice(0, MOST_VALUES), UNKNOWN];
}
const MOST_VALUES = 24;
