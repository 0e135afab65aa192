import { isPlainObject } from '../../core/plain-data.js';
import type { PendingApproval } from '../../safety/calls.js';
import type { Confirm } from '../executor-options.js';

/** A person's answer: a yes, perhaps to other arguments, a no, or none yet. Whatever is not clearly one of the others is a no. */
export type Answer = { readonly yes: false; readonly later?: true } | { readonly yes: true; readonly edited?: { readonly input: unknown } };

export async function askPerson(confirm: Confirm, pending: PendingApproval, signal: AbortSignal | undefined): Promise<Answer> {
  try {
    const answer: unknown = await confirm(pending, { signal });
    if (signal?.aborted === true) return { yes: false };
    if (answer === true) return { yes: true };
    if (answer === 'later') return { yes: false, later: true };
    return isPlainObject(answer) && Object.hasOwn(answer, 'input') ? { yes: true, edited: { input: answer['input'] } } : { yes: false };
  } catch {
    return { yes: false };
  }
}
