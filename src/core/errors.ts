/**
 * All error codes of the library.
 *
 * Programs compare codes, so they're part of the public contract: codes can be added, but existing
 * codes never change.
 */
export const TOOL_ERROR_CODES = Object.freeze([
  'INVALID_METADATA',
  'INVALID_DECORATION',
  'INVALID_INPUT_SCHEMA',
  'NOT_A_TOOL',
  'DUPLICATE_TOOL',
  'TOOL_NOT_FOUND',
  'INVALID_ARGUMENT',
  'INVALID_INPUT',
  'FORBIDDEN_PATH',
  'FORBIDDEN_URL',
  'FORBIDDEN_PROGRAM',
  'LIMIT_EXCEEDED',
  'BUDGET_EXCEEDED',
  'TIMEOUT',
  'ABORTED',
  'EXECUTION_FAILED',
  'NOT_EXECUTABLE',
  'TOOL_UNAVAILABLE',
  'INVALID_RESULT',
  'LOOP_DETECTED',
  'INVALID_APPROVAL',
  'PROVIDERS_EXHAUSTED',
  'PROVIDER_UNAVAILABLE',
  'STATE_UNAVAILABLE',
  'MISSING_PACKAGE',
  'INVALID_MANIFEST',
  'INVALID_STATE',
  'OPEN_TOOL_CALLS',
  'UNKNOWN_CALL',
  'ALREADY_RESOLVED',
  'TOOL_CHANGED',
  'INVALID_SNAPSHOT',
  'STALE_SESSION',
  'MODEL_FAILED',
] as const);
/** The code of a `ToolError`. Codes are stable, so programs can use them to tell errors apart. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** A problem with a value: where it is, what was expected, and the actual value. */
export interface Issue {
  /**
   * The path to the problem, as field names and list indexes, outermost first. Empty if the problem
   * concerns the whole value.
   */
  readonly path: readonly (string | number)[];
  /** A message for users: what was expected, the actual value, and how to fix it. */
  readonly message: string;
}

interface ToolErrorOptions {
  /** Details for programs, as plain data without secrets or absolute paths. @default none */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that caused this error. @default none */
  readonly cause?: unknown;
}

/**
 * Marks every `ToolError`. The symbol is shared, because multiple loaded copies of the package must
 * recognize each other's errors.
 */
const BRAND = Symbol.for('tooldex/error/v1');

/**
 * The only error class of the library. `code` identifies the kind of error, and `details`
 * contains data about it.
 */
export class ToolError extends Error {
  override readonly name: string = 'ToolError';
  readonly code: ToolErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ToolErrorCode, message: string, options: ToolErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = Object.freeze({ ...options.details });
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Returns the error in a form that is safe to send, without its stack and cause. */
  toJSON(): {
    readonly name: string;
    readonly code: ToolErrorCode;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  } {
    const { name, code, message, details } = this;
    return { name, code, message, details };
  }
}

/** Returns true for a `ToolError`, even if it was created by another copy of the package. */
export function isToolError(value: unknown, code?: ToolErrorCode): value is ToolError {
  if (typeof value !== 'object' || value === null) return false;
  try {
    if (!Object.hasOwn(value, BRAND)) return false;
    return code === undefined || (value as ToolError).code === code;
  } catch {
    return false; // A hostile proxy can throw from any trap.
  }
}

/** Returns the issues that an error lists, or an empty list. */
export function issuesOf(error: ToolError): readonly Issue[] {
  const issues = error.details['issues'];
  return Array.isArray(issues) ? (issues as Issue[]) : [];
}
