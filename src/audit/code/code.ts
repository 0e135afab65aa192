import { relative } from 'node:path';
import type {
  BinaryExpression,
  CallExpression,
  CallLikeExpression,
  Declaration,
  Expression,
  Identifier,
  Node,
  Program,
  SourceFile,
  Symbol as TsSymbol,
  Type,
  TypeChecker,
} from 'typescript';
import { withSlashes } from '../../host/shown-path.js';
import { ts } from './typescript.js';
import { outsidePlaceOf, type OutsidePlace } from './outside-code.js';

/** A declaration in the program's own code that holds a property's or method's code. */
export type Member = Node & { readonly name: Node };

/** A change to a variable's value: `x.name = value`. Without a name, anything may have changed. */
export interface Change {
  readonly name?: string;
  readonly value?: Expression;
  /** True if the change only adds items at the end. */
  readonly appends?: boolean;
}

/** The program's own code, with indexes of names that the checker doesn't offer. */
export class Code {
  readonly checker: TypeChecker;
  readonly files: readonly SourceFile[];
  readonly #identifiers = new Map<string, Identifier[]>();
  readonly #members = new Map<string, Member[]>();
  /** All getters and setters. */
  readonly accessors: Member[] = [];
  readonly #implementations = new Map<Type, Map<string, readonly Member[]>>();
  readonly #changes = new Map<TsSymbol, readonly Change[]>();
  readonly #references = new Map<TsSymbol, readonly Identifier[]>();

  constructor(
    readonly program: Program,
    readonly root: string,
  ) {
    this.checker = program.getTypeChecker();
    this.files = program.getSourceFiles().filter(isOwn);
    for (const file of this.files) {
      try {
        this.#index(file);
      } catch (error) {
        // Code that is nested too deeply. What the index misses is unknown.
        if (!(error instanceof RangeError)) throw error;
      }
    }
  }

  #index(node: Node): void {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node))
      listIn(this.#identifiers, node.text).push(node as Identifier);
    if (isMember(node) && !this.isTest(node)) {
      listIn(this.#members, memberName(node.name)).push(node);
      if (ts.isAccessor(node)) this.accessors.push(node);
    }
    ts.forEachChild(node, (child) => this.#index(child));
  }

  /** Returns true for code in a test, which stands in for what the program itself uses. */
  isTest(node: Node): boolean {
    return TESTS.test(relative(this.root, node.getSourceFile().fileName));
  }

  identifiersNamed(name: string): readonly Identifier[] {
    return this.#identifiers.get(name) ?? [];
  }

  /** Returns the members of classes and object literals with a name, such as `save` or `[Symbol.iterator]`. */
  membersNamed(name: string): readonly Member[] {
    return this.#members.get(name) ?? [];
  }

  /** Returns the node's `file:line`. */
  placeOf(node: Node): string {
    const file = node.getSourceFile();
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    return `${withSlashes(relative(this.root, file.fileName))}:${line + 1}`;
  }

  typeAt(node: Node): Type {
    return this.checker.getTypeAtLocation(node);
  }

  /** Returns true if a call's parameter can be a function. */
  expectsFunction(node: CallLikeExpression, at: number): boolean {
    const parameter = this.checker.getResolvedSignature(node)?.parameters[at];
    return parameter !== undefined && this.#canCall(this.checker.getTypeOfSymbol(parameter));
  }

  isCallable(node: Node): boolean {
    return this.#canCall(this.typeAt(node));
  }

  #canCall(given: Type): boolean {
    const type = this.checker.getNonNullableType(given);
    const types = type.isUnion() ? type.types : [type];
    return types.some((each) => each.getCallSignatures().length > 0);
  }

  /** Returns the symbol that a name stands for. Imports are followed as far as they resolve. */
  symbolAt(node: Node): TsSymbol | undefined {
    const { parent } = node;
    const found = ts.isShorthandPropertyAssignment(parent)
      ? this.checker.getShorthandAssignmentValueSymbol(parent)
      : this.checker.getSymbolAtLocation(node);
    return found === undefined ? undefined : this.#behind(found);
  }

  #behind(symbol: TsSymbol): TsSymbol {
    if ((symbol.flags & ts.SymbolFlags.Alias) === 0) return symbol;
    const target = this.checker.getAliasedSymbol(symbol);
    return target.declarations === undefined ? symbol : target;
  }

  /** Returns where a declaration without own code comes from, or undefined for the program's own code. */
  outsideOf(declaration: Declaration): OutsidePlace | undefined {
    return isOwn(declaration.getSourceFile())
      ? undefined
      : outsidePlaceOf(this.program, declaration);
  }

  /** Returns the names in own code that refer to a symbol, without its declarations. */
  referencesOf(symbol: TsSymbol): readonly Identifier[] {
    let found = this.#references.get(symbol);
    if (found === undefined) {
      found = this.identifiersNamed(symbol.name.replace(/^__#\d+@/, '')).filter(
        (node) => !isDeclarationName(node) && this.symbolAt(node) === symbol,
      );
      this.#references.set(symbol, found);
    }
    return found;
  }

  /** Returns what is assigned to a variable or field as a whole, `undefined` for values that can't be evaluated. */
  assignedTo(symbol: TsSymbol): readonly (Expression | undefined)[] {
    const values: (Expression | undefined)[] = [];
    for (const node of this.referencesOf(symbol)) {
      const target = assignedTo(node);
      const { parent } = target;
      if (ts.isBinaryExpression(parent) && parent.left === target && isAssignment(parent))
        values.push(isPlainAssignment(parent) ? parent.right : undefined);
      else if (isUpdated(target) || isPatternTarget(target)) values.push(undefined);
    }
    return values;
  }

  /** Returns the changes inside a variable's object or list. */
  changesOf(symbol: TsSymbol): readonly Change[] {
    let found = this.#changes.get(symbol);
    if (found === undefined) {
      found = this.referencesOf(symbol).flatMap(changesAt);
      this.#changes.set(symbol, found);
    }
    return found;
  }

  /** Returns the members that a call through a type can reach: those of assignable classes and object literals. */
  implementationsOf(name: string, type: Type): readonly Member[] {
    const cached = this.#implementations.get(type) ?? new Map<string, readonly Member[]>();
    this.#implementations.set(type, cached);
    const target = this.checker.getBaseConstraintOfType(type) ?? type;
    const isOpen = (target.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0;
    const found =
      cached.get(name) ??
      (isOpen ? [] : this.membersNamed(name)).filter(
        ({ parent }) =>
          this.checker.isTypeAssignableTo(this.typeAt(parent), target) ||
          this.#names(parent, target.symbol),
      );
    cached.set(name, found);
    return found;
  }

  /** Returns true if a class names a type among what it extends and implements, whatever the type arguments. */
  #names(owner: Node, wanted: TsSymbol | undefined): boolean {
    if (!ts.isClassLike(owner) || wanted === undefined) return false;
    const bases = (owner.heritageClauses ?? []).flatMap(({ types }) => [...types]);
    return (
      this.typeAt(owner).symbol === wanted ||
      bases.some(({ expression }) => {
        const base = this.symbolAt(expression);
        const declarations = base === wanted ? [] : (base?.declarations ?? []);
        return (
          base === wanted ||
          declarations.some((each) => each !== owner && this.#names(each, wanted))
        );
      })
    );
  }
}

const TESTS = /(?:^|[\\/])(?:tests?|__tests__|specs?)[\\/]|\.(?:test|spec|bench)\.[cm]?[jt]sx?$/;

function isOwn(file: SourceFile): boolean {
  return !file.isDeclarationFile && !/[\\/]node_modules[\\/]/.test(file.fileName);
}

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function isMember(node: Node): node is Member {
  const { parent } = node;
  if (parent === undefined) return false;
  if (!ts.isClassLike(parent) && !ts.isObjectLiteralExpression(parent)) return false;
  return (
    (node as Partial<Member>).name !== undefined &&
    (parent as Node as Partial<Member>).name !== node
  );
}

/** Returns a property's name as code writes it: `save`, `#save`, or `[Symbol.iterator]`. */
export function memberName(name: Node): string {
  if (!ts.isComputedPropertyName(name)) return (name as Partial<Identifier>).text ?? '';
  return ts.isStringLiteralLike(name.expression)
    ? name.expression.text
    : `[${name.expression.getText()}]`;
}

export function isDeclarationName(node: Node): boolean {
  const { parent } = node;
  return (
    (parent as Partial<Member>).name === node &&
    !ts.isPropertyAccessExpression(parent) &&
    !ts.isShorthandPropertyAssignment(parent) &&
    !ts.isExportSpecifier(parent)
  );
}

/** Returns the property access that ends with a name, or the name itself. */
export function assignedTo(name: Node): Node {
  const { parent } = name;
  return ts.isPropertyAccessExpression(parent) && parent.name === name ? parent : name;
}

/** Returns the call of what a name stands for. */
export function callOf(name: Node): CallExpression | undefined {
  const target = assignedTo(name);
  const { parent } = target;
  return ts.isCallExpression(parent) && parent.expression === target ? parent : undefined;
}

export function isAssignment({ operatorToken: { kind } }: BinaryExpression) {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

/** Returns true for `=`, `??=`, `||=` and `&&=`, whose value is one of two expressions. */
function isPlainAssignment({ operatorToken }: BinaryExpression): boolean {
  return ['=', '??=', '||=', '&&='].includes(ts.tokenToString(operatorToken.kind) ?? '');
}

/** Returns true for `x++`, `--x` and `delete x`. */
export function isUpdated({ parent }: Node): boolean {
  if (ts.isDeleteExpression(parent)) return true;
  if (!ts.isPrefixUnaryExpression(parent) && !ts.isPostfixUnaryExpression(parent)) return false;
  const { operator } = parent;
  return operator === ts.SyntaxKind.PlusPlusToken || operator === ts.SyntaxKind.MinusMinusToken;
}

/** Returns true for a name that a destructuring assignment or a loop without `const` sets. */
function isPatternTarget(node: Node): boolean {
  for (let at = node; ; at = at.parent) {
    const { parent } = at;
    if (ts.isForOfStatement(parent) || ts.isForInStatement(parent))
      return parent.initializer === at;
    if (ts.isBinaryExpression(parent))
      return parent.left === at && at !== node && isAssignment(parent);
    const isPattern =
      ts.isObjectLiteralExpression(parent) ||
      ts.isArrayLiteralExpression(parent) ||
      ts.isSpreadElement(parent) ||
      ts.isShorthandPropertyAssignment(parent) ||
      (ts.isPropertyAssignment(parent) && parent.initializer === at);
    if (!isPattern) return false;
  }
}

const MUTATORS = /^(?:push|unshift|splice|fill|copyWithin|reverse|sort|pop|shift|set|append)$/;

/** Returns the change that one use of a variable makes inside its value. */
function changesAt(node: Identifier): readonly Change[] {
  const target = assignedTo(node);
  const access = target.parent;
  if (ts.isCallExpression(access) && access.arguments[0] === target)
    return /^Object\.(?:assign|definePropert)/.test(access.expression.getText()) ? [{}] : [];
  const isAccess =
    (ts.isPropertyAccessExpression(access) || ts.isElementAccessExpression(access)) &&
    access.expression === target;
  if (!isAccess) return [];
  const name = ts.isPropertyAccessExpression(access)
    ? access.name.text
    : ts.isStringLiteralLike(access.argumentExpression)
      ? access.argumentExpression.text
      : undefined;
  const { parent } = access;
  if (ts.isBinaryExpression(parent) && parent.left === access && isAssignment(parent))
    return [{ ...(name !== undefined && { name, value: parent.right }) }];
  if (isUpdated(access) || isPatternTarget(access)) return [{}];
  const isCalled = ts.isCallExpression(parent) && parent.expression === access;
  return isCalled && MUTATORS.test(name ?? '') ? [{ appends: name === 'push' }] : [];
}
