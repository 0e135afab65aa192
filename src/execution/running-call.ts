import type { Flow } from '../core/flow.js';
import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument, unknownOption } from '../core/issues.js';
import {
  cloneFrozen,
  describeValue,
  isPlainObject,
  isShownByJson,
  type Json,
} from '../core/plain-data.js';
import type { CallFacts, ToolEvent } from '../core/tool-event.js';
import type { Approval } from '../safety/approvals.js';
import type {
  Decision,
  OutcomeBody,
  PendingManualCall,
  PendingQuestion,
  Policy,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { Question } from '../tool/question.js';
import { jsonSchemaOf } from '../tool/tool-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecuteAllOptions, ExecuteOptions, ExecutorFrame } from './executor-options.js';
import type { PlannableCall } from './plan-execution.js';

/** Characters of a tool's name that are told, when there is no such tool. */
const LONGEST_NAME = 128;

/** An event about a call, without the facts that every one has. */
type CallEvent = ToolEvent extends infer Each
  ? Each extends CallFacts
    ? Omit<Each, keyof CallFacts>
    : never
  : never;

/** One call while it is carried out: what was asked, and what became of it so far. */
export class RunningCall {
  toolName: string;
  attempts = 0;
  /** Milliseconds of the time of the call that telemetry took before it began. */
  watchedMs = 0;
  cached = false;
  provider: string | undefined;
  /** Bytes of the result that models read, where it is said. */
  maxResultBytes: number | undefined;
  /** The work of the call went on when it was answered. */
  abandoned = false;
  /** The reason why the call cannot be made at all. */
  readonly refused: ToolError | undefined;
  #call: ToolCall;
  #options: ExecuteOptions;
  readonly #frame: ExecutorFrame;
  readonly #startedAt: number;
  #settled = false;
  #told: Pick<Decision, 'danger'> | undefined;

  constructor(call: PlannableCall, options: ExecuteOptions, frame: ExecutorFrame) {
    this.#call = copyCall(call);
    try {
      assertCall(call);
      this.#options = copyOptions(options);
    } catch (error) {
      this.#options = {};
      this.refused = error as ToolError;
    }
    this.#frame = frame;
    this.#startedAt = frame.clock.elapsed();
    this.toolName = this.#call.name.slice(0, LONGEST_NAME);
  }

  get call(): ToolCall {
    return this.#call;
  }

  get options(): ExecuteOptions {
    return this.#options;
  }

  /** The labels that the conversation had when the model made the call, where that is known; otherwise what it has read by now counts. */
  flow: Flow | undefined;

  /** The call's id, and whose call it is. */
  get owner(): Pick<CallFacts, 'callId' | 'principal' | 'conversationId'> {
    const { principal, conversationId } = this.#options;
    return {
      callId: this.#call.id,
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
    };
  }

  /** Goes on with a user's approval, of the arguments that were asked for or of others. */
  useApproval(approval: Approval, input: unknown, edited: boolean): void {
    this.#call = Object.freeze({ ...this.#call, input });
    this.#options = { ...this.#options, approval };
    if (edited) this.#told = undefined;
  }

  /** Goes on without an approval that does not count any more. */
  dropApproval(): void {
    const { approval: _, ...options } = this.#options;
    this.#options = options;
    this.#told = undefined;
  }

  tell(event: CallEvent): void {
    // Assigned to one object: spreading objects of many shapes took a quarter of a call's time.
    this.#frame.listeners.tell(
      Object.assign(this.owner, { toolName: this.toolName, at: this.#frame.clock.now() }, event),
    );
  }

  /** Tells the first decision over the call and its arguments, and a later one only if it says something else. */
  tellDecision({ verdict, reason, rule, danger }: Decision): void {
    if (this.#told?.danger === danger && verdict !== 'deny') return;
    this.#told = { danger };
    this.tell({ type: 'decision', verdict, reason, rule, danger });
  }

  /** Returns what the tool's work is told of its call. */
  contextFor(definitionDigest: string, idempotencyKey: string | undefined): ToolContext {
    const { context } = this.#options;
    return {
      ...this.owner,
      toolName: this.toolName,
      definitionDigest,
      ...(context !== undefined && { context }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      reportProgress: (progress) => this.#tellProgress(progress),
    };
  }

  pendingManual(entry: ToolEntry, input: Json): PendingManualCall {
    return cloneFrozen({
      kind: 'manual',
      ...this.#pendingFacts(entry, input),
      ...outputSchemaOf(entry),
    });
  }

  pendingQuestion(entry: ToolEntry, input: Json, question: Question): PendingQuestion {
    const facts = this.#pendingFacts(entry, input);
    const expiry =
      question.timeoutMs === undefined ? {} : { expiresAt: facts.createdAt + question.timeoutMs };
    return cloneFrozen({ kind: 'question', ...facts, ...question, ...expiry });
  }

  /** Returns the outcome with the facts of the call; told as an event. */
  settle(body: OutcomeBody): ToolOutcome {
    this.#settled = true;
    const durationMs = this.#frame.clock.elapsed() - this.#startedAt;
    const facts = {
      durationMs,
      attempts: this.attempts,
      cached: this.cached,
      ...(this.provider !== undefined && { provider: this.provider }),
      ...(this.abandoned && { abandoned: true as const }),
    };
    const bound =
      body.status === 'ok' ||
      body.status === 'halt' ||
      (body.status === 'error' && body.origin !== undefined)
        ? this.maxResultBytes
        : undefined;
    this.tell({
      type: 'call-settled',
      status: body.status,
      ...(body.status === 'error' && { code: body.code }),
      ...facts,
    });
    return Object.freeze({
      callId: this.#call.id,
      toolName: this.toolName,
      ...facts,
      ...(bound !== undefined && { maxResultBytes: bound }),
      ...body,
    });
  }

  #pendingFacts({ name, digest }: ToolEntry, input: Json) {
    return {
      id: randomUUID(),
      ...this.owner,
      toolName: name,
      input,
      definitionDigest: digest,
      createdAt: this.#frame.clock.now(),
    };
  }

  #tellProgress(progress: unknown): void {
    if (this.#settled) return; // A call that was given up has nothing more to say.
    try {
      this.tell({ type: 'call-progress', progress: cloneFrozen(progress) });
    } catch {
      // What is no plain data is not worth failing the call.
    }
  }
}

/** Returns what the result of a call that is answered elsewhere must be like, where JSON Schema can say it. */
function outputSchemaOf({ outputSchema }: ToolEntry): Pick<PendingManualCall, 'outputSchema'> {
  try {
    return outputSchema === undefined
      ? {}
      : { outputSchema: cloneFrozen(jsonSchemaOf(outputSchema, 'output')) as Json };
  } catch {
    return {};
  }
}

// Calls and options are read once. What answers differently the second time would be judged as one thing and run as another.

/** Calls that were read here: reading them again would give the same. */
const READ = new WeakSet<object>();

/** Returns a call as it is now, with an id of its own if it came without; one that cannot be read has no name, so that no tool is its. */
function copyCall(call: unknown): ToolCall {
  try {
    if (READ.has(call as object)) return call as ToolCall;
    const { id, name, input } = call as Record<string, unknown>;
    return readCall(
      typeof id === 'string' && id !== '' ? id : randomUUID(),
      typeof name === 'string' ? name : '',
      input,
    );
  } catch {
    return readCall('', '', undefined);
  }
}

function readCall(id: string, name: string, input: unknown): ToolCall {
  const read = Object.freeze({ id, name, input });
  READ.add(read);
  return read;
}

/**
 * Returns a list of calls as they are now, their input included.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls with names.
 */
export function copyCalls(calls: unknown): readonly ToolCall[] {
  let read: readonly ToolCall[] | undefined;
  try {
    read = Array.isArray(calls) ? Array.from(calls, copyCall) : undefined;
  } catch {
    // A hostile proxy.
  }
  if (read === undefined)
    throw Array.isArray(calls)
      ? refused('a list of calls', 'one that cannot be read')
      : invalidArgument('a list of calls', calls);
  const position = read.findIndex(({ name }) => name === '');
  if (position !== -1)
    throw refused(
      'calls with the name of a tool',
      `none at position ${position}`,
      'Give { id, name, input }.',
    );
  return read.map(({ id, name, input }) => readCall(id, name, inputAsIs(input)));
}

/** Input that cannot be copied is left as it is: it will be refused when its call is made. */
function inputAsIs(input: unknown): unknown {
  try {
    return boundInput(input);
  } catch {
    return input;
  }
}

type Kind = readonly [what: string, fits: (value: unknown) => boolean];
const TEXT: Kind = ['a string', (value) => typeof value === 'string'];
const TEXTS: Kind = [
  'a list of strings',
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
];
const FUNCTION: Kind = ['a function', (value) => typeof value === 'function'];
const OPTIONS: Readonly<Record<keyof ExecuteOptions, Kind>> = {
  principal: TEXT,
  scopes: TEXTS,
  flags: TEXTS,
  persona: TEXT,
  conversationId: TEXT,
  mode: ['a mode of the policy', TEXT[1]],
  userText: ['a text or a list of texts', (value) => TEXT[1](value) || TEXTS[1](value)],
  policy: [
    'a policy with a decide method',
    (value) => typeof (value as Partial<Policy> | null)?.decide === 'function',
  ],
  approval: ['an approval', () => true],
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  confirm: FUNCTION,
  idempotencyKey: TEXT,
  context: ['anything', () => true],
  onStart: FUNCTION,
};

/**
 * Returns the options of a call as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options: a misspelt `principal` would make a call nobody's.
 */
export function copyOptions(options: unknown): ExecuteOptions {
  if (typeof options !== 'object' || options === null)
    throw invalidArgument('the options of a call as an object', options);
  const read: Record<string, unknown> = {};
  try {
    for (const [option, value] of Object.entries(options)) {
      if (!Object.hasOwn(OPTIONS, option))
        throw new ToolError('INVALID_ARGUMENT', unknownOption(option, Object.keys(OPTIONS)));
      if (value === undefined) continue;
      const [what, fits] = OPTIONS[option as keyof ExecuteOptions];
      if (!fits(value)) throw invalidArgument(`${option} as ${what}`, value);
      read[option] =
        option === 'approval'
          ? copyApproval(value)
          : option === 'context'
            ? copyContext(value)
            : value;
    }
  } catch (error) {
    throw error instanceof ToolError
      ? error
      : refused('the options of a call as plain data', 'an object that cannot be read');
  }
  return read;
}

/** Returns a context as it is now. One that is not plain data stays the object it is, which can change: no answer is kept for it. */
function copyContext(context: unknown): unknown {
  try {
    return isShownByJson(context) ? boundInput(context) : context;
  } catch {
    return context; // More than an input may hold.
  }
}

/** Copies an approval; one that is no plain data was never granted. @throws ToolError `INVALID_APPROVAL` for a promise, and for what is no object. */
function copyApproval(approval: unknown): Approval {
  const what = typeof approval === 'string' ? 'a string' : describeValue(approval);
  if (typeof approval !== 'object' || what === 'a promise') {
    throw new ToolError(
      'INVALID_APPROVAL',
      expectedGot(
        'the approval that executor.approve(pending) resolves to',
        what,
        what === 'a promise' ? AWAIT : 'Give what await executor.approve(outcome.pending) returns.',
      ),
    );
  }
  try {
    return cloneFrozen(approval ?? {}) as Approval;
  } catch {
    return {} as Approval;
  }
}

/**
 * Returns the options of several calls as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `copyOptions` does.
 */
export function copyAllOptions(options: unknown): ExecuteOptions & {
  readonly approvals: readonly Approval[];
  readonly madeWith: readonly string[];
  readonly onOutcome: ExecuteAllOptions['onOutcome'];
} {
  if (!isPlainObject(options)) throw invalidArgument('the options of calls as an object', options);
  const { approvals = [], madeWith = [], onOutcome, ...others } = options;
  if (onOutcome !== undefined && typeof onOutcome !== 'function')
    throw invalidArgument('onOutcome as a function', onOutcome);
  if (!TEXTS[1](madeWith)) throw invalidArgument('madeWith as a list of ids', madeWith);
  for (const alone of ['approval', 'idempotencyKey']) {
    if (Object.hasOwn(others, alone))
      throw refused(
        `no ${alone} for several calls`,
        'one',
        'Give approvals, a list: each finds its call.',
      );
  }
  if (!(Array.isArray(approvals) && approvals.every(isPlainObject)))
    throw invalidArgument('approvals as a list of approvals', approvals);
  return {
    ...copyOptions(others),
    approvals: approvals.map(copyApproval),
    madeWith: [...(madeWith as readonly string[])],
    onOutcome: onOutcome as ExecuteAllOptions['onOutcome'],
  };
}

function refused(expected: string, got: string, advice?: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

/** Names that the formats of model APIs give the input. */
const MISNOMERS = ['arguments', 'args', 'parameters'];

/** Names that the formats of model APIs give the tool. */
const MISNAMED = ['toolName', 'tool', 'function'];

/** @throws ToolError `TOOL_NOT_FOUND` for what is no call; `INVALID_INPUT` for one whose input has another name: it would run with no arguments at all. */
function assertCall(call: unknown): void {
  const advice = adviceForNoCall(call);
  if (advice !== undefined) throw new ToolError('TOOL_NOT_FOUND', advice);
  const misnomer = misnomerIn(call as object, 'input', MISNOMERS);
  if (misnomer !== undefined)
    throw new ToolError(
      'INVALID_INPUT',
      expectedGot(
        'the arguments of a call as its input',
        misnomer,
        'Give { id, name, input }, with input as an object and not as text.',
      ),
    );
}

/** Returns the message for a value that was given in place of a call; `undefined` for a call, and for a hostile proxy, which has no name. */
function adviceForNoCall(call: unknown): string | undefined {
  try {
    if (Array.isArray(call))
      return expectedGot('one call', 'a list', 'Make several with executeAll(calls).');
    if (call instanceof Promise) return expectedGot('a call', 'a promise', AWAIT);
    if (typeof call !== 'object' || call === null)
      return expectedGot(
        'a call as { id, name, input }',
        describeValue(call),
        "Write execute({ id: '1', name: 'the_tool', input: { … } }).",
      );
    const misnamed = misnomerIn(call, 'name', MISNAMED);
    return misnamed === undefined
      ? undefined
      : expectedGot('the tool of a call as its name', misnamed, 'Give { id, name, input }.');
  } catch {
    return undefined;
  }
}

function misnomerIn(call: object, field: string, misnomers: readonly string[]): string | undefined {
  try {
    if (Object.hasOwn(call, field) || !isPlainObject(call)) return undefined;
    return misnomers.find((misnomer) => Object.hasOwn(call, misnomer));
  } catch {
    return undefined; // No object, or a hostile proxy; it has no name either.
  }
}
