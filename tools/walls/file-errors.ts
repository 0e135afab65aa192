import { fail, isToolError, ToolError, type ToolResult } from '../../src/index.js';
import { forbiddenPath, showPath } from './path-rules.js';

/** The reason for refusing a path that changed after it was checked. */
export const CHANGED = 'it changed while it was being opened';

/** Explanations of system errors, without the local paths that their messages contain. */
const FOUND: Readonly<Record<string, string>> = {
  ENOENT: 'nothing',
  ENOTDIR: 'a file where a folder is needed',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'a read-only file system',
  ENOSPC: 'no space left',
  ENAMETOOLONG: 'a name that is too long',
};

/** Returns the error for a problem that the caller can act on. `reason` is for programs. */
export function obstacle(
  path: unknown,
  reason: string,
  expected: string,
  found: string,
): ToolError {
  const shown = showPath(path);
  return new ToolError(
    'EXECUTION_FAILED',
    `Expected ${expected} at ${JSON.stringify(shown)}, got ${found}.`,
    { details: { path: shown, reason } },
  );
}

export function limitExceeded(path: unknown, expected: string, found: number | string): ToolError {
  const shown = showPath(path);
  return new ToolError(
    'LIMIT_EXCEEDED',
    `${JSON.stringify(shown)}: Expected ${expected}, got ${found}.`,
    { details: { path: shown } },
  );
}

/**
 * Converts system errors to `ToolError`s, and returns other errors unchanged. The system error
 * isn't kept as the cause, because it contains absolute paths.
 */
export function explainSystemError(path: unknown, error: unknown): unknown {
  const code =
    error instanceof ToolError ? undefined : (error as NodeJS.ErrnoException | undefined)?.code;
  if (typeof code !== 'string' || !code.startsWith('E') || code.startsWith('ERR_')) return error;
  if (code === 'ELOOP')
    return forbiddenPath(path, 'its symlinks form a loop, or it changed while it was being opened');
  return obstacle(
    path,
    code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : code,
    'an accessible file or folder',
    FOUND[code] ?? code,
  );
}

/** Returns true if an error means that nothing exists at the path. */
export function isMissing(error: unknown): boolean {
  return isToolError(error, 'EXECUTION_FAILED') && error.details['reason'] === 'missing';
}

/**
 * Converts an error that a model can act on (missing, a folder, not text) to a failed result.
 * Refusals are still thrown.
 */
export async function orFail<T>(work: () => Promise<T>): Promise<T | ToolResult<never>> {
  try {
    return await work();
  } catch (error) {
    if (isToolError(error, 'EXECUTION_FAILED')) return fail(error.message, error.details);
    throw error;
  }
}
