import { beforeAll, expect, it } from 'vitest';
import { Session } from '../../src/chat.js';
import { call, codeOfThrown, newCase } from './session-cases.js';
import type { Kind } from './session-world.js';

type Data = Record<string, unknown>;

/** A snapshot that these tests can edit. */
interface Editable {
  id: string;
  messages: { content: unknown[] }[];
  openTurn: {
    message: { content: string | { toolCallId: string }[] };
    calls: {
      callId: string;
      toolName: string;
      input: Data;
      progress: { state: string; output?: unknown; startedAt?: number; pending?: Data };
    }[];
    tools: unknown[];
    end?: unknown;
  };
  end?: unknown;
  resolutions: { callId: string; digest: string }[];
}

const KEY = new Uint8Array(32).fill(1);
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const codeOf = (snapshot: unknown, options = {}): string =>
  codeOfThrown(() => Session.fromJSON(snapshot, options));

/** Returns a session with every kind of record. */
async function rich(): Promise<Session> {
  const kinds: readonly Kind[] = [
    'auto',
    'manual',
    'ask',
    'choose',
    'pay',
    'pay',
    'fail',
    'pay',
    'slow',
    'halt',
  ];
  const { engine } = newCase(
    [
      { text: 'First', calls: [call('a', 'manual'), call('b', 'auto')] },
      { calls: kinds.map((kind, at) => call(`c${at}`, kind)) },
    ],
    {},
  );
  let last: Session | undefined;
  const { session } = await Session.create({
    id: 's',
    context: { user: 'ada', tags: ['x', null, 1.5, true] },
  }).start(engine, 'Go');
  const onCheckpoint = (each: Session) => {
    const started = each.pending.some(
      ({ kind, callId }) => kind === 'uncertain' && callId === 'c8',
    );
    if (started) last = each;
  };
  await session.submitToolResult('a', 1).session.continue(engine, { onCheckpoint });
  const decided = last!
    .approve('c5')
    .session.approve('c7', { input: { of: 'c7', amount: 5 } }).session;
  return decided;
}

let whole: Data;
beforeAll(async () => {
  whole = copy((await rich()).toJSON());
});

/** Yields every path in some data, with the value at that path. */
function* placesOf(
  data: unknown,
  path: readonly (string | number)[] = [],
): Generator<{ readonly path: readonly (string | number)[]; readonly value: unknown }> {
  yield { path, value: data };
  if (typeof data === 'object' && data !== null)
    for (const [key, value] of Object.entries(data))
      yield* placesOf(value, [...path, Array.isArray(data) ? Number(key) : key]);
}

function edited(
  snapshot: Data,
  path: readonly (string | number)[],
  edit: (holder: Record<string | number, unknown>, key: string | number) => void,
): Data {
  const made = copy(snapshot);
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], made) as Record<
    string | number,
    unknown
  >;
  edit(holder, path.at(-1)!);
  return made;
}

/** Returns true for paths to content from the user or the model, where any plain data is valid. */
const isFree = (path: readonly (string | number)[]): boolean =>
  path[0] === 'context' ||
  path.includes('input') ||
  path.includes('edited') ||
  path.includes('value') ||
  path.includes('providerOptions');

it('the sample snapshot contains every kind of record', () => {
  const text = JSON.stringify(whole);
  for (const part of [
    'not_started',
    'started',
    'waiting',
    'approved',
    'settled',
    'manual',
    'question',
    'approval',
    'options',
    'resolutions',
    'offered',
    '"amount":5',
    'error-text',
  ])
    expect(text).toContain(part);
});

it('a snapshot is unchanged by a JSON round trip', () => {
  const session = Session.fromJSON(copy(whole));
  expect(copy(session.toJSON())).toEqual(whole);
  expect(copy(Session.fromJSON(session.toJSON()).toJSON())).toEqual(whole);
  expect(Object.isFrozen(session.toJSON())).toBe(true);
});

it('a snapshot with a different format version is refused', () => {
  expect(codeOf({ ...whole, version: 2 })).toBe('INVALID_SNAPSHOT');
});

it('a snapshot with any wrong or unknown field is refused', () => {
  let edits = 0;
  for (const { path, value } of placesOf(whole)) {
    if (path.length === 0 || isFree(path) || typeof value === 'boolean') continue;
    const made = [edited(whole, path, (holder, key) => (holder[key] = true))];
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const extra of ['extra', '__proto__'])
        made.push(
          edited(whole, [...path, extra], (holder, key) =>
            Object.defineProperty(holder, key, { value: {}, enumerable: true }),
          ),
        );
    edits += made.length;
    for (const each of made)
      expect([path.join('.'), codeOf(each)]).toEqual([path.join('.'), 'INVALID_SNAPSHOT']);
  }
  expect(edits).toBeGreaterThan(200);
});

it('a snapshot with contradicting fields is refused', () => {
  const edits: Readonly<Record<string, (snapshot: Editable) => unknown>> = {
    'two calls with one id': (s) => (s.openTurn.calls[1]!.callId = 'c0'),
    'a call that its message does not make': (s) => (s.openTurn.calls[0]!.toolName = 'pay'),
    'other arguments than the message has': (s) => (s.openTurn.calls[4]!.input['of'] = 'x'),
    'calls in another order': (s) => s.openTurn.calls.reverse(),
    'no call that is open': (s) =>
      s.openTurn.calls.forEach(
        (each) => (each.progress = { state: 'settled', output: { type: 'text', value: '' } }),
      ),
    'a result that nobody asked for': (s) =>
      s.messages.at(-1)!.content.push({
        type: 'tool-result',
        toolCallId: 'z',
        toolName: 'auto',
        output: { type: 'text', value: '' },
      }),
    'a result twice': (s) => s.messages.push(copy(s.messages.at(-1)!)),
    'results in another order': (s) => s.messages.at(-1)!.content.reverse(),
    'an id that stores do not take': (s) => (s.id = 'a/b'),
  };
  for (const [name, edit] of Object.entries(edits)) {
    const made = copy(whole);
    edit(made as unknown as Editable);
    expect([name, codeOf(made)]).toEqual([name, 'INVALID_SNAPSHOT']);
  }
});

it('a signed snapshot is refused after any change', () => {
  const session = Session.fromJSON(whole);
  const signed = copy(session.snapshot({ key: KEY })) as unknown as Data;
  expect(copy(Session.fromJSON(signed, { key: KEY }).toJSON())).toEqual(whole);
  expect(copy(Session.fromJSON(signed).toJSON())).toEqual(whole);
  expect(codeOf(whole, { key: KEY })).toBe('INVALID_SNAPSHOT');
  expect(codeOf(signed, { key: new Uint8Array(32).fill(2) })).toBe('INVALID_SNAPSHOT');
  let changes = 0;
  for (const { path, value } of placesOf(signed)) {
    if (path.length === 0) continue;
    const other = typeof value === 'number' ? value + 1 : { was: value };
    for (const made of [
      edited(signed, path, (holder, key) => (holder[key] = other)),
      edited(signed, path, (holder, key) =>
        Array.isArray(holder) ? holder.splice(key as number, 1) : delete holder[key],
      ),
    ]) {
      changes += 1;
      expect([path.join('.'), codeOf(made, { key: KEY })]).toEqual([
        path.join('.'),
        'INVALID_SNAPSHOT',
      ]);
    }
  }
  expect(changes).toBeGreaterThan(300);
});
