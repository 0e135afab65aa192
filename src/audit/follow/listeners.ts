import type { CallExpression } from 'typescript';
import { ts } from '../code/typescript.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import {
  HOLE,
  keyOf,
  type OutsideValue,
  type Value,
  textsOf,
  type Values,
} from '../evaluate/values.js';
import { nameOf } from '../known/known-calls.js';

const EMITTERS =
  /^(?:events|eventemitter3|mitt|nanoevents|emittery|rxjs|eventemitter2|@nestjs\/event-emitter|tseep)$/;
const EMITS = /^(?:emit|emitAsync|emitSerial|next|dispatchEvent|error|complete)$/;
const LISTENS = [
  'on',
  'once',
  'addListener',
  'prependListener',
  'subscribe',
  'addEventListener',
  'onAny',
];

/** Functions that a call of `emit` runs. */
interface Heard {
  readonly functions: readonly Value[];
  /** False if there may be other listeners. */
  readonly isAll: boolean;
}

/** Returns the listeners that a call runs, or undefined if the call emits nothing. */
export function listenersOf(
  evaluator: Evaluator,
  callee: OutsideValue,
  given: readonly Values[],
): Heard | undefined {
  const isEmitter =
    EMITTERS.test(callee.pkg) ||
    /^(?:EventEmitter|NodeEventTarget|EventTarget)$/.test(callee.path.at(-2) ?? '');
  if (!isEmitter || !EMITS.test(nameOf(callee))) return undefined;
  const events = textsOf(given[0] ?? []);
  const source = identityOf(callee.self ?? []);
  const functions: Value[] = [];
  let isAll = source !== undefined;
  for (const name of LISTENS)
    for (const node of evaluator.code.identifiersNamed(name)) {
      const call = node.parent.parent;
      if (!ts.isPropertyAccessExpression(node.parent) || !ts.isCallExpression(call)) continue;
      const at = identityOf(
        evaluator.evaluate(node.parent.expression, evaluator.scopeOf(call, evaluator.envs.top)),
      );
      if (
        (at !== undefined && source !== undefined && at !== source) ||
        !hears(evaluator, call, name, events)
      )
        continue;
      if (at === undefined && source === undefined) isAll = false;
      functions.push(
        ...call.arguments.flatMap((each) =>
          evaluator.evaluate(each, evaluator.scopeOf(call, evaluator.envs.top)),
        ),
      );
    }
  return {
    functions: functions.filter((each) => each.is === 'function' || each.is === 'object'),
    isAll,
  };
}

/** Returns a text that tells one emitter from others, or undefined if the code doesn't show which one it is. */
function identityOf(values: Values): string | undefined {
  const [value, ...more] = values;
  if (more.length > 0 || value === undefined) return undefined;
  if (value.is === 'instance')
    return `instance ${value.node.pos} ${value.node.getSourceFile().fileName}`;
  return value.is === 'outside' && value.made !== undefined
    ? keyOf({ is: 'outside', pkg: '', path: [], kept: true, made: value.made })
    : undefined;
}

function hears(
  evaluator: Evaluator,
  call: CallExpression,
  name: string,
  events: readonly string[],
): boolean {
  const [first] = call.arguments;
  if (name === 'subscribe' || name === 'onAny' || first === undefined) return true;
  const heard = textsOf(evaluator.evaluate(first, evaluator.scopeOf(call, evaluator.envs.top)));
  const isOpen = [...heard, ...events].some((text) => text.includes(HOLE) || text === '*');
  return isOpen || heard.some((text) => events.includes(text));
}
