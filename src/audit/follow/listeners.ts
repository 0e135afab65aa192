import type { Node } from 'typescript';
import { callOf } from '../code/code.js';
import { ts } from '../code/typescript.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import { HOLE, type OutsideValue, textsOf, type Values } from '../evaluate/values.js';
import { callNameOf } from '../known/known-calls.js';

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
  readonly functions: Values;
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
  if (!isEmitter || !EMITS.test(callNameOf(callee))) return undefined;
  const events = textsOf(given[0] ?? []);
  const source = emitterIn(callee.self ?? []);
  const functions = LISTENS.flatMap((name) => evaluator.code.identifiersNamed(name)).flatMap(
    (node): Values => {
      const call = callOf(node);
      const access = call?.expression;
      if (call === undefined || access !== node.parent || !ts.isPropertyAccessExpression(access))
        return [];
      const scope = evaluator.scopeOf(call);
      const [first = [], ...more] = evaluator.args(call, scope);
      const at = emitterIn(evaluator.evaluate(access.expression, scope));
      const isOther = at !== undefined && source !== undefined && at !== source;
      const isOfAll = more.length === 0 || node.text === 'onAny';
      return isOther || !(isOfAll || overlap(textsOf(first), events))
        ? []
        : [...first, ...more.flat()];
    },
  );
  return {
    functions: functions.filter((each) => each.is === 'function' || each.is === 'object'),
    isAll: source !== undefined,
  };
}

/** Returns the code that made an emitter, or undefined if the code doesn't show which emitter it is. */
function emitterIn([value, ...more]: Values): Node | undefined {
  if (more.length > 0 || value === undefined) return undefined;
  if (value.is === 'outside') return value.made;
  return value.is === 'instance' ? value.node : undefined;
}

function overlap(heard: readonly string[], events: readonly string[]): boolean {
  const isOpen = (text: string) => text.includes(HOLE) || text === '*';
  return heard.some((text) => isOpen(text) || events.includes(text)) || events.some(isOpen);
}
