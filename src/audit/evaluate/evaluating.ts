import type {
  CallExpression,
  Declaration,
  Expression,
  NewExpression,
  Node,
  ParameterDeclaration,
  SignatureDeclaration,
  Type,
  TypeNode,
} from 'typescript';
import type { Code } from '../code/code.js';
import type { AnyValue, Env, Environments, FunctionValue, Value, Values } from './values.js';

export type Flags = Pick<AnyValue, 'kept' | 'input'>;
export type Call = CallExpression | NewExpression;

/** The parts of the evaluator that members and the language's own functions need. */
export interface Evaluating {
  readonly code: Code;
  readonly envs: Environments;
  evaluate(node: Expression, env: Env): Values;
  declared(node: Declaration, env: Env): Values;
  parameter(node: ParameterDeclaration, scope: Env): Values;
  annotated(node: { readonly type?: TypeNode | undefined }, flags: Flags): Values | undefined;
  args(node: Call, env: Env): readonly Values[];
  result(callee: Value, args: readonly Values[], node: Expression, env: Env): Values;
  returned(callee: FunctionValue, args: readonly Values[], env: Pick<Env, 'kept'>): Values;
  activation(callee: FunctionValue, args: readonly Values[] | undefined, kept: boolean): Env;
  closure(node: SignatureDeclaration, env: Env, self?: Values): FunctionValue;
  scopeOf(node: Node, env: Env, kept?: boolean): Env;
  typeAt(node: Node): Type;
  typed(values: Values, node: Node): Values;
  ofType(type: Type, flags: Flags): Values;
}
