import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import type { CallRecord, OpenTurn } from '../chat-state.js';
import type { SessionData } from './session-data.js';

const plain = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
const anObject = z.custom<object>(isPlainObject, { error: 'an object' });
const position = z.number().int().min(0);
/** A list as it was up to a position, and what follows there now. */
const tail = z.strictObject({ from: position, items: z.array(anObject) });

/**
 * What one checkpoint changed; what is missing stayed as it was.
 *
 * Only the shape is declared here: what the changes come to is checked as a snapshot.
 */
const deltaSchema = z.strictObject({
  rev: z.number().int().min(0),
  storeIdentity: z.string().optional(),
  messages: tail.optional(),
  /** `null`: the open turn was closed. */
  openTurn: anObject.nullable().optional(),
  /** Of calls of the open turn, by their position. */
  calls: z.array(z.tuple([position, plain])).optional(),
  turnEnd: anObject.optional(),
  /** `null`: the session goes on. */
  end: anObject.nullable().optional(),
  offered: z.array(anObject).optional(),
  resolutions: tail.optional(),
});

type Tail = z.output<typeof tail>;
export type SessionDelta = z.output<typeof deltaSchema>;

/**
 * What changed between two states of one session, found by comparing references: data is frozen, so what is the same
 * object is the same data.
 */
export function deltaOf({ chat: before, resolutions, storeIdentity: store }: SessionData, { rev, chat, resolutions: decided, storeIdentity }: SessionData): SessionDelta {
  return {
    rev,
    ...(storeIdentity !== undefined && storeIdentity !== store && { storeIdentity }),
    ...(chat.messages !== before.messages && { messages: tailOf(before.messages, chat.messages) }),
    ...(chat.openTurn !== before.openTurn && turnDelta(before.openTurn, chat.openTurn)),
    ...(chat.end !== before.end && { end: chat.end ?? null }),
    ...(chat.offered !== before.offered && { offered: [...chat.offered] }),
    ...(decided !== resolutions && { resolutions: tailOf(resolutions, decided) }),
  };
}

function tailOf(before: readonly object[], after: readonly object[]): Tail {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  return { from, items: after.slice(from) };
}

function turnDelta(before: OpenTurn | undefined, after: OpenTurn | undefined): Partial<SessionDelta> {
  if (before === undefined || after === undefined || before.message !== after.message || before.tools !== after.tools || before.index !== after.index || (before.end !== undefined && after.end === undefined)) return { openTurn: after ?? null };
  const calls = after.calls.flatMap(({ progress }, at): [number, CallRecord['progress']][] => (after.calls[at] === before.calls[at] ? [] : [[at, progress]]));
  return { ...(calls.length > 0 && { calls: calls as unknown as [number, Json][] }), ...(after.end !== before.end && { turnEnd: after.end! }) };
}

/**
 * Brings the JSON of a snapshot, which is the reader's own and is changed, up to a delta.
 *
 * @throws ToolError `INVALID_SNAPSHOT` for what is no delta of this snapshot.
 */
export function applyDelta(snapshot: Record<string, unknown>, given: unknown): void {
  if (!deltaSchema.safeParse(given).success) throw misfit('changes of a session');
  // What was checked, and not zod's copy: that loses keys called `__proto__`, which arguments may have.
  const { rev, storeIdentity, messages, openTurn, calls = [], turnEnd, end, offered, resolutions } = given as SessionDelta;
  if (rev < Number(snapshot['rev'])) throw misfit('changes in the order in which they were made');
  snapshot['rev'] = rev;
  if (storeIdentity !== undefined) snapshot['storeIdentity'] = storeIdentity;
  if (messages !== undefined) replaceTail(snapshot['messages'], messages);
  if (resolutions !== undefined) replaceTail(snapshot['resolutions'], resolutions);
  if (offered !== undefined) snapshot['offered'] = offered;
  putOrRemove(snapshot, 'openTurn', openTurn);
  putOrRemove(snapshot, 'end', end);
  const turn = snapshot['openTurn'] as { calls: Record<string, unknown>[]; end?: unknown } | undefined;
  for (const [at, progress] of calls) {
    const call = turn?.calls?.[at];
    if (call === undefined) throw misfit('changes of calls that the session has');
    call['progress'] = progress;
  }
  if (turnEnd === undefined) return;
  if (turn === undefined) throw misfit('the end of a turn that is open');
  turn.end = turnEnd;
}

function replaceTail(list: unknown, { from, items }: Tail): void {
  if (!Array.isArray(list) || from > list.length) throw misfit('changes of a list that the session has');
  list.length = from;
  for (const item of items) list.push(item);
}

function putOrRemove(snapshot: Record<string, unknown>, field: string, value: object | null | undefined): void {
  if (value === null) delete snapshot[field];
  else if (value !== undefined) snapshot[field] = value;
}

function misfit(expected: string): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `The log of the session is refused: expected ${expected}, got others. It was changed by something else.`);
}
