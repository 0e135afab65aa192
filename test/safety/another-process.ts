import type { Approvals } from '../../src/safety/approvals.js';

let copies = 0;

/** `Approvals` as another process has them: a copy of the module, with a memory of its own. */
export async function approvalsOfAnotherProcess(): Promise<typeof Approvals> {
  const copy = `../../src/safety/approvals.js?process=${++copies}`;
  return ((await import(/* @vite-ignore */ copy)) as { readonly Approvals: typeof Approvals })
    .Approvals;
}
