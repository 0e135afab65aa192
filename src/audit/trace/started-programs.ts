import type { CallEffect } from '../effect.js';
import type { AuditKnowledge } from '../known/known-value.js';
import { programEffects } from '../known/programs.js';
import { ELSEWHERE_PROGRAMS, holesAsWords, programName, readable } from './call-names.js';
import type { Condition, Machine, Place } from './machine.js';
import {
  HOLE,
  UNDEFINED,
  options,
  tagsOf,
  textOf,
  textsOf,
  truth,
  type Obj,
  type Value,
} from './values.js';

/** One of several alternatives, of which it is not known which is taken. */
export const LATER: Condition = { tags: [], special: false, kind: 'later' };

/** Records what starting a program does, by `child_process` or a package like it: `name` is the function that starts it. */
export function startProgram(
  m: Machine,
  known: AuditKnowledge | undefined,
  name: string,
  args: readonly Value[],
  place: Place,
): void {
  const [first = UNDEFINED, second = UNDEFINED, third] = args;
  const lists = options(second).filter(
    (one): one is Obj => one.t === 'obj' && one.kind === 'array',
  );
  const run = (one: Obj): void =>
    startProgram(m, known, name, [first, one, ...(third === undefined ? [] : [third])], place);
  if (lists.length > 1) {
    for (const one of lists) m.under(LATER, () => run(one));
    return;
  }
  const [list] = lists;
  const given = list === undefined ? second : (third ?? UNDEFINED);
  const shell = name.startsWith('exec') && !name.startsWith('execFile');
  const inShell =
    given.t === 'obj' &&
    given.props.has('shell') &&
    truth(given.props.get('shell') as Value) !== false;
  const words = (list?.items ?? []).map((item) =>
    item.t === 'const' && typeof item.v === 'string' ? readable(item.v) : undefined,
  );
  const rest =
    list === undefined && !shell && second.t !== 'obj' && second !== UNDEFINED
      ? [undefined]
      : words;
  const all = textsOf(first);
  // Another path to it, as from a variable, leads to the same program.
  const named =
    shell || tagsOf(first).some((tag) => tag.startsWith('arg:'))
      ? []
      : all.filter((text) => readable(programName(text)) !== undefined);
  const nameOf = (text: string): string => readable(programName(text)) ?? '(unknown)';
  const programs = shell
    ? all
    : [...new Map((named.length > 0 ? named : all).map((text) => [nameOf(text), text])).values()];
  const effects = (program: string): readonly CallEffect[] =>
    name === 'fork'
      ? programEffects('node', [readable(program), ...rest], known)
      : shell || (inShell && list === undefined)
        ? programEffects('sh', ['-c', holesAsWords(program)], known)
        : programEffects(nameOf(program), rest, known);
  const started: CallEffect = {
    kind: 'process-spawn',
    access: 'unknown',
    destructive: null,
    idempotent: null,
    call: `child_process.${name}`,
  };
  if (programs.length === 0 && !chosen(m, started, tagsOf(first), place)) m.record(started, place);
  const detached =
    given.t === 'obj' &&
    given.props.has('detached') &&
    truth(given.props.get('detached') as Value) !== false;
  const choice = programs.some((program) => programName(program).startsWith(HOLE))
    ? tagsOf(first)
    : !shell && rest.length > 0 && rest[0] === undefined
      ? tagsOf(list?.items[0] ?? UNDEFINED)
      : [];
  for (const program of programs) {
    for (const effect of effects(program)) {
      const temporary = list?.items.find((item) => tagsOf(item).includes('tmp'));
      // What a program does by a temporary file, as `kubectl delete -f`, is no change of that file.
      const more =
        temporary === undefined ||
        (ELSEWHERE_PROGRAMS.test(effect.call) && effect.kind !== 'fs-write')
          ? {}
          : { temporary: textOf(temporary) };
      if (effect.access !== 'read' && detached)
        m.record({ ...effect, access: 'write', destructive: false, idempotent: false }, place);
      else if (!chosen(m, effect, choice, place))
        m.under(programs.length > 1 ? LATER : undefined, () => m.record(effect, place, more));
    }
  }
}

/** Records what the tool's argument itself decides, as the text of a command: it may be anything. */
export function chosen(
  m: Machine,
  effect: CallEffect,
  tags: readonly string[],
  place: Place,
): boolean {
  const open = tags.filter((tag) => tag.startsWith('arg:') && tag.length > 4);
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
