import { httpEffects } from '../known/http.js';
import { sqlEffects } from '../known/sql.js';
import { VALIDATORS, SQL, SQL_CALLS, TELEMETRY } from './call-names.js';
import { PERHAPS, type Machine } from './machine.js';
import { chosen } from './started-programs.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  argumentsIn,
  constant,
  deepTags,
  isPartial,
  join,
  options,
  tagsOf,
  textOf,
  textsOf,
  toPlain,
  unknown,
  withTags,
  type Obj,
  type Place,
  type Value,
} from './values.js';

/** Returns the tool's arguments as described by a schema, with defaults and required fields. */
export function argumentsOf(m: Machine, shape: Obj): Value {
  const object = m.object();
  object.rest = unknown(['arg:']);
  for (const [key, field] of shape.props) {
    const tags = [`arg:${key}`];
    const usual = field.t === 'external' ? field.fallback : undefined;
    if (field.t === 'external' && field.optional !== true) m.run.required.add(key);
    const given = unknown(tags);
    object.props.set(key, usual?.t === 'const' ? join(given, withTags(usual, tags)) : given);
  }
  return object;
}

/**
 * Calls a validator. The result contains the validator's input unchanged, so the tool's arguments
 * are still recognized.
 */
export function validated(
  m: Machine,
  name: string,
  args: readonly Value[],
  shape?: Obj,
): Value | undefined {
  if (!VALIDATORS.test(name)) return undefined;
  const isGiven = (arg: Value): boolean => deepTags(arg).some((tag) => tag.startsWith('arg:'));
  const object =
    args.find((arg) => arg.t === 'unknown' && isGiven(arg)) ??
    args.find((arg) => arg.t === 'obj' && /parse/iu.test(name) && isGiven(arg));
  if (object === undefined) return undefined;
  const isRoot = object.t === 'unknown' && object.tags.includes('arg:');
  const data = shape !== undefined && isRoot ? argumentsOf(m, shape) : object;
  if (name.startsWith('safe'))
    return m.object([
      ['success', DATA],
      ['data', data],
      ['error', DATA],
    ]);
  return /^(?:parse|cast|decode)/u.test(name) ? data : undefined;
}

/** Records a request whose options contain the method and body. Returns the response. */
export function request(m: Machine, url: string, given: Value, call: string, place: Place): Value {
  if (TELEMETRY.test(url)) return DATA;
  const settings = options(given).filter((one): one is Obj => one.t === 'obj');
  const [first] = settings;
  const get = constant('GET');
  const field = (...keys: readonly string[]): Value | undefined =>
    keys.map((key) => first?.props.get(key)).find((one) => one !== undefined);
  const methodOf = ({ props, proto, rest }: Obj): Value =>
    props.get('method') ?? (rest === undefined && proto === undefined ? get : UNKNOWN);
  const open = options(given).filter((one) => one.t === 'unknown');
  const method =
    settings.length + open.length === 0
      ? get
      : join(...settings.map(methodOf), ...open.map((one) => unknown(tagsOf(one))));
  const body = field('body', 'data', 'json');
  const isNamed = url !== 'undefined' && url.replaceAll(HOLE, '') !== '';
  const address = isNamed ? url : textOf(field('url') ?? UNDEFINED);
  const tags = argumentsIn(tagsOf(method));
  const methods = options(method);
  for (const one of methods) {
    const text =
      one.t === 'const' && !isPartial(one) ? String(one.v ?? 'GET').toUpperCase() : undefined;
    const effects = httpEffects(
      text,
      address === 'undefined' ? undefined : address.replaceAll(HOLE, 'x'),
      body === undefined ? undefined : toPlain(body),
    );
    m.under(
      methods.length > 1
        ? tags.length > 0
          ? { tags, special: true, kind: 'test' }
          : PERHAPS
        : undefined,
      () => {
        for (const effect of effects) m.record({ ...effect, call: effect.call || call }, place);
      },
    );
  }
  return DATA;
}

/**
 * Records the effect of a method that takes SQL. `database` is true if the receiver is certainly a
 * database. Returns true if the argument was SQL.
 */
export function runSql(
  m: Machine,
  name: string,
  args: readonly Value[],
  place: Place,
  database = false,
): boolean {
  if (!SQL_CALLS.test(name)) return false;
  const [given = UNDEFINED] = args;
  const fields =
    given.t === 'obj' ? ['text', 'sql', 'query'].map((key) => given.props.get(key)) : [];
  const first = fields.find((one) => one !== undefined) ?? given;
  const texts = textsOf(first).filter((text) => SQL.test(text));
  for (const text of texts)
    for (const effect of sqlEffects(text.replaceAll(HOLE, '?')))
      m.under(texts.length > 1 ? PERHAPS : undefined, () => m.record(effect, place));
  if (texts.some((text) => /read\s+only|query_only/iu.test(text))) m.readOnlyData = true;
  if (texts.length === 0 && database && args.length > 0 && !m.readOnlyData)
    for (const effect of sqlEffects(undefined))
      if (!chosen(m, effect, tagsOf(first), place)) m.record(effect, place);
  return texts.length > 0 || database;
}
