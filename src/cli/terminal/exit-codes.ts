import type { ToolOutcome } from '../../safety/calls.js';

/**
 * The exit codes of every command. Shells report 130 for a program that Ctrl-C stopped: 128 plus
 * the number of SIGINT.
 */
export const EXIT = Object.freeze({
  ok: 0,
  findings: 1,
  usage: 2,
  denied: 3,
  unconfirmed: 4,
  interrupted: 130,
});

/** Exit codes of commands that run tools, for their help. */
export const EXIT_HELP = `
Exit codes:
  0    success
  1    a tool failed, or a file of tools didn't load
  2    wrong usage, such as an unknown tool or invalid input
  3    the policy denied the call
  4    the call needs an approval, an answer or a result that nobody gave
  130  interrupted
If there are several calls, the highest code wins.`;

export function exitCodeOf(outcome: ToolOutcome): number {
  switch (outcome.status) {
    case 'ok':
    case 'halt':
      return EXIT.ok;
    case 'error':
      // If the tool itself threw one of these codes, `attempts` isn't 0 and the tool has failed.
      return outcome.attempts === 0 &&
        ['INVALID_INPUT', 'LIMIT_EXCEEDED', 'TOOL_NOT_FOUND'].includes(outcome.code)
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

/** Returns true if the user, not the policy, denied the call. */
export function isDeniedByUser(outcome: ToolOutcome): boolean {
  return outcome.status === 'denied' && outcome.rule === 'confirmation';
}
