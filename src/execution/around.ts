import { ToolError } from '../core/errors.js';
import { describeValue, type Json } from '../core/plain-data.js';
import { asResult, changedResult, type ToolResult } from '../tool/outcome.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';

/** The call that an `Around` function receives. Frozen. */
export interface AroundCall {
  readonly tool: ToolEntry;
  readonly id: string;
  /**
   * The caller's input, as evaluated by the policy. Frozen. The tool receives the input as parsed
   * by its schema.
   */
  readonly input: Json;
  /** The same context that the tool receives. */
  readonly context: ToolContext;
}

/**
 * A function that wraps a tool's work, like middleware. The result that the function returns
 * replaces the tool's result. See `ToolExecutor.use`.
 *
 * `run` starts the tool's work and resolves to its result: what the tool returned, or `ok(value)`
 * for a plain value. A second call of `run` returns the same promise. `run` rejects if the tool
 * throws.
 *
 * To change a value, return `ok(newValue)`, or `{ ...result, value: newValue }` to keep the content
 * and the kind of result.
 */
export type Around = (
  call: AroundCall,
  run: () => Promise<ToolResult>,
) => ToolResult | Promise<ToolResult>;

/** Errors that wrappers throw or cause by misusing `run`. */
const ERRORS = new WeakSet<object>();

/** Returns true if a wrapper caused this error, or false if the tool did. */
export function isAroundError(error: unknown): error is ToolError {
  return typeof error === 'object' && error !== null && ERRORS.has(error);
}

/** The tool's work, inside all wrappers. */
interface InnerWork {
  readonly start: () => Promise<unknown>;
  /** Returns true while the call is still waiting for its result. */
  readonly isOpen: () => boolean;
  /**
   * Stops the work if a wrapper returns without waiting for it, because nobody needs the result any
   * more.
   */
  readonly onLeft: () => void;
}

/**
 * Runs the work inside the wrappers. The first wrapper is the outermost.
 * @throws whatever the work throws, or an error for which `isAroundError` returns true.
 */
export async function runAround(
  [around, ...inner]: readonly Around[],
  call: AroundCall,
  work: InnerWork,
): Promise<ToolResult> {
  if (around === undefined) return asResult(await work.start());
  const what = `The function that wraps ${call.tool.name}`;
  let hasReturned = false;
  let running: Promise<ToolResult> | undefined;
  let ended: { readonly thrown?: unknown } | undefined;
  const isOpen = () => !hasReturned && work.isOpen();
  const begin = async (): Promise<ToolResult> => {
    if (!isOpen())
      throw made(
        'INVALID_STATE',
        `${what} called run after it had returned, so nothing ran. Call run before you return.`,
      );
    running ??= runAround(inner, call, { ...work, isOpen });
    running.then(
      () => (ended = {}),
      (thrown: unknown) => (ended = { thrown }),
    );
    return running;
  };
  const run = () => {
    const result = begin();
    result.catch(() => undefined); // The wrapper may ignore this promise.
    return result;
  };
  try {
    const returned: unknown = await around(call, run);
    const result = changedResult(returned);
    if (result !== undefined) return result;
    throw made(
      'INVALID_RESULT',
      `${what} must return a result, but returned ${describeValue(returned)}. Return the result of run(), or ok(value).`,
    );
  } catch (error) {
    if (
      isAroundError(error) ||
      (ended !== undefined && 'thrown' in ended && ended.thrown === error)
    )
      throw error;
    throw made(
      'EXECUTION_FAILED',
      `A function that wraps ${call.tool.name} failed. Its error isn't shown. Try something else, or ask the user.`,
      error,
    );
  } finally {
    hasReturned = true;
    if (running !== undefined && ended === undefined) work.onLeft();
  }
}

function made(code: ToolError['code'], message: string, cause?: unknown): ToolError {
  const error = new ToolError(code, message, { cause });
  ERRORS.add(error);
  return error;
}
