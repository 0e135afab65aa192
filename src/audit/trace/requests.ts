import { httpEffects } from '../known/http.js';
import { sqlEffects } from '../known/sql.js';
import { VALIDATORS, SQL, SQL_CALLS, TELEMETRY, argumentsOf } from './call-names.js';
import type { Machine, Place } from './machine.js';
import { LATER, chosen } from './started-programs.js';
import {
  DATA,
  HOLE,
  UNKNOWN,
  constant,
  deepTags,
  isPartial,
  join,
  options,
  tagsOf,
  textOf,
  textsOf,
  toPlain,
  type Obj,
  type Value,
} from './values.js';

/** A validator returns what it was given: the tool's arguments stay what they are. */
export function validated(
  m: Machine,
  name: string,
  args: readonly Value[],
  shape?: Obj,
): Value | undefined {
  const given = args.find(
    (arg) => arg.t === 'unknown' && arg.tags.some((tag) => tag.startsWith('arg:')),
  );
  const object =
    given ??
    args.find(
      (arg) =>
        arg.t === 'obj' &&
        arg.kind === 'object' &&
        deepTags(arg).some((tag) => tag.startsWith('arg:')),
    );
  if (
    object === undefined ||
    !VALIDATORS.has(name) ||
    (given === undefined && !name.toLowerCase().includes('parse'))
  )
    return undefined;
  const isRoot = object.t === 'unknown' && object.tags.includes('arg:');
  const parsed = shape !== undefined && isRoot ? argumentsOf(m, shape) : object;
  return name.startsWith('safe')
    ? m.object(
        'object',
        [],
        [
          ['success', DATA],
          ['data', parsed],
          ['error', DATA],
        ],
      )
    : name.startsWith('parse') || name === 'cast' || name === 'decode'
      ? parsed
      : undefined;
}

/** Records a request, with the method and the body that its settings give. Returns its answer. */
export function request(
  m: Machine,
  url: string,
  given: Value,
  call: string,
  place: Place,
  fallback: string,
): Value {
  if (TELEMETRY.test(url)) return DATA;
  const settings = options(given).filter((one): one is Obj => one.t === 'obj');
  const methodValue =
    settings.length === 0
      ? given.t === 'unknown'
        ? UNKNOWN
        : constant(fallback)
      : join(
          ...settings.map(
            (one) =>
              one.props.get('method') ??
              (one.rest === undefined && one.proto === undefined ? constant(fallback) : UNKNOWN),
          ),
        );
  const body =
    settings[0]?.props.get('body') ??
    settings[0]?.props.get('data') ??
    settings[0]?.props.get('json');
  const target =
    url === 'undefined' || url === ''
      ? undefined
      : url.includes(HOLE) && url.replaceAll(HOLE, '').length === 0
        ? undefined
        : url.replaceAll(HOLE, 'x');
  const address =
    target ??
    (settings[0]?.props.get('url') === undefined
      ? undefined
      : textOf(settings[0].props.get('url') as Value).replaceAll(HOLE, 'x'));
  const methods = options(methodValue);
  for (const one of methods) {
    const method =
      one.t === 'const' && typeof one.v === 'string' && !isPartial(one)
        ? one.v.toUpperCase()
        : one.t === 'const' && one.v === undefined
          ? fallback
          : undefined;
    const tags = tagsOf(methodValue).filter((tag) => tag.startsWith('arg:'));
    m.under(
      methods.length > 1
        ? { tags, special: true, kind: tags.length > 0 ? 'test' : 'later' }
        : undefined,
      () => {
        for (const effect of httpEffects(
          method,
          address,
          body === undefined ? undefined : toPlain(body),
        ))
          m.record({ ...effect, call: effect.call === '' ? call : effect.call }, place);
      },
    );
  }
  return DATA;
}

/** Records what a method does that takes SQL; `database` where its receiver is known to be one. Returns true when it was one. */
export function runSql(
  m: Machine,
  name: string,
  args: readonly Value[],
  place: Place,
  database = false,
): boolean {
  if (!SQL_CALLS.has(name)) return false;
  const first =
    args[0]?.t === 'obj'
      ? (args[0].props.get('text') ??
        args[0].props.get('sql') ??
        args[0].props.get('query') ??
        args[0])
      : args[0];
  const texts = first === undefined ? [] : textsOf(first).filter((text) => SQL.test(text));
  for (const text of texts)
    for (const effect of sqlEffects(text.replaceAll(HOLE, '?')))
      m.under(texts.length > 1 ? LATER : undefined, () => m.record(effect, place));
  if (texts.some((text) => /read\s+only|query_only/iu.test(text))) m.readOnlyData = true;
  if (texts.length === 0 && database && first !== undefined && !m.readOnlyData)
    for (const effect of sqlEffects(undefined))
      if (!chosen(m, effect, tagsOf(first), place)) m.record(effect, place);
  return texts.length > 0 || database;
}
