import { FLOW_LABELS, FLOW_TARGETS, type Flow, type FlowCause, type FlowLabel, type FlowTarget } from '../core/flow.js';
import type { DangerLevel } from '../core/enums.js';
import { isDangerous, isWriting } from '../core/enum-order.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CallContext, ToolCall } from './calls.js';
import { ignoreRejection } from './built-in-checks.js';

/** The flow of one call: the labels that it reads, and where it sends. */
export interface CallFlow {
  readonly reads: readonly FlowLabel[];
  readonly sends: FlowTarget;
}

const STRICTEST: CallFlow = Object.freeze({ reads: FLOW_LABELS, sends: 'outside' });

/** Returns what one call reads, and where it sends: as its tool declares, or as `flowFor` says of these arguments. One that fails knows nothing. */
function flowOfCall(entry: ToolEntry, input: unknown): CallFlow {
  if (entry.flowFor === undefined) return entry;
  try {
    const said: unknown = ignoreRejection(entry.flowFor(input as never));
    if (!isPlainObject(said)) return STRICTEST;
    const { reads = entry.reads, sends = entry.sends } = said;
    const known = Array.isArray(reads) && [...(reads as unknown[])];
    if (known === false || !known.every((label) => FLOW_LABELS.includes(label as FlowLabel)) || !FLOW_TARGETS.includes(sends as FlowTarget)) return STRICTEST;
    return { reads: known as readonly FlowLabel[], sends: sends as FlowTarget };
  } catch {
    return STRICTEST;
  }
}

/** A call that what was read before may have brought about: what the conversation has read, and what the call would do. */
export interface Influence {
  /** True where private data was read too, and the call sends outside. */
  readonly leaks: boolean;
  /** The chain in words. */
  readonly reason: string;
}

/**
 * Returns how what was read in a conversation may have brought a call about; `undefined` where it cannot have.
 *
 * Only untrusted content influences, and only calls that write or send matter. What the user typed is no influence: a call
 * whose sensitive arguments are all in the user's own words is the user's.
 */
export function influenceOn(entry: ToolEntry, input: unknown, flow: Flow, userText: CallContext['userText'], danger: DangerLevel): Influence | undefined {
  const { private: data, untrusted } = flow;
  if (untrusted === undefined) return undefined;
  const { sends } = flowOfCall(entry, input);
  if (sends === 'nowhere' && !isWriting(entry.accessMode)) return undefined;
  if (isUsersOwn(entry, input, userText) || (sends === 'nowhere' && !isDangerous(danger) && reachesNothing(entry, input))) return undefined;
  const leaks = sends === 'outside' && data !== undefined;
  const would = `\`${entry.name}\` would ${sends === 'outside' ? 'send outside' : 'write'}`;
  if (!leaks) return { leaks, reason: `${broughtBy(untrusted)}, and ${would}` };
  const isOne = data.callId === untrusted.callId && data.toolName === untrusted.toolName;
  return { leaks, reason: isOne ? `${broughtBy(untrusted)} and private data, and ${would}` : `${broughtBy(untrusted)}, ${callOf(data)} read ${data.inferred ? 'what may be ' : ''}private data, and ${would}` };
}

const callOf = ({ toolName, callId }: FlowCause) => `\`${toolName}\` (call ${callId.slice(0, 64)})`;

function broughtBy(cause: FlowCause): string {
  const what = cause.from === undefined ? 'content that others may have written' : `content from ${cause.from}`;
  return `${callOf(cause)} brought ${what}${cause.inferred ? ' (it does not declare what it reads)' : ''}`;
}

/** Returns what a conversation has read after a call that was made in it. */
export function flowAfter(flow: Flow, call: ToolCall, entry: ToolEntry | undefined, at = 0): Flow {
  if (entry === undefined) return flow;
  const from = hostIn(call.input);
  const cause: FlowCause = Object.freeze({ toolName: entry.name, callId: String(call.id).slice(0, 1_024), at, ...(from !== undefined && { from }), ...(entry.inferred.includes('reads') && { inferred: true as const }) });
  const read = Object.fromEntries(flowOfCall(entry, call.input).reads.map((label) => [label, cause])) as Flow;
  return Object.freeze({ ...read, ...flow });
}

/** Returns the host that the arguments of a call name, for the words of a chain. */
function hostIn(input: unknown): string | undefined {
  if (!isPlainObject(input)) return undefined;
  for (const value of Object.values(input)) {
    if (typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)) return new URL(value).hostname.slice(0, 253);
  }
  return undefined;
}

/** Formats of JSON Schema whose values name who or what is reached. */
const ADDRESSES: ReadonlySet<unknown> = new Set(['email', 'idn-email', 'uri', 'url', 'uri-reference', 'iri', 'iri-reference', 'hostname', 'idn-hostname', 'ipv4', 'ipv6']);
/** Deep enough for lists of recipients in objects. */
const DEEPEST = 6;

/** Returns true if a tool that names its sensitive arguments gets none of them, as one that makes a new draft. */
function reachesNothing(entry: ToolEntry, input: unknown): boolean {
  return entry.sensitive !== undefined && sensitiveIn(entry, input).length === 0;
}

/** Returns true if the call has sensitive arguments, and the user named all of them. */
export function isUsersOwn(entry: ToolEntry, input: unknown, userText: CallContext['userText']): boolean {
  const values = sensitiveIn(entry, input);
  return values.length > 0 && areNamed(values, userText);
}

/** Returns true if the user named every value. */
export function areNamed(values: readonly unknown[], userText: CallContext['userText'] = []): boolean {
  const distinct = new Set(values);
  if (distinct.size > MOST_VALUES) return false;
  const texts = (typeof userText === 'string' ? [userText] : userText).map((text) => text.normalize('NFC'));
  return [...distinct].every((value) => texts.some((text) => occursIn(text, value)));
}

/** The values of a call's sensitive arguments; of a tool that does not name them, its addresses. */
function sensitiveIn(entry: ToolEntry, input: unknown): readonly unknown[] {
  if (!isPlainObject(input)) return [];
  if (entry.sensitive === undefined) return addressesIn(entry.inputJsonSchema, input, DEEPEST);
  return entry.sensitive.flatMap((name) => leavesOf(Object.hasOwn(input, name) ? input[name] : undefined, DEEPEST));
}

/** The texts, numbers and flags in a value; what is missing or empty names nobody. */
function leavesOf(value: unknown, depth: number): readonly unknown[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value !== 'object') return [value];
  // Deeper than is looked at: a value that occurs nowhere.
  return depth === 0 ? [value] : Object.values(value).flatMap((each) => leavesOf(each, depth - 1));
}

function addressesIn(schema: unknown, value: unknown, depth: number): readonly unknown[] {
  if (!isPlainObject(schema) || value === undefined || depth === 0) return [];
  if (ADDRESSES.has(schema['format'])) return leavesOf(value, depth);
  const alternatives = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []));
  const inside = alternatives.flatMap((each) => addressesIn(each, value, depth - 1));
  if (Array.isArray(value)) return [...inside, ...(value as unknown[]).flatMap((item) => addressesIn(schema['items'], item, depth - 1))];
  const { properties } = schema;
  if (!isPlainObject(properties) || !isPlainObject(value)) return inside;
  return [...inside, ...Object.entries(value).flatMap(([key, item]) => (Object.hasOwn(properties, key) ? addressesIn(properties[key], item, depth - 1) : []))];
}

/** The characters before and after words that the user named: a part of a longer address is another address. */
const BEFORE = /[\s"'`([{<,;:=«»“”‘’„]/u;
const AFTER = /^(?:$|[\s"'`)\]}>,;!?»«”“’]|[.:](?:$|\s))/u;
/** Shorter texts occur by chance; nobody types longer ones, or more of them, and a model could have them sought for minutes. */
const SHORTEST = 3;
const LONGEST = 2_048;
const MOST_VALUES = 200;

/** Returns true if the user's text has a value as words of its own, spelt as it is (addresses of mail in any case). */
function occursIn(text: string, value: unknown): boolean {
  if (typeof value === 'number') return [...text.matchAll(/(?<![\p{L}\p{N}.,-])-?\d+(?:[.,]\d+)*(?![\p{L}\p{N}])/gu)].some(([number]) => Number(number.replaceAll(',', '')) === value || Number(number.replace(',', '.')) === value);
  if (typeof value !== 'string' || value.length > LONGEST) return false;
  const wanted = value.trim().normalize('NFC');
  const bare = wanted.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  const isMail = /^[^\s@/]+@[^\s@/]+$/u.test(wanted);
  const fold = (each: string) => (isMail ? each.toLowerCase() : each);
  const said = fold(text);
  return [...new Set([wanted, bare])].some((each) => each.length >= SHORTEST && standsIn(said, fold(each)));
}

function standsIn(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at)) {
    const startsWord = at === 0 || BEFORE.test(text[at - 1]!);
    if (startsWord && AFTER.test(text.slice(at + words.length, at + words.length + 2))) return true;
    // Only where a word starts: of a text of one letter every place begins with the value.
    do at += 1; while (at < text.length && !BEFORE.test(text[at - 1]!));
  }
  return false;
}
