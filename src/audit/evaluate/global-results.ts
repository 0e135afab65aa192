import type { Expression } from 'typescript';
import { onlyText, type Members } from './members.js';
import {
  HOLE,
  listValue,
  literal,
  MANY,
  NOTHING,
  outside,
  UNKNOWN,
  type Scope,
  type OutsideValue,
  type Value,
  textsOf,
  type Values,
} from './values.js';

/**
 * Returns the results of the language's own functions that pass values on, and `undefined` for all
 * other functions.
 */
export function resultOfGlobal(
  evaluator: Members,
  callee: OutsideValue,
  args: readonly Values[],
  node: Expression,
  env: Scope,
): Values | undefined {
  const [first = []] = args;
  const self = callee.self ?? [];
  const name =
    callee.pkg === 'global'
      ? callee.path.slice(-2).join('.')
      : `${callee.pkg}.${callee.path.at(-1) ?? ''}`;
  switch (name) {
    case 'PromiseConstructor.resolve':
      return args.length === 0 ? [NOTHING] : first;
    case 'ObjectConstructor.defineProperty':
    case 'ObjectConstructor.defineProperties':
      return [outside('global', [...callee.path, '()'], env.kept, { args: args.slice(1) })];
    case 'util.promisify':
    case 'PromiseConstructor.all':
    case 'ObjectConstructor.freeze':
    case 'ObjectConstructor.seal':
    case 'JSON.stringify':
      return first;
    case 'ObjectConstructor.assign':
      return first.map((each) =>
        each.is === 'object' ? { ...each, changes: [{}], changedIn: env } : each,
      );
    case 'Promise.catch':
    case 'Promise.finally':
      return self;
    default:
      return (
        resultOfCalling(evaluator, name, self, args, node, env) ??
        resultOfList(evaluator, name, self, first, env) ??
        resultOfText(evaluator, name, self, args)
      );
  }
}

/** Returns the results of functions that call other functions. */
function resultOfCalling(
  evaluator: Members,
  name: string,
  self: Values,
  args: readonly Values[],
  node: Expression,
  env: Scope,
): Values | undefined {
  const [first = [], second = []] = args;
  const called = (functions: Values, given: readonly Values[]) =>
    functions.flatMap((each) => evaluator.result(each, given, node, env));
  const withThis = () => self.map((each) => withSelf(each, first));
  switch (name) {
    case 'CallableFunction.bind':
    case 'Function.bind':
      return self.map((each) => bind(each, args));
    case 'CallableFunction.call':
    case 'Function.call':
      return called(withThis(), args.slice(1));
    case 'CallableFunction.apply':
    case 'Function.apply':
      return called(withThis(), evaluator.items(second) ?? []);
    case 'Promise.then':
      return called(first, [self]);
    case 'Array.map':
    case 'ReadonlyArray.map': {
      const items = evaluator.items(self);
      const results = (items ?? [evaluator.elements(self)]).map((item) => called(first, [item]));
      return [listValue(items === undefined ? [[MANY], ...results] : results, env.kept)];
    }
    default:
      return undefined;
  }
}

function resultOfList(
  evaluator: Members,
  name: string,
  self: Values,
  first: Values,
  env: Scope,
): Values | undefined {
  switch (name) {
    case 'Array.filter':
    case 'ReadonlyArray.filter':
    case 'Array.slice':
      return [listValue([[MANY], evaluator.elements(self)], env.kept)];
    case 'ObjectConstructor.values':
      return [listValue([[MANY], first.flatMap((each) => evaluator.anyOf(each))], env.kept)];
    default:
      return undefined;
  }
}

function resultOfText(
  evaluator: Members,
  name: string,
  self: Values,
  args: readonly Values[],
): Values | undefined {
  const [first = []] = args;
  switch (name) {
    case 'String.toUpperCase':
    case 'String.toLowerCase':
    case 'String.trim': {
      const method = name.slice('String.'.length) as 'trim';
      return textsOf(self).map((text) => literal(text.includes(HOLE) ? HOLE : text[method]()));
    }
    case 'Array.join':
      return [literal(evaluator.words(self).join(args.length === 0 ? ',' : onlyText(first)))];
    case 'path.join':
    case 'path.resolve':
      return [literal(args.map((each) => onlyText(each)).join('/'))];
    case 'os.tmpdir':
      return [literal('/tmp')];
    case 'fs.mkdtemp':
    case 'fs.mkdtempSync':
      return [literal(`${onlyText(first)}${HOLE}`)];
    default:
      return undefined;
  }
}

export function bind(value: Value, args: readonly Values[]): Value {
  const [self, ...first] = args;
  if (value.is === 'function') return { ...value, ...(self && { self }), first };
  return value.is === 'outside' ? { ...value, args: first } : UNKNOWN;
}

export function withSelf(value: Value, self: Values): Value {
  return value.is === 'function' ? { ...value, self } : value;
}
