import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';

/** Makes the error for a login that only a user can give: to try again, or with another provider, is of no use. */
export function loginNeeded(expected: string, got: string, advice: string): ToolError {
  return new ToolError('TOOL_UNAVAILABLE', expectedGot(expected, got, advice), {
    details: { needs: 'login' },
  });
}

/** Returns true for an error of `loginNeeded`. */
export function isLoginNeeded(error: unknown): error is ToolError {
  return isToolError(error, 'TOOL_UNAVAILABLE') && error.details['needs'] === 'login';
}
