import { ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';
import type { Json } from '../core/plain-data.js';
import { isToolResult, resultLike } from '../tool/outcome.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';

/** A call as an `Around` is told of it; frozen. */
export interface AroundCall {
  readonly tool: ToolEntry;
  readonly id: string;
  /** The input as it was given and judged, frozen. The tool gets what its schema makes of it. */
  readonly input: Json;
  /** The context that the tool gets, too. */
  readonly context: ToolContext;
}

/**
 * A function around the work of calls; what it returns stands in for the tool's result. See `ToolExecutor.use`.
 *
 * `run` does the work, once. It resolves to what the tool returned (of `ok(value)` the value; results of `fail`, `askUser` and
 * `halt` as they are), and rejects with what the tool threw. The content of `ok(value, { content })` stays with its value: it is kept where
 * the function returns the value as it got it, and dropped where it returns another one, which may give content of its own.
 */
export type Around = (call: AroundCall, run: () => Promise<unknown>) => unknown;

/** The functions around the work of calls at one moment. Equal ids mean the same functions, and 0 means none. */
export interface AroundStack {
  readonly id: number;
  readonly list: readonly Around[];
}

const NONE: AroundStack = Object.freeze({ id: 0, list: Object.freeze([]) });

/** The functions around the work of an executor's calls. A call keeps those that were in use when it was looked for in the cache. */
export class Arounds {
  current = NONE;
  #changes = 0;

  /** Adds a function inside of those before it. @returns a function that removes it; calling it again changes nothing. */
  add(around: Around): () => void {
    if (typeof around !== 'function')
      throw invalidArgument(
        'a function around the work of calls',
        around,
        'Write executor.use(async (call, run) => run()).',
      );
    const own: Around = (call, run) => around(call, run); // The same function may be in use twice.
    this.#become([...this.current.list, own]);
    return () => {
      if (this.current.list.includes(own))
        this.#become(this.current.list.filter((each) => each !== own));
    };
  }

  /** Ids do not come back: an answer that was kept under one is not found by calls with other functions around them. */
  #become(list: readonly Around[]): void {
    this.current = list.length === 0 ? NONE : { id: ++this.#changes, list };
  }
}

/** The errors of functions around calls, and of their use of `run`. */
const ERRORS = new WeakSet<object>();

/** Returns true for an error of a function around a call; others are the tool's. */
export function isAroundError(error: unknown): error is ToolError {
  return typeof error === 'object' && error !== null && ERRORS.has(error);
}

/** The work inside of all functions. */
interface InnerWork {
  readonly start: () => Promise<unknown>;
  /** Returns true while the call waits for its result. */
  readonly isOpen: () => boolean;
  /** Stops the work when a function ends before the work that it began: nobody waits for it any more. */
  readonly onLeft: () => void;
}

/** Runs the work with functions around it, the first outermost. @throws what the work threw, or an error that `isAroundError` knows. */
export async function runAround(
  [around, ...inner]: readonly Around[],
  call: AroundCall,
  work: InnerWork,
): Promise<unknown> {
  if (around === undefined) return work.start();
  const what = `the function around ${call.tool.name}`;
  let waiting = true;
  let running: Promise<unknown> | undefined;
  let ended:
    | {
        readonly value?: unknown;
        readonly whole?: unknown;
        readonly json?: string | undefined;
        readonly thrown?: unknown;
      }
    | undefined;
  const isOpen = () => waiting && work.isOpen();
  const begin = async () => {
    if (!isOpen())
      throw made(
        'INVALID_STATE',
        expectedGot(
          `${what} to call run before it ends`,
          'a call of run afterwards',
          'Nothing was run by it.',
        ),
      );
    if (running !== undefined)
      throw made(
        'INVALID_STATE',
        expectedGot(
          `${what} to call run once`,
          'a second call of run',
          'Nothing was run by it; keep what run() resolves to.',
        ),
      );
    running = runAround(inner, call, { ...work, isOpen }).then((whole) => {
      const value = valueOf(whole);
      ended = { value, ...(hasContent(whole) && { whole, json: jsonOf(value) }) };
      return value;
    });
    running.catch((thrown: unknown) => (ended = { thrown }));
    return running;
  };
  const run = () => {
    const result = begin();
    result.catch(() => undefined); // The function need not wait for it.
    return result;
  };
  try {
    const returned = await around(call, run);
    if (
      returned === undefined &&
      (ended === undefined || 'thrown' in ended || ended.value !== undefined)
    )
      throw made(
        'INVALID_RESULT',
        expectedGot(
          `${what} to return a result`,
          'undefined',
          'Return what run() resolves to, or null for no value.',
        ),
      );
    // A value that was changed in place may have lost what its content still tells.
    if (ended?.whole !== undefined && returned === ended.value && jsonOf(returned) === ended.json)
      return ended.whole;
    return resultLike(ended?.value, returned);
  } catch (error) {
    if (
      isAroundError(error) ||
      (ended !== undefined && 'thrown' in ended && ended.thrown === error)
    )
      throw error;
    throw made(
      'EXECUTION_FAILED',
      `The function of the program around ${call.tool.name} failed, and its error is not shown. Try something else, or ask the user.`,
      error,
    );
  } finally {
    waiting = false;
    if (running !== undefined && ended === undefined) work.onLeft();
  }
}

function made(code: ToolError['code'], message: string, cause?: unknown): ToolError {
  const error = new ToolError(code, message, { cause });
  ERRORS.add(error);
  return error;
}

function valueOf(result: unknown): unknown {
  return isToolResult(result) && result.status === 'ok' ? result.value : result;
}

function hasContent(result: unknown): boolean {
  return isToolResult(result) && result.status === 'ok' && result.content !== undefined;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // A value that no result can be.
  }
}
