/**
 * Every error code of the library.
 *
 * Codes are part of the interface: programs compare them, so they are never renamed, only added to.
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
/** The code of a `ToolError`: stable, for programs to tell errors apart. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** One thing that is wrong: its place, what was expected there, and what came instead. */
export interface Issue {
  /** The place, as field names and list positions from the outside in; empty for the whole value. */
  readonly path: readonly (string | number)[];
  /** The sentence for users: what was expected, what came, and what to do about it. */
  readonly message: string;
}

interface ToolErrorOptions {
  /** Facts for programs; plain data, without secrets or absolute paths. @default none */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error behind it. @default none */
  readonly cause?: unknown;
}

/** Two loaded copies of the package must know each other's errors, so the mark is a shared symbol and not the class. */
const BRAND = Symbol.for('tooldex/error/v1');

/** The one error class of the library; `code` says which kind, `details` carries its facts. */
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

  /** The error as it can be sent to others: without stack and cause. */
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

/** Returns true for a `ToolError` of this or another copy of the package. */
export function isToolError(value: unknown, code?: ToolErrorCode): value is ToolError {
  if (typeof value !== 'object' || value === null) return false;
  try {
    if (!Object.hasOwn(value, BRAND)) return false;
    return code === undefined || (value as ToolError).code === code;
  } catch {
    return false; // A hostile proxy may throw from any trap.
  }
}

/** The issues of an error that carries a list of them; empty for others. */
export function issuesOf(error: ToolError): readonly Issue[] {
  const issues = error.details['issues'];
  return Array.isArray(issues) ? (issues as Issue[]) : [];
}
