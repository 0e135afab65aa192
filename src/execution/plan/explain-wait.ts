import type { CallProfile } from './call-profile.js';

/** Characters of a name or key in an explanation: names of unknown tools and keys are as long as a model makes them. */
const SHOWN_LENGTH = 100;

/** Why a call waits for an earlier one that it conflicts with, in plain words. */
export function explainWait(earlier: CallProfile, call: CallProfile): string {
  return `after call ${earlier.position}, ${shown(earlier.toolName)}: ${reason(earlier, call)}`;
}

function reason(earlier: CallProfile, call: CallProfile): string {
  for (const { role, known, toolName } of [earlier, call]) {
    if (role !== 'alone') continue;
    return known ? `${shown(toolName)} runs alone, since it may read, write or run anything` : `no tool ${shown(toolName)} is known, and unknown ones run alone`;
  }
  if (call.serial && earlier.toolName === call.toolName) return `${shown(call.toolName)} does not run beside itself`;
  if (earlier.keys !== undefined && call.keys !== undefined) {
    for (const key of call.keys) if (earlier.keys.has(key)) return `both touch ${shown(key)}`;
  }
  const keyless = [earlier, call].filter(({ keys }) => keys === undefined).map(({ toolName }) => shown(toolName));
  const writing = earlier.role === call.role ? 'both write' : `${shown(earlier.role === 'writer' ? earlier.toolName : call.toolName)} writes`;
  return `${writing}, and ${keyless.length === 2 ? 'neither says' : `${keyless[0]} does not say`} what it touches`;
}

/** A line end or an escape in a name would forge lines where plans are logged. */
function shown(text: string): string {
  const cut = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
}
