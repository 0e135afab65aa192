import type { Approvals } from '../../src/safety/approvals.js';

let copies = 0;

/** Returns `Approvals` of another process: a copy of the module with its own memory. */
export async function approvalsOfAnotherProcess(): Promise<typeof Approvals> {
  const copy = `../../src/safety/approvals.js?process=${++copies}`;
  return ((await import(/* @vite-ignore */ copy)) as { readonly Approvals: typeof Approvals })
    .Approvals;
}
