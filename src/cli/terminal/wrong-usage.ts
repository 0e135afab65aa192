import { ToolError } from '../../core/errors.js';

/** Returns the error for invalid options, operands or files. */
export function wrongUsage(message: string, cause?: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', message, { cause });
}

/** Returns the operating system's reason why a file couldn't be read or written. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
