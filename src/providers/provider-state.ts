/**
 * What is known of a provider from the calls it answered; times are `clock.elapsed()`.
 *
 * - available: calls go to it.
 * - backing-off: it failed `failures` times in a row, and is left alone until `until`.
 * - half-open: one call tries it out; others wait for what becomes of it, at most until `until`, because that call
 *   may hang, or its process may have died.
 */
export type ProviderState =
  | { readonly kind: 'available' }
  | { readonly kind: 'backing-off'; readonly failures: number; readonly until: number }
  | { readonly kind: 'half-open'; readonly failures: number; readonly until: number };

export const AVAILABLE: ProviderState = Object.freeze({ kind: 'available' });

export function backingOff(failures: number, until: number): ProviderState {
  return Object.freeze({ kind: 'backing-off', failures, until });
}

export function halfOpen(failures: number, until: number): ProviderState {
  return Object.freeze({ kind: 'half-open', failures, until });
}

/** How often the provider failed in a row. */
export function failuresOf(state: ProviderState): number {
  return state.kind === 'available' ? 0 : state.failures;
}

/** Whether a call may go to a provider in this state, and as what. */
export function admissionOf(state: ProviderState, now: number): 'call' | 'probe' | 'no' {
  if (state.kind === 'available') return 'call';
  return now >= state.until ? 'probe' : 'no';
}
