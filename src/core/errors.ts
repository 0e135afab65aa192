/**
 * Every error code of the library.
 *
 * Programs compare codes, so codes are part of the public contract: new ones are added, existing
 * ones never change.
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
/** The code of a `ToolError`. Codes are stable, so programs can tell errors apart by them. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** One thing that is wrong: where it is, what was expected, and what came instead. */
export interface Issue {
  /** The path as field names and list indexes, outermost first. Empty for the whole value. */
  readonly path: readonly (string | number)[];
  /** A message for users: what was expected, what came, and what to do about it. */
  readonly message: string;
}

interface ToolErrorOptions {
  /** Facts for programs: plain data without secrets or absolute paths. @default none */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that caused this error. @default none */
  readonly cause?: unknown;
}

/**
 * Marks every error. It's a shared symbol rather than the class, because two loaded copies of the
 * package must recognize each other's errors.
 */
const BRAND = Symbol.for('tooldex/error/v1');

/** The library's only error class. `code` says what went wrong, `details` has the facts. */
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

  /** Returns the error in a form that is safe to send: without stack and cause. */
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

/** Returns true for a `ToolError`, also if another copy of the package made it. */
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
