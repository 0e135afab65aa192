import type { ToolOutcome } from '../../safety/calls.js';

/** Exit codes of every command. 130 is what shells give to programs that were interrupted: 128 and the number of SIGINT. */
export const EXIT = Object.freeze({
  ok: 0,
  findings: 1,
  usage: 2,
  denied: 3,
  unconfirmed: 4,
  interrupted: 130,
});

/** The codes of commands that run tools, for their help. */
export const EXIT_HELP = `
Exit codes:
  0    done
  1    a tool failed, or a file of tools did not load
  2    wrong usage: an unknown tool, or input that is refused
  3    denied by the policy
  4    the approval, answer or work of a user is needed and was not given
  130  interrupted
Of several calls the highest counts.`;

/** Returns the exit code of an outcome. */
export function exitCodeOf(outcome: ToolOutcome): number {
  switch (outcome.status) {
    case 'ok':
    case 'halt':
      return EXIT.ok;
    case 'error':
      // A tool that ran may throw errors of these codes, too; then it is the tool that failed.
      return outcome.attempts === 0 &&
        (outcome.code === 'INVALID_INPUT' ||
          outcome.code === 'LIMIT_EXCEEDED' ||
          outcome.code === 'TOOL_NOT_FOUND')
        ? EXIT.usage
        : EXIT.findings;
    case 'denied':
      return isDeniedByUser(outcome) ? EXIT.unconfirmed : EXIT.denied;
    case 'ask_user':
    case 'manual':
    case 'approval_required':
      return EXIT.unconfirmed;
  }
}

/** Returns whether a user denied a call, and not the policy. */
export function isDeniedByUser(outcome: ToolOutcome): boolean {
  return outcome.status === 'denied' && outcome.rule === 'confirmation';
}
