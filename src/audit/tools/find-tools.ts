import type {
  CallExpression,
  ClassLikeDeclaration,
  Expression,
  Identifier,
  ImportDeclaration,
  Node,
  SignatureDeclaration,
  SourceFile,
} from 'typescript';
import { callOf, memberName } from '../code/code.js';
import { packageOf } from '../code/outside-code.js';
import { ts } from '../code/typescript.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import { closure, HOLE, textsOf, type Scope, type Values } from '../evaluate/values.js';
import { declaredIn, type Declared } from './declared.js';

/** A tool in the source, with the function that does its work. */
export interface ToolInCode {
  readonly name: string;
  readonly declared: Declared;
  /** The functions that the tool runs. Empty if a user or a provider does the work. */
  readonly handlers: Values;
  /** The node that declares the tool. */
  readonly node: Node;
}

/** A call to a function that declares tools. */
interface Use {
  readonly name: string;
  readonly call: CallExpression;
}

const NAMES = ['defineTool', 'tool', 'toolkit'];

/** Returns the tools that the program's own code declares, in the order of the code. */
export function findTools(
  evaluator: Evaluator,
  isWanted: (file: SourceFile) => boolean,
): readonly ToolInCode[] {
  const uses = usesIn(evaluator);
  const finder = new Finder(evaluator, uses);
  const { files } = evaluator.code;
  const order = (tool: ToolInCode) => files.indexOf(tool.node.getSourceFile());
  return uses
    .filter(({ call }) => isWanted(call.getSourceFile()))
    .flatMap((use) => finder.at(use))
    .sort((a, b) => order(a) - order(b) || a.node.pos - b.node.pos);
}

/** Returns all calls that declare tools, also under other names. */
function usesIn(evaluator: Evaluator): readonly Use[] {
  const named = (name: string) => evaluator.code.identifiersNamed(name);
  const own = NAMES.flatMap(named);
  const aliases = own.flatMap(({ parent }) =>
    ts.isImportSpecifier(parent) ? [parent.name.text] : [],
  );
  const nodes = new Set([...own, ...aliases.flatMap(named)]);
  return [...nodes].flatMap((node): readonly Use[] => {
    const call = callOf(node);
    const name = call && declaredName(evaluator, node);
    return name === undefined || call === undefined ? [] : [{ name, call }];
  });
}

class Finder {
  constructor(
    readonly evaluator: Evaluator,
    readonly uses: readonly Use[],
  ) {}

  /** Returns the tools that a call of `defineTool`, `tool` or `toolkit` declares. */
  at({ name, call }: Use): readonly ToolInCode[] {
    if (name === 'defineTool')
      return this.#contexts(call, call.arguments[0]).flatMap((env) => {
        const options = this.#argument(call, 0, env);
        return this.#tool(call, options, [], this.evaluator.field(options, 'execute'));
      });
    const options = this.#argument(call, 0);
    const target = call.parent;
    const owner = ts.isDecorator(target) ? target.parent : undefined;
    if (name === 'tool' && owner !== undefined) {
      if (ts.isClassLike(owner)) return this.#method(call, options, owner, 'execute');
      const { name: method, parent } = owner as SignatureDeclaration;
      return ts.isClassLike(parent) ? this.#method(call, options, parent, memberName(method!)) : [];
    }
    if (!ts.isCallExpression(target) || target.expression !== call) return [];
    return this.#argument(target, 0).flatMap((each) => {
      if (each.is !== 'class') return [];
      if (name === 'tool') return this.#method(call, options, each.node, 'execute');
      const methods = this.#argument(call, 1);
      return methods.flatMap((table) =>
        this.evaluator
          .keys(table)
          .flatMap((key) =>
            this.#method(call, this.evaluator.field([table], key), each.node, key, options),
          ),
      );
    });
  }

  #argument(call: CallExpression, at: number, env = this.evaluator.scopeOf(call)): Values {
    const node = call.arguments[at];
    return node === undefined ? [] : this.evaluator.evaluate(node, env);
  }

  #method(
    call: CallExpression,
    options: Values,
    owner: ClassLikeDeclaration,
    name: string,
    defaults = this.#defaultsOf(owner),
  ): readonly ToolInCode[] {
    const instance = this.evaluator.anInstance(owner, true);
    return this.#tool(call, options, defaults, this.evaluator.ofInstance(instance, name) ?? []);
  }

  #tool(node: Node, options: Values, defaults: Values, handlers: Values): readonly ToolInCode[] {
    return textsOf(this.evaluator.field(options, 'name')).map((name) => ({
      name: name === 'undefined' ? HOLE : name,
      declared: declaredIn(this.evaluator, options, defaults),
      handlers: handlers.filter((each) => each.is !== 'literal'),
      node,
    }));
  }

  /** Returns the options that `@toolkit` sets for a class, or for a class that it extends. */
  #defaultsOf(owner: ClassLikeDeclaration): Values {
    const use = this.uses.find(
      ({ name, call: { parent } }) =>
        name === 'toolkit' && ts.isDecorator(parent) && parent.parent === owner,
    );
    if (use !== undefined) return this.#argument(use.call, 0);
    return this.evaluator
      .bases(owner)
      .flatMap((base) => (base.is === 'class' ? this.#defaultsOf(base.node) : []));
  }

  /** Returns the activations that a call in a function of own code runs in, one for each caller. */
  #contexts(node: Node, options: Expression | undefined, depth = 0): readonly Scope[] {
    const free = this.evaluator.scopeOf(node);
    const { node: container, outer = free, self } = free;
    const values = options === undefined ? [] : this.evaluator.evaluate(options, free);
    const names = textsOf(this.evaluator.field(values, 'name'));
    const isNamed = names.every((name) => !name.includes(HOLE) && name !== 'undefined');
    if (container === undefined || depth > 3 || isNamed) return [free];
    const callee = closure(container as SignatureDeclaration, outer, self);
    const found = this.#callsOf(callee.node).flatMap((call) =>
      this.#contexts(call, undefined, depth + 1).flatMap((env) =>
        this.#argumentsIn(call, container, env).map((args) =>
          this.evaluator.activation(callee, args, true),
        ),
      ),
    );
    return found.length === 0 ? [free] : found;
  }

  /** Returns the arguments of a function in a call of it, or in each turn of a loop like `map`. */
  #argumentsIn(call: CallExpression, container: Node, env: Scope): readonly (readonly Values[])[] {
    if (!call.arguments.some((each) => each === container)) return [this.evaluator.args(call, env)];
    const { expression: list } = call.expression as { readonly expression?: Expression };
    const items = list && this.evaluator.items(this.evaluator.evaluate(list, env));
    return (items ?? []).map((item) => [item]);
  }

  #callsOf(container: SignatureDeclaration): readonly CallExpression[] {
    const { parent } = container;
    if (ts.isCallExpression(parent) && parent.expression !== container) return [parent];
    const name = container.name ?? (ts.isVariableDeclaration(parent) ? parent.name : undefined);
    const symbol = name && this.evaluator.code.symbolAt(name);
    const uses = symbol === undefined ? [] : this.evaluator.code.referencesOf(symbol);
    return uses.flatMap((use) => callOf(use) ?? []);
  }
}

/** Returns the name under which this package declares what an identifier stands for. */
function declaredName({ code }: Evaluator, node: Identifier): string | undefined {
  const symbol = code.symbolAt(node);
  const [declaration] = symbol?.declarations ?? [];
  if (declaration === undefined) return undefined;
  const outside = code.outsideOf(declaration);
  if (outside !== undefined) return outside.pkg === 'tooldex' ? outside.path.at(-1) : undefined;
  if (ts.isImportSpecifier(declaration)) {
    const { moduleSpecifier } = declaration.parent.parent.parent as ImportDeclaration;
    const isOurs = /^['"]tooldex(?:\/|['"])/.test(moduleSpecifier.getText());
    return isOurs ? (declaration.propertyName ?? declaration.name).text : undefined;
  }
  const file = declaration.getSourceFile();
  const isSource =
    /[\\/]src[\\/]/.test(file.fileName) && packageOf(code.program, file) === 'tooldex';
  return isSource ? symbol!.name : undefined;
}
