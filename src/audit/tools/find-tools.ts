import type {
  CallExpression,
  ClassLikeDeclaration,
  Expression,
  Identifier,
  ImportDeclaration,
  ImportSpecifier,
  Node,
  SignatureDeclaration,
  SourceFile,
} from 'typescript';
import { memberName, type Code } from '../code/code.js';
import { packageOf } from '../code/outside-code.js';
import { ts } from '../code/typescript.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import {
  closure,
  HOLE,
  type ClassValue,
  type Env,
  type InstanceValue,
  textsOf,
  type Values,
} from '../evaluate/values.js';
import { declaredIn, type Declared } from './declared.js';

/** A tool in the source, with the function that does its work. */
export interface FoundTool {
  readonly name: string;
  readonly declared: Declared;
  /** The functions that the tool runs. Empty if a user or a provider does the work. */
  readonly handlers: Values;
  /** The node that declares the tool. */
  readonly node: Node;
}

const NAMES = ['defineTool', 'tool', 'toolkit'];

/** Returns the tools that the program's own code declares, in the order of the code. */
export function findTools(
  evaluator: Evaluator,
  isWanted: (file: SourceFile) => boolean,
): readonly FoundTool[] {
  const finder = new Finder(evaluator);
  const aliases = evaluator.code.files.flatMap(aliasesIn);
  const tools = [...new Set([...NAMES, ...aliases])]
    .flatMap((name) => evaluator.code.identifiersNamed(name))
    .filter((node) => isWanted(node.getSourceFile()))
    .flatMap((node) => finder.at(node));
  const order = (tool: FoundTool) => evaluator.code.files.indexOf(tool.node.getSourceFile());
  return tools.sort((a, b) => order(a) - order(b) || a.node.pos - b.node.pos);
}

/** Returns the other names that a file gives to the functions that declare tools. */
function aliasesIn(file: SourceFile): readonly string[] {
  return file.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement)) return [];
    const bindings = statement.importClause?.namedBindings;
    if (bindings === undefined || !ts.isNamedImports(bindings)) return [];
    return bindings.elements
      .filter(({ propertyName }) => propertyName !== undefined && NAMES.includes(propertyName.text))
      .map(({ name }) => name.text);
  });
}

class Finder {
  constructor(readonly evaluator: Evaluator) {}

  /** Returns the tools that a use of `defineTool`, `tool` or `toolkit` declares. */
  at(node: Identifier): readonly FoundTool[] {
    const callee =
      ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node;
    const call = callee.parent;
    if (!ts.isCallExpression(call) || call.expression !== callee) return [];
    const name = declaredName(this.evaluator, node);
    if (name === 'defineTool') return this.#defined(call);
    if (name === 'toolkit') return this.#toolkit(call);
    return name === 'tool' ? this.#decorated(call) : [];
  }

  #defined(call: CallExpression): readonly FoundTool[] {
    return this.#contexts(call, call.arguments[0]).flatMap((env) => {
      const options = this.#options(call.arguments[0], env);
      return this.#tool(call, options, [], this.evaluator.field(options, 'execute'));
    });
  }

  #options(node: Expression | undefined, env: Env): Values {
    return node === undefined ? [] : this.evaluator.evaluate(node, env);
  }

  #tool(node: Node, options: Values, defaults: Values, handlers: Values): readonly FoundTool[] {
    const names = textsOf(this.evaluator.field(options, 'name'));
    return names.map((name) => ({
      name: name === 'undefined' ? HOLE : name,
      declared: declaredIn(this.evaluator, options, defaults),
      handlers: handlers.filter((each) => each.is !== 'literal'),
      node,
    }));
  }

  #decorated(call: CallExpression): readonly FoundTool[] {
    const env = this.evaluator.scopeOf(call);
    const options = this.#options(call.arguments[0], env);
    const target = call.parent;
    if (ts.isDecorator(target)) {
      const { parent } = target;
      if (ts.isClassLike(parent)) return this.#onClass(call, options, parent);
      const method = parent as SignatureDeclaration;
      const owner = parent.parent;
      if (!ts.isClassLike(owner)) return [];
      return this.#method(call, options, owner, memberName(method.name!));
    }
    if (!ts.isCallExpression(target) || target.expression !== call) return [];
    return this.#classesIn(target, env).flatMap(({ node }) => this.#onClass(call, options, node));
  }

  #classesIn(call: CallExpression, env: Env): readonly ClassValue[] {
    return this.#options(call.arguments[0], env).filter(
      (each): each is ClassValue => each.is === 'class',
    );
  }

  #onClass(
    call: CallExpression,
    options: Values,
    owner: ClassLikeDeclaration,
  ): readonly FoundTool[] {
    return this.#method(call, options, owner, 'execute');
  }

  #method(
    call: CallExpression,
    options: Values,
    owner: ClassLikeDeclaration,
    name: string,
  ): readonly FoundTool[] {
    const instance: InstanceValue = this.evaluator.anInstance(owner, true);
    const handlers = this.evaluator.ofInstance(instance, name) ?? [];
    return this.#tool(call, options, this.#defaultsOf(owner), handlers);
  }

  /** Returns the options that `@toolkit` sets for a class, or for a class that it extends. */
  #defaultsOf(owner: ClassLikeDeclaration): Values {
    for (const { expression } of ts.canHaveDecorators(owner)
      ? (ts.getDecorators(owner) ?? [])
      : []) {
      if (!ts.isCallExpression(expression)) continue;
      const node = ts.isPropertyAccessExpression(expression.expression)
        ? expression.expression.name
        : expression.expression;
      if (ts.isIdentifier(node) && declaredName(this.evaluator, node) === 'toolkit')
        return this.#options(expression.arguments[0], this.evaluator.top);
    }
    return this.evaluator
      .bases(owner)
      .flatMap((base) => (base.is === 'class' ? this.#defaultsOf(base.node) : []));
  }

  /** Returns the tools of `toolkit(defaults, { method: options })(class)`. */
  #toolkit(call: CallExpression): readonly FoundTool[] {
    const target = call.parent;
    const env = this.evaluator.scopeOf(call);
    if (!ts.isCallExpression(target) || target.expression !== call) return [];
    const defaults = this.#options(call.arguments[0], env);
    return this.#classesIn(target, env).flatMap(({ node }) =>
      this.#options(call.arguments[1], env).flatMap((methods) =>
        this.evaluator.keys(methods).flatMap((name) => {
          const handlers =
            this.evaluator.ofInstance(this.evaluator.anInstance(node, true), name) ?? [];
          return this.#tool(call, this.evaluator.field([methods], name), defaults, handlers);
        }),
      ),
    );
  }

  /** Returns the activations that a call in a function of own code runs in, one for each caller. */
  #contexts(node: Node, options: Expression | undefined, depth = 0): readonly Env[] {
    const { top } = this.evaluator;
    const free = this.evaluator.scopeOf(node, top);
    const container = free.node;
    const names = this.evaluator.field(this.#options(options, free), 'name');
    if (
      container === undefined ||
      depth > 3 ||
      names.every(
        (each) =>
          each.is === 'literal' && each.value !== undefined && !String(each.value).includes(HOLE),
      )
    )
      return [free];
    const callee = closure(container as SignatureDeclaration, free.outer ?? top, free.self);
    const found = this.#callsOf(container as SignatureDeclaration).flatMap((call) =>
      this.#contexts(call, undefined, depth + 1).flatMap((env) =>
        this.#argumentsIn(call, container, env).map((args) =>
          this.evaluator.activation(callee, args, true),
        ),
      ),
    );
    return found.length === 0 ? [free] : found;
  }

  /** Returns the arguments of a function in a call of it, or in each turn of a loop like `map`. */
  #argumentsIn(call: CallExpression, container: Node, env: Env): readonly (readonly Values[])[] {
    const isCallback = call.arguments.some((each) => each === container);
    if (!isCallback) return [this.evaluator.args(call, env)];
    const { expression } = call;
    if (!ts.isPropertyAccessExpression(expression)) return [];
    return (this.evaluator.items(this.evaluator.evaluate(expression.expression, env)) ?? []).map(
      (item) => [item],
    );
  }

  #callsOf(container: SignatureDeclaration): readonly CallExpression[] {
    if (ts.isCallExpression(container.parent) && container.parent.expression !== container)
      return [container.parent];
    const name =
      container.name ??
      (ts.isVariableDeclaration(container.parent) ? container.parent.name : undefined);
    const symbol = name && this.evaluator.code.symbolAt(name);
    const uses = symbol === undefined ? [] : this.evaluator.code.referencesOf(symbol);
    return uses.flatMap((use) => {
      const callee =
        ts.isPropertyAccessExpression(use.parent) && use.parent.name === use ? use.parent : use;
      return ts.isCallExpression(callee.parent) && callee.parent.expression === callee
        ? [callee.parent]
        : [];
    });
  }
}

/** Returns the name under which this package declares what an identifier stands for. */
function declaredName(evaluator: Evaluator, node: Identifier): string | undefined {
  const { code } = evaluator;
  const symbol = code.symbolAt(node);
  const [declaration] = symbol?.declarations ?? [];
  if (declaration === undefined) return undefined;
  const outside = code.outsideOf(declaration);
  if (outside !== undefined) return outside.pkg === 'tooldex' ? outside.path.at(-1) : undefined;
  if (ts.isImportSpecifier(declaration)) return importedFrom(declaration);
  return packageOf(code.program, declaration.getSourceFile()) === 'tooldex' &&
    !isTestCode(code, declaration)
    ? symbol?.name
    : undefined;
}

function importedFrom(node: ImportSpecifier): string | undefined {
  const { moduleSpecifier } = node.parent.parent.parent as ImportDeclaration;
  const isOurs =
    ts.isStringLiteralLike(moduleSpecifier) && /^tooldex(?:\/|$)/.test(moduleSpecifier.text);
  return isOurs ? (node.propertyName ?? node.name).text : undefined;
}

const isTestCode = (_code: Code, declaration: Node) =>
  !/[\\/]src[\\/]/.test(declaration.getSourceFile().fileName);
