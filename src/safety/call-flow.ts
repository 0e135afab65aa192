import {
  FLOW_LABELS,
  FLOW_TARGETS,
  type Flow,
  type FlowCause,
  type FlowLabel,
  type FlowTarget,
} from '../core/flow.js';
import { hiddenWritten } from '../core/visible-text.js';
import type { DangerLevel } from '../core/enums.js';
import { isDangerous, isWriting } from '../core/enum-order.js';
import { once } from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CallContext, ToolCall } from './calls.js';
import { ignoreRejection } from './built-in-checks.js';

/** The flow of one call: the labels that it reads, and where it sends. */
interface CallFlow {
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
    if (
      known === false ||
      !known.every((label) => FLOW_LABELS.includes(label as FlowLabel)) ||
      !FLOW_TARGETS.includes(sends as FlowTarget)
    )
      return STRICTEST;
    return { reads: known as readonly FlowLabel[], sends: sends as FlowTarget };
  } catch {
    return STRICTEST;
  }
}

/** A call that what was read before may have brought about: what the conversation has read, and what the call would do. */
interface Influence {
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
export function influenceOn(
  entry: ToolEntry,
  input: unknown,
  flow: Flow,
  userText: CallContext['userText'],
  danger: DangerLevel,
): Influence | undefined {
  const { private: data, untrusted } = flow;
  if (untrusted === undefined) return undefined;
  const { sends } = flowOfCall(entry, input);
  if (sends === 'nowhere' && !isWriting(entry.accessMode)) return undefined;
  if (
    isUsersOwn(entry, input, userText) ||
    (sends === 'nowhere' && !isDangerous(danger) && reachesNothing(entry, input))
  )
    return undefined;
  const leaks = sends === 'outside' && data !== undefined;
  const would = `\`${entry.name}\` would ${sends === 'outside' ? `send outside${entry.inferred.includes('sends') ? ' (it does not declare where it sends)' : ''}` : 'write'}`;
  if (!leaks) return { leaks, reason: `${broughtBy(untrusted)}, and ${would}` };
  const isOne = data.callId === untrusted.callId && data.toolName === untrusted.toolName;
  return {
    leaks,
    reason: isOne
      ? `${broughtBy(untrusted)} and private data, and ${would}`
      : `${broughtBy(untrusted)}, ${callOf(data)} read ${data.inferred ? 'what may be ' : ''}private data, and ${would}`,
  };
}

const callOf = ({ toolName, callId }: FlowCause) =>
  `\`${plainOrQuoted(toolName)}\` (call ${plainOrQuoted(callId.slice(0, 64))})`;

/** Models and stored threads choose ids: one that reads like a part of the chain must be told from it. */
function plainOrQuoted(text: string): string {
  return /^[\w.:-]*$/.test(text) ? text : JSON.stringify(hiddenWritten(text));
}

function broughtBy(cause: FlowCause): string {
  const what =
    cause.from === undefined
      ? 'content that others may have written'
      : `content from ${plainOrQuoted(cause.from)}`;
  return `${callOf(cause)} brought ${what}${cause.inferred ? ' (it does not declare what it reads)' : ''}`;
}

/** Returns what a conversation has read after a call that was made in it. */
export function flowAfter(flow: Flow, call: ToolCall, entry: ToolEntry | undefined, at = 0): Flow {
  if (entry === undefined) return flow;
  const from = hostIn(call.input);
  const cause: FlowCause = Object.freeze({
    toolName: entry.name,
    callId: String(call.id).slice(0, 1_024),
    at,
    ...(from !== undefined && { from }),
    ...(entry.inferred.includes('reads') && { inferred: true as const }),
  });
  const read = Object.fromEntries(
    flowOfCall(entry, call.input).reads.map((label) => [label, cause]),
  ) as Flow;
  return Object.freeze({ ...read, ...flow });
}

/** Returns the host that the arguments of a call name, for the words of a chain. */
function hostIn(input: unknown): string | undefined {
  if (!isPlainObject(input)) return undefined;
  for (const value of Object.values(input)) {
    if (typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value))
      return new URL(value).hostname.slice(0, 253);
  }
  return undefined;
}

/** Formats of JSON Schema whose values name who or what is reached. */
const ADDRESSES: ReadonlySet<unknown> = new Set([
  'email',
  'idn-email',
  'uri',
  'url',
  'uri-reference',
  'iri',
  'iri-reference',
  'hostname',
  'idn-hostname',
  'ipv4',
  'ipv6',
]);
/** Deep enough for lists of recipients in objects. */
const DEEPEST = 6;

/** Returns true if a tool that names its sensitive arguments gets none of them, as one that makes a new draft. */
function reachesNothing(entry: ToolEntry, input: unknown): boolean {
  const { properties } = entry.inputJsonSchema;
  // A name that the input does not have is a mistake, behind which a recipient may stand.
  return (
    entry.sensitive?.every(
      (name) => isPlainObject(properties) && Object.hasOwn(properties, name),
    ) === true && sensitiveIn(entry, input).length === 0
  );
}

/** Returns true if the call has sensitive arguments, and the user named all of them. */
export function isUsersOwn(
  entry: ToolEntry,
  input: unknown,
  userText: CallContext['userText'],
): boolean {
  const values = sensitiveIn(entry, input);
  return values.length > 0 && areNamed(values, userText);
}

/** Returns true if the user named every value. */
export function areNamed(
  values: readonly unknown[],
  userText: CallContext['userText'] = [],
): boolean {
  const different = [...new Set(values)];
  if (different.length > MOST_VALUES) return false;
  const said = (typeof userText === 'string' ? [userText] : userText).map(readSaid);
  return different.every((value) => said.some((each) => occursIn(each, value)));
}

/** The values of a call's sensitive arguments; of a tool that does not name them, its addresses. */
function sensitiveIn(entry: ToolEntry, input: unknown): readonly unknown[] {
  if (!isPlainObject(input)) return [];
  if (entry.sensitive === undefined)
    return addressesIn(entry.inputJsonSchema, entry.inputJsonSchema, input, DEEPEST);
  return entry.sensitive.flatMap((name) =>
    leavesOf(Object.hasOwn(input, name) ? input[name] : undefined, DEEPEST),
  );
}

/** The texts, numbers and flags in a value, and keys that are addresses; what is missing or empty names nobody. */
function leavesOf(value: unknown, depth: number): readonly unknown[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value !== 'object') return [value];
  // Deeper than is looked at, or no plain data, such as a URL that the schema made: a value that occurs nowhere.
  if (depth === 0 || !(Array.isArray(value) || isPlainObject(value))) return [value];
  return Object.entries(value).flatMap(([key, each]) => [
    ...(/[@.:/]/.test(key) ? [key] : []),
    ...leavesOf(each, depth - 1),
  ]);
}

/** Keywords of schemas that are not followed: what they say of a value may be that it is an address. */
const UNFOLLOWED = [
  '$ref',
  '$dynamicRef',
  'if',
  'dependentSchemas',
  'patternProperties',
  'prefixItems',
  'contains',
  'unevaluatedProperties',
  'unevaluatedItems',
];

/**
 * Returns the values that a schema calls addresses, and those of which it says too little to tell: an argument that it does not
 * declare may be another recipient.
 *
 * @param isPart the schema is one of several for the value, which declare its arguments together.
 */
function addressesIn(
  root: unknown,
  given: unknown,
  value: unknown,
  depth: number,
  isPart = false,
): readonly unknown[] {
  const schema = referredTo(root, given);
  if (value === undefined || typeof schema === 'boolean') return [];
  if (
    depth === 0 ||
    !isPlainObject(schema) ||
    ADDRESSES.has(schema['format']) ||
    UNFOLLOWED.some((keyword) => schema[keyword] !== undefined)
  )
    return leavesOf(value, depth);
  const parts = [schema['anyOf'], schema['oneOf'], schema['allOf']]
    .flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []))
    .map((each) => referredTo(root, each));
  const inside = parts.flatMap((each) => addressesIn(root, each, value, depth - 1, true));
  if (Array.isArray(value)) {
    const items = schema['items'] ?? (parts.length > 0 || {});
    return [
      ...inside,
      ...(value as unknown[]).flatMap((item) => addressesIn(root, items, item, depth - 1)),
    ];
  }
  if (!isPlainObject(value)) return inside;
  const below = Object.entries(value).flatMap(([key, item]) => {
    const declared =
      declaredIn(schema, key) ??
      (isPlainObject(schema['additionalProperties']) ? schema['additionalProperties'] : undefined);
    if (declared !== undefined) return addressesIn(root, declared, item, depth - 1);
    return isPart || parts.some((each) => declaredIn(each, key) !== undefined)
      ? []
      : leavesOf(item, depth - 1);
  });
  return [...inside, ...below];
}

function declaredIn(schema: unknown, key: string): unknown {
  const properties = isPlainObject(schema) ? schema['properties'] : undefined;
  return isPlainObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

const ANNOTATIONS: readonly string[] = ['$ref', 'title', 'description', 'default', 'examples'];

/** Returns the schema that a reference into the same document names; any other schema as it is. */
function referredTo(root: unknown, schema: unknown): unknown {
  if (
    !isPlainObject(root) ||
    !isPlainObject(schema) ||
    !Object.keys(schema).every((keyword) => ANNOTATIONS.includes(keyword))
  )
    return schema;
  const [, place = '', name = ''] =
    /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String(schema['$ref'])) ?? [];
  const { [place]: schemas } = root;
  return isPlainObject(schemas) && Object.hasOwn(schemas, name) ? schemas[name] : schema;
}

/** The characters before and after words that the user named: a part of a longer address is another address. */
const BEFORE = /[\s"'`([{<,;:=«»“”‘’„]/u;
const AFTER = /^(?:$|[\s"'`)\]}>,;»«”“’]|[.:!?](?:$|[\s"'`)\]}>»«”“’]))/u;
/** The end of what goes on in the name of a mailbox, as in `o'brien@example.org`. */
const IN_MAILBOX = /[\p{L}\p{N}]['’=`{]$/u;
/** The inside of an address: what is named there is named by whoever made the address. */
const IN_ADDRESS = /(?::\/\/|\?)[^\s"<>`]*/g;
/** Shorter texts occur by chance; nobody types longer ones, or more of them, and a model could have them sought for minutes. */
const SHORTEST = 3;
const LONGEST = 2_048;
const MOST_VALUES = 200;
const LONGEST_NUMBER = 40;

/** A text of the user, read once for all values. */
interface Said {
  readonly words: Words;
  /** The text in lower case, for addresses of mail. */
  readonly lower: () => Words;
  readonly numbers: () => ReadonlySet<number>;
}

interface Words {
  readonly text: string;
  /** The first position of each address's inside, and the one after its last. */
  readonly addresses: readonly (readonly [start: number, end: number])[];
}

function readSaid(given: string): Said {
  const text = given.normalize('NFC');
  return {
    words: wordsOf(text),
    lower: once(() => wordsOf(text.toLowerCase())),
    numbers: once(() => numbersIn(text)),
  };
}

function wordsOf(text: string): Words {
  return {
    text,
    addresses: Array.from(
      text.matchAll(IN_ADDRESS),
      ({ 0: inside, index }) => [index, index + inside.length] as const,
    ),
  };
}

/** Returns the numbers in a text, with a comma before every three digits or as the decimal point. */
function numbersIn(text: string): ReadonlySet<number> {
  const numbers = new Set<number>();
  for (const [token] of text.matchAll(/(?<![\p{L}\p{N}.,-])-?\d+(?:[.,]\d+)*(?![\p{L}\p{N}])/gu)) {
    if (token.length > LONGEST_NUMBER) continue;
    if (/^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(token))
      numbers.add(Number(token.replaceAll(',', '')));
    else if (/^-?\d+(?:[.,]\d+)?$/.test(token)) numbers.add(Number(token.replace(',', '.')));
  }
  return numbers;
}

/** Returns true if the user's text has a value as words of its own, spelt as it is (addresses of mail in any case). */
function occursIn({ words, lower, numbers }: Said, value: unknown): boolean {
  if (typeof value === 'number') return numbers().has(value);
  if (typeof value !== 'string' || value.length > LONGEST) return false;
  const wanted = value.trim().normalize('NFC');
  const bare = wanted.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  const isMail = /^[^\s@/]+@[^\s@/]+$/u.test(wanted);
  if (isMail) return standsIn(lower(), wanted.toLowerCase(), true);
  return [...new Set([wanted, bare])].some(
    (each) => each.length >= SHORTEST && standsIn(words, each),
  );
}

function standsIn({ text, addresses }: Words, words: string, isMail = false): boolean {
  let next = 0;
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at)) {
    while (next < addresses.length && addresses[next]![1] <= at) next += 1;
    const isInside =
      (addresses[next] !== undefined && addresses[next]![0] < at) ||
      (isMail && IN_MAILBOX.test(text.slice(Math.max(0, at - 2), at)));
    if (
      !isInside &&
      (at === 0 || BEFORE.test(text[at - 1]!)) &&
      AFTER.test(text.slice(at + words.length, at + words.length + 2))
    )
      return true;
    // Only where a word starts: of a text of one letter every place begins with the value.
    do at += 1;
    while (at < text.length && !BEFORE.test(text[at - 1]!));
  }
  return false;
}
