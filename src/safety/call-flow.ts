import { z } from 'zod';
import { ExecutionCategory, SideEffect } from '../core/enums.js';
import type { Flow, FlowCause, FlowLabel } from '../core/flow.js';
import { once } from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import { hiddenWritten } from '../core/visible-text.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolCall } from './calls.js';

const ALL_LABELS: readonly FlowLabel[] = Object.freeze(['private', 'untrusted']);

/**
 * Returns the labels that a call adds to its conversation. A tool that doesn't declare `reads` adds
 * no labels or, with `strict`, all labels.
 */
function labelsOf({ reads, inferred }: ToolEntry, isStrict: boolean): readonly FlowLabel[] {
  if (!inferred.includes('reads')) return reads;
  return isStrict ? ALL_LABELS : [];
}

/**
 * Returns true if calls of this tool can reach people other than the user. For a tool that doesn't
 * declare `sends`, returns true if the tool declares network access or `strict` is set.
 */
export function sendsOutside(
  { sends, inferred, sideEffects, executionCategory }: ToolEntry,
  isStrict: boolean,
): boolean {
  if (!inferred.includes('sends')) return sends === 'outside';
  return (
    isStrict ||
    executionCategory === ExecutionCategory.NETWORK ||
    sideEffects.includes(SideEffect.NETWORK)
  );
}

/** Returns true for a tool that declares what it reads or sends, or that is assumed to do the worst. */
export function hasLabels(entry: ToolEntry, isStrict: boolean): boolean {
  const sends = !entry.inferred.includes('sends') && entry.sends === 'outside';
  return isStrict || sends || labelsOf(entry, isStrict).length > 0;
}

/** Returns the labels that a call would add to its conversation, or `undefined` if none are new. */
export function readBy(
  entry: ToolEntry,
  call: ToolCall,
  before: Flow,
  { at = 0, isStrict = false }: { readonly at?: number; readonly isStrict?: boolean } = {},
): Flow | undefined {
  const labels = labelsOf(entry, isStrict).filter((label) => before[label] === undefined);
  if (labels.length === 0) return undefined;
  const from = hostIn(call.input);
  const cause: FlowCause = Object.freeze({
    toolName: entry.name,
    callId: call.id.slice(0, 1_024),
    at,
    ...(from !== undefined && { from }),
    ...(entry.inferred.includes('reads') && { inferred: true as const }),
  });
  return Object.fromEntries(labels.map((label) => [label, cause]));
}

/** Returns the host in a call's arguments, to show it in explanations. */
function hostIn(input: unknown): string | undefined {
  if (!isPlainObject(input)) return undefined;
  const url = Object.values(input).find(
    (value) => typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value),
  );
  return url === undefined ? undefined : new URL(url as string).hostname.slice(0, 253);
}

/** Explains how content that the conversation has read could have caused the call. */
export function chainOf(
  entry: ToolEntry,
  { private: data, untrusted }: Flow,
  leaks: boolean,
): string {
  const brought = `${callOf(untrusted!)} brought content ${untrusted!.from === undefined ? 'that others may have written' : `from ${plainOrQuoted(untrusted!.from)}`}`;
  if (!leaks) return `${brought}, and \`${entry.name}\` would write`;
  const would = `and \`${entry.name}\` would send outside`;
  return data!.callId === untrusted!.callId && data!.toolName === untrusted!.toolName
    ? `${brought} and private data, ${would}`
    : `${brought}, ${callOf(data!)} read private data, ${would}`;
}

const callOf = ({ toolName, callId }: FlowCause) =>
  `\`${plainOrQuoted(toolName)}\` (call ${plainOrQuoted(callId.slice(0, 64))})`;

/** Returns a model's id in quotes if the id could be mistaken for part of the explanation. */
function plainOrQuoted(text: string): string {
  return /^[\w.:-]*$/.test(text) ? text : JSON.stringify(hiddenWritten(text));
}

const cause = () =>
  z.strictObject({
    toolName: z.string().max(128),
    callId: z.string().max(1_024),
    at: z.number(),
    from: z.string().max(253).optional(),
    inferred: z.literal(true).optional(),
  });

/** The schema of a conversation's labels as plain data, from a store or a stored session. */
export const flowSchema = once(() =>
  z.strictObject({ private: cause().optional(), untrusted: cause().optional() }),
);
