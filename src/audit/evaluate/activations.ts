import type { ClassLikeDeclaration, Node } from 'typescript';
import type { Code } from '../code/code.js';
import { ts } from '../code/typescript.js';
import { containerOf } from './syntax.js';
import {
  memberKeyOf,
  listValue,
  NOTHING,
  UNKNOWN,
  type Scope,
  type FunctionValue,
  type InstanceValue,
  type Values,
} from './values.js';

/** All activations of functions. */
export class Activations {
  readonly top: Scope = { bound: new Map(), kept: true, unbound: 'value' };
  readonly #known = new Map<string, Scope>();

  constructor(readonly code: Code) {}

  /** Returns the activation with these bindings. Equal bindings give the same object. */
  enter(made: Partial<Scope>): Scope {
    const env: Scope = { bound: new Map(), kept: false, unbound: 'value', ...made };
    const key = memberKeyOf([env.node, env.outer, env.bound, env.self, env.kept, env.unbound]);
    const cached = this.#known.get(key) ?? env;
    this.#known.set(key, cached);
    return cached;
  }

  /** Returns the activation of a function when it's called with the arguments, or with unknown ones. */
  activation(callee: FunctionValue, given: readonly Values[] | undefined, kept: boolean): Scope {
    const { node, env: outer, self = [UNKNOWN], first = [] } = callee;
    const args = given && [...first, ...given];
    const parameters = node.parameters.filter(({ name }) => name.getText() !== 'this');
    const bound = new Map<Node, Values>();
    for (const [at, each] of args === undefined ? [] : parameters.entries())
      bound.set(
        each,
        each.dotDotDotToken ? [listValue(args!.slice(at))] : (args![at] ?? [NOTHING]),
      );
    return this.enter({ node, outer, kept, bound, ...(!ts.isArrowFunction(node) && { self }) });
  }

  /** Returns the activation that a node's code runs in, as seen from `env`. */
  scopeOf(node: Node, env = this.top, kept = true): Scope {
    const container = containerOf(node);
    if (container === undefined) return this.top;
    for (let at: Scope | undefined = env; at !== undefined; at = at.outer)
      if (at.node === container) return at;
    const { parent } = container;
    const self = ts.isClassLike(parent) ? this.anInstance(parent, true) : UNKNOWN;
    return this.enter({
      node: container,
      outer: this.scopeOf(container, env, kept),
      kept,
      ...(!ts.isArrowFunction(container) && { self: [self] }),
    });
  }

  /** Returns an instance of a class whose constructor's arguments are unknown. */
  anInstance(node: ClassLikeDeclaration, kept: boolean): InstanceValue {
    return { is: 'instance', node, env: this.scopeOf(node), kept };
  }
}
