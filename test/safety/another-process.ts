import type { WaitingCalls } from '../../src/safety/waiting-calls.js';

let copies = 0;

/** Returns `WaitingCalls` of another process: a copy of the module with its own memory. */
export async function waitingCallsOfAnotherProcess(): Promise<typeof WaitingCalls> {
  const copy = `../../src/safety/waiting-calls.js?process=${++copies}`;
  return ((await import(/* @vite-ignore */ copy)) as { readonly WaitingCalls: typeof WaitingCalls })
    .WaitingCalls;
}
