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

type Owner = readonly Value[];

/**
 * The bindings of one function activation. Activations with equal bindings are the same object.
 */
export interface Env {
  readonly id: number;
  /** The function, or undefined for the top level of all modules. */
  readonly node?: Node;
  readonly outer?: Env;
  /** The arguments by parameter. A parameter without an entry has unknown arguments. */
  readonly bound: ReadonlyMap<Node, readonly Value[]>;
  readonly self?: Owner;
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
  readonly env: Env;
  readonly self?: Owner;
  /** Arguments that were bound before the call. */
  readonly first?: readonly Owner[];
}

export interface ClassValue {
  readonly is: 'class';
  readonly node: ClassLikeDeclaration;
  readonly env: Env;
}

export interface ObjectValue extends Lifetime {
  readonly is: 'object';
  readonly node: ObjectLiteralExpression | ArrayLiteralExpression;
  readonly env: Env;
  readonly changes: readonly Change[];
  readonly changedIn?: Env;
}

/** An instance of a class in own code. Without `args`, the constructor's arguments are unknown. */
export interface InstanceValue extends Lifetime {
  readonly is: 'instance';
  readonly node: ClassLikeDeclaration;
  readonly env: Env;
  readonly args?: readonly Owner[];
}

/** Something of a package. Its path has `()` for the result of a call, and `new` for an instance. */
export interface OutsideValue extends Lifetime, OutsidePlace {
  readonly is: 'outside';
  /** The expression that created the object, to tell objects apart. */
  readonly made?: Node;
  /** The object whose method this is. */
  readonly self?: Owner;
  /** The arguments of the call that returned this value, or that were bound before the call. */
  readonly args?: readonly Owner[];
  /** The values that the items of a list can have. */
  readonly items?: Owner;
}

export interface AnyValue extends Lifetime {
  readonly is: 'any';
  readonly type?: Type;
  /** True for the tool's input, and parts of it. */
  readonly input?: boolean;
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
export const literal = (value: string | number | boolean | null | undefined): Value => ({
  is: 'literal',
  value,
});
export const NOTHING = literal(undefined);

export const isKept = (value: Value): boolean => 'kept' in value && value.kept;

/** Returns the texts that values can be, with a hole where that's unknown. */
export function textsOf(values: Values): readonly string[] {
  return [...new Set(values.map((value) => (value.is === 'literal' ? String(value.value) : HOLE)))];
}

const numbers = new WeakMap<object, number>();
let last = 0;

/** Returns a number that stands for an object in keys. */
function numberOf(object: object): number {
  const known = numbers.get(object);
  if (known !== undefined) return known;
  last += 1;
  numbers.set(object, last);
  return last;
}

const keyOfAll = (values: readonly Value[] | undefined): string =>
  values === undefined ? '-' : values.map(keyOf).join('|');
const keys = new WeakMap<Value, string>();

/** Returns a text that is the same for equal values. */
export function keyOf(value: Value): string {
  const known = keys.get(value);
  if (known !== undefined) return known;
  const key = describe(value);
  keys.set(value, key);
  return key;
}

function describe(value: Value): string {
  switch (value.is) {
    case 'literal':
      return `=${typeof value.value}${String(value.value)}`;
    case 'any':
      return `?${value.type === undefined ? '' : numberOf(value.type)}${value.kept}${value.input ?? ''}`;
    case 'outside': {
      const made = value.made === undefined ? '' : numberOf(value.made);
      return `${value.pkg}:${value.path.join('.')}${value.kept}${made}(${(value.args ?? []).map(keyOfAll).join()})${keyOfAll(value.self)}${keyOfAll(value.items)}`;
    }
    case 'function':
      return `f${numberOf(value.node)}e${value.env.id}(${(value.first ?? []).map(keyOfAll).join()})${keyOfAll(value.self)}`;
    case 'instance':
      return `i${numberOf(value.node)}e${value.env.id}${value.kept}(${value.args?.map(keyOfAll).join() ?? '-'})`;
    default:
      return `${value.is}${numberOf(value.node)}e${value.env.id}`;
  }
}

/** Returns each value once. Too many values become one unknown value. */
export function distinct(values: readonly Value[]): readonly Value[] {
  if (values.length < 2) return values;
  const found = [...new Map(values.map((value) => [keyOf(value), value])).values()];
  return found.length <= MOST_VALUES ? found : [...found.slice(0, MOST_VALUES), UNKNOWN];
}
const MOST_VALUES = 24;

/** All activations, each with its own number. */
export class Environments {
  readonly #known = new Map<string, Env>();
  readonly top: Env = { id: 0, bound: new Map(), kept: true, unbound: 'value' };

  /** Returns the activation of a function with bindings. Equal bindings give the same object. */
  enter(made: Omit<Env, 'id'>): Env {
    const bound = [...made.bound].map(([node, values]) => `${numberOf(node)}=${keyOfAll(values)}`);
    const key = `${made.node === undefined ? '' : numberOf(made.node)}<${made.outer?.id ?? ''}${made.kept}${made.unbound}${keyOfAll(made.self)}${bound.join(';')}`;
    let env = this.#known.get(key);
    if (env === undefined) {
      env = { ...made, id: this.#known.size + 1 };
      this.#known.set(key, env);
    }
    return env;
  }
}
