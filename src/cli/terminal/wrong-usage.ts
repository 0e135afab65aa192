import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';

/** The error for options or files that a command can't work with. */
export function wrongUsage(expected: string, got: string, advice?: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

/** Refuses options that mean nothing without another option. @param needed the options that need each, by its flag. */
export function requireTogether(
  options: Readonly<Record<string, unknown>>,
  needed: Readonly<Record<string, readonly string[]>>,
): void {
  const isGiven = (flag: string) =>
    options[flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] !== undefined;
  for (const [flag, others] of Object.entries(needed)) {
    const stray = isGiven(flag) ? undefined : others.find(isGiven);
    if (stray !== undefined) throw wrongUsage(`--${stray} together with --${flag}`, 'it alone');
  }
}
