/** Returns the words of a list that is separated by white space. */
export const wordsIn = (list: string): readonly string[] => list.trim().split(/\s+/);

/** Returns the words of a name: `findOrCreate` → `find`, `or`, `create`. */
function wordsOfName(name: string): readonly string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
}

const READ_VERBS = new Set(
  wordsIn(`get list find search query read fetch describe count lookup retrieve show view check has is
    exists scan select aggregate explain inspect resolve validate verify parse status stat stats head peek browse
    compare preview estimate download info whoami paginate iterate estimated distinct page history me batch`),
);
const ADD_VERBS = new Set(
  wordsIn(`create insert append post send publish upload import submit invite fork clone comment reply
    register subscribe enqueue schedule trigger star follow attach add push start run invoke`),
);
const DELETE_VERBS = new Set(
  wordsIn(`delete remove drop destroy truncate purge prune clear erase wipe revoke cancel terminate kill
    abort stop shutdown uninstall unregister unsubscribe archive trash del flush empty rm rmdir unlink`),
);
const CHANGE_VERBS = new Set(
  wordsIn(`update upsert put patch replace rename move edit modify change merge reset rollback overwrite
    copy set save write restore enable disable restart reboot approve reject reopen assign unassign lock unlock
    grant deny deploy promote resize scale pause resume commit tag label transfer mark toggle bulk sync install pay
    refund capture charge increment decrement close open finalize void confirm retry`),
);
const AND_WRITES =
  /(?:And|Or)(?:Update|Upsert|Delete|Replace|Remove|Modify|Create|Insert|Save)(?=[A-Z]|$)/;

interface Verb {
  readonly access: 'read' | 'write';
  readonly deletes?: boolean;
}

/** Returns what the verb at the start of a method's name says, or undefined if it says nothing. */
export function verbOf(name: string): Verb | undefined {
  const [verb = '', next = ''] = wordsOfName(name);
  if (AND_WRITES.test(name))
    return { access: 'write', ...(/Delete|Remove/.test(name) && { deletes: true }) };
  if (verb === 'batch' && next !== '') return verbOf(name.slice(5));
  if (READ_VERBS.has(verb)) return { access: 'read' };
  if (DELETE_VERBS.has(verb)) return { access: 'write', deletes: true };
  return ADD_VERBS.has(verb) || CHANGE_VERBS.has(verb) ? { access: 'write' } : undefined;
}

/** Returns true for the name of a call that adds something each time, such as `sendMail`. */
export function addsOf(name: string): boolean {
  return ADD_VERBS.has(wordsOfName(name)[0] ?? '');
}
