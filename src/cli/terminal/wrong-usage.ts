import { ToolError } from '../../core/errors.js';

/** The error for options, operands or files that a command can't work with. */
export function wrongUsage(message: string, cause?: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', message, { cause });
}

/** Returns why a file couldn't be read or written, in the words of the operating system. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
