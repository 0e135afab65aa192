import type { CallEffect } from '../effect.js';
import { undecided, type AuditKnowledge } from '../known/known-value.js';
import { programEffects } from '../known/programs.js';
import { ELSEWHERE_PROGRAMS, readable } from './call-names.js';
import { PERHAPS, type Machine } from './machine.js';
import { isSure } from './uncertain-words.js';
import {
  HOLE,
  UNDEFINED,
  argumentsIn,
  isPartial,
  options,
  tagsOf,
  textOf,
  textsOf,
  truth,
  type Obj,
  type Place,
  type Tags,
  type Value,
} from './values.js';

/** Returns the name of the program in a path, even if its folder is unknown. */
const programName = (text: string): string =>
  readable(/[\\/][\w.-]+$/u.exec(text)?.[0].slice(1) ?? text) ?? '(unknown)';
const isSet = (settings: Value, key: string): boolean => {
  const value = settings.t === 'obj' ? settings.props.get(key) : undefined;
  return value !== undefined && truth(value) !== false;
};

/**
 * Records the effect of starting a program with `child_process` or a similar package. `name` is the
 * name of the called function.
 */
export function startProgram(
  m: Machine,
  known: AuditKnowledge | undefined,
  name: string,
  [first = UNDEFINED, second = UNDEFINED, third]: readonly Value[],
  place: Place,
): void {
  const isList = (one: Value): one is Obj => one.t === 'obj' && one.kind === 'array';
  const lists = options(second).filter(isList);
  const either = options(second).filter((one) => isList(one) || one.t === 'unknown');
  if (lists.length > 0 && either.length > 1) {
    const rest = third === undefined ? [] : [third];
    for (const words of either)
      m.under(PERHAPS, () => startProgram(m, known, name, [first, words, ...rest], place));
    return;
  }
  const [list] = lists;
  const settings = list === undefined ? second : (third ?? UNDEFINED);
  const inShell = /^exec(?:Sync)?$/u.test(name) || (list === undefined && isSet(settings, 'shell'));
  const isOpen = list === undefined && second.t !== 'obj' && second !== UNDEFINED;
  const words = isOpen
    ? [undefined]
    : (list?.items ?? []).map((item) =>
        item.t === 'const' && typeof item.v === 'string' && !isPartial(item) ? item.v : undefined,
      );
  const sure = words.filter(
    (_, index) => !list?.items[index] || isSure(list.items[index], m.conditions),
  );
  // Paths in different folders lead to the same program, so only the name matters.
  const named = new Map(textsOf(first).map((text) => [programName(text), text]));
  if (named.size > 1 && argumentsIn(tagsOf(first)).length === 0) named.delete('(unknown)');
  const programs = inShell ? textsOf(first) : [...named.values()];
  const effectsOf = (program: string, words: readonly (string | undefined)[]) =>
    name === 'fork'
      ? programEffects('node', [readable(program), ...words], known)
      : inShell
        ? programEffects('sh', ['-c', program.replaceAll(HOLE, '$unknown')], known)
        : programEffects(programName(program), words, known);
  // A word such as `--dry-run` may be in the list only sometimes. Without that word, the program
  // may do more.
  const possibleEffects = (program: string): readonly CallEffect[] => {
    const effects = effectsOf(program, words);
    const onlyReads = effects.every(({ access }) => access === 'read');
    return onlyReads && sure.length < words.length
      ? [...effects, ...effectsOf(program, sure)]
      : effects;
  };
  const started = undecided('process-spawn', `child_process.${name}`);
  // A path from an environment variable usually leads to the same program.
  const isAny =
    programs.length === 0 ||
    options(first).some(
      (one) => one.t === 'unknown' && !one.tags.every((tag) => tag.startsWith('env:')),
    );
  if (isAny && !chosen(m, started, tagsOf(first), place)) m.record(started, place);
  const decides = programs.some(
    (program) => programName(program) === '(unknown)' || (inShell && program.startsWith(HOLE)),
  )
    ? first
    : !inShell && words.length > 0 && words[0] === undefined
      ? (list?.items[0] ?? UNDEFINED)
      : UNDEFINED;
  const temporary = list?.items.find((item) => tagsOf(item).includes('tmp'));
  for (const program of programs)
    for (const effect of possibleEffects(program)) {
      // A command such as `kubectl delete -f` may only read the temporary file.
      const isOfFile =
        temporary !== undefined &&
        (effect.kind === 'fs-write' || !ELSEWHERE_PROGRAMS.test(effect.call));
      if (effect.access !== 'read' && isSet(settings, 'detached'))
        m.record({ ...effect, access: 'write', destructive: false, idempotent: false }, place);
      else if (!chosen(m, effect, tagsOf(decides), place))
        m.under(programs.length > 1 ? PERHAPS : undefined, () =>
          m.record(effect, place, isOfFile ? { temporary: textOf(temporary) } : {}),
        );
    }
}

/**
 * Records an unknown effect if one of the tool's arguments determines it, such as an argument with
 * the text of a command. The call may then do anything.
 */
export function chosen(m: Machine, effect: CallEffect, tags: Tags, place: Place): boolean {
  const open = argumentsIn(tags);
  if (
    effect.access !== 'unknown' ||
    open.length === 0 ||
    m.conditions.some((condition) => condition.tags.some((tag) => open.includes(tag)))
  )
    return false;
  m.under({ tags: open, special: true, kind: 'test' }, () =>
    m.record({ ...effect, access: 'write' }, place),
  );
  return true;
}
