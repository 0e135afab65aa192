import { canonicalJson, describeValue, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { entryOf, isToolDefinition, type ToolDefinition, type ToolEntry } from '../../tool/tool-definition.js';
import { createTool, type CapabilityTool, type LiveFacts, type ToolFacts } from './capability-items.js';
import type { SourceContent } from './capability-source.js';
import { findingAt, placeless, type CapabilityFinding, type Place } from '../manifest/manifest-issue.js';
import { unusedHandlers } from '../manifest/load-manifest.js';
import { personaKey } from '../manifest/persona.js';
import { ownerKey } from '../manifest/persona.js';
import type { FileContent } from './manifest-folder.js';
import { OwnedNames } from './owned-names.js';
import { resolveWork, type ResolvedWork } from './resolve-work.js';

/** One item of the registry. */
export interface CapabilityRef {
  readonly kind: 'tool' | 'skill' | 'job' | 'task';
  readonly owner: string | null;
  readonly name: string;
}

/** The inputs of a state, at one moment. */
export interface Inputs {
  /** The tools of the program itself; they are shared. */
  readonly code: readonly ToolDefinition[];
  /** The names under which the program gives functions to tools of files. */
  readonly handlers: readonly string[];
  readonly files: readonly FileContent[];
  readonly sources: readonly SourceContent[];
  /** The problems of the folder itself. */
  readonly findings: readonly CapabilityFinding[];
}

/** The state from which queries are answered. It never changes: a new one takes its place. */
export interface CapabilityState extends Omit<ResolvedWork, 'findings'> {
  readonly revision: number;
  readonly tools: OwnedNames<CapabilityTool>;
  readonly findings: readonly CapabilityFinding[];
  /** The names of personas, by the key they are compared by: owners, and those that are allowed something. */
  readonly personas: ReadonlyMap<string, string>;
  /** The owners of each entry; one entry may have several. */
  readonly ownersOf: ReadonlyMap<ToolEntry, readonly CapabilityTool[]>;
  /** The items, each with a digest of its content. */
  readonly contents: ReadonlyMap<string, { readonly ref: CapabilityRef; readonly digest: string }>;
}

/**
 * Makes the next state. Items with the same content as before are the same objects.
 *
 * Among tools with the same owner and name those of the program win over files, and files over sources; the others are
 * findings. A tool without a function that stands for one of a source is joined with it.
 */
export function buildState(inputs: Inputs, revision: number, live: LiveFacts, before?: CapabilityState): CapabilityState {
  const findings = [...inputs.findings, ...inputs.files.flatMap((file) => file.findings), ...inputs.sources.flatMap((source) => source.findings)];
  const digests = new Map<CapabilityTool, string>();
  const held = new Map<string, CapabilityTool>();
  const joiner = new SourceJoiner(inputs.sources);
  for (const { place, ...declared } of declaredTools(inputs)) {
    const { name } = declared.entry;
    const key = `${ownerKey(declared.owner)}/${name}`;
    const first = held.get(key);
    if (joiner.hasJoined(declared.entry)) continue;
    if (first !== undefined) {
      findings.push(findingAt(place, 'duplicate', 'error', `Expected a name that no other tool of the same owner has, got ${describeValue(name)} again (first in ${first.source}). Rename or remove one.`, name));
      continue;
    }
    const facts = { ...declared, entry: joiner.join(declared, (fault) => findings.push(findingAt(place, 'invalid', 'error', fault, name))) };
    const digest = heldDigest(before, facts) ?? digestOf([facts.owner, facts.entry.digest, facts.manifest, facts.source]);
    const tool = unchanged(before, facts, digest, facts.entry !== declared.entry) ?? createTool(facts, live);
    held.set(key, tool);
    digests.set(tool, digest);
  }
  if (!findings.some(({ severity }) => severity === 'error')) findings.push(...handlerFindings(inputs));
  const tools = new OwnedNames([...held.values()]);
  const { findings: found, ...work } = resolveWork(inputs.files.flatMap((file) => file.work), tools, live);
  return Object.freeze({
    revision,
    tools,
    ...work,
    findings: Object.freeze([...findings, ...found]),
    personas: personasOf(tools, work),
    ownersOf: groupByEntry(tools.all),
    contents: contentsOf(tools, digests, work),
  });
}

/** Returns findings for unused handlers, unless a tool that could not be read may be theirs. */
function handlerFindings({ handlers, files }: Inputs): readonly CapabilityFinding[] {
  const definitions = files.flatMap(({ tools }) => tools.map(({ definition }) => definition));
  return unusedHandlers(handlers, definitions).map(({ message }) => findingAt(placeless(null, CODE), 'dangling', 'warning', message));
}

/** Joins tools of the program and of files with those of sources for which they stand. */
class SourceJoiner {
  readonly #sources: readonly { readonly owner: string | null; readonly join: NonNullable<SourceContent['join']>; readonly entries: ReadonlyMap<string, ToolEntry> }[];
  /** The entries of sources that others replace. */
  readonly #joined = new Set<ToolEntry>();

  constructor(sources: readonly SourceContent[]) {
    this.#sources = sources.flatMap(({ owner, join, definitions }) => (join === undefined ? [] : [{ owner, join, entries: new Map(definitions.map((definition) => [definition.name, entryOf(definition)])) }]));
  }

  hasJoined(entry: ToolEntry): boolean {
    return this.#joined.has(entry);
  }

  /** Returns the joined tool, or the tool as it is. A shared tool is never joined with a persona's of its name. */
  join({ owner, entry }: ToolFacts, tell: (fault: string) => void): ToolEntry {
    if (entry.definition.execute !== undefined) return entry;
    for (const source of this.#sources) {
      const same = source.entries.get(entry.name);
      const isOwn = ownerKey(source.owner) === ownerKey(owner);
      if (same === entry || (same !== undefined && !isOwn && source.owner !== null)) continue;
      try {
        const joined: unknown = source.join(entry.definition);
        if (!isToolDefinition(joined) || joined.name !== entry.name) continue;
        if (same !== undefined && isOwn) this.#joined.add(same);
        return entryOf(joined);
      } catch (error) {
        tell(`Expected a tool that can be joined with the one for which it stands, got a failure: ${publicMessage(error).replace(/[.]$/, '')}.`);
      }
    }
    return entry;
  }
}

function* declaredTools({ code, files, sources }: Inputs): Iterable<ToolFacts & { readonly place: Place }> {
  for (const definition of code) yield { owner: null, entry: entryOf(definition), manifest: null, source: CODE, place: placeless(null, CODE) };
  for (const { owner, file, tools } of files) {
    for (const { definition, manifest, line } of tools) yield { owner, entry: entryOf(definition), manifest, source: file, place: { owner, file, line, column: 1, path: '' } };
  }
  for (const { owner, name, definitions } of sources) {
    for (const definition of definitions) yield { owner, entry: entryOf(definition), manifest: null, source: name, place: placeless(owner, name) };
  }
}

const CODE = 'code';

/** Returns the digest of a tool that is the same object as before: digests take time. */
function heldDigest(before: CapabilityState | undefined, { owner, entry, source }: ToolFacts): string | undefined {
  const tool = before?.tools.own(owner, entry.name);
  return tool?.entry === entry && tool.source === source && tool.owner === owner ? before!.contents.get(refKey({ kind: 'tool', owner, name: entry.name }))?.digest : undefined;
}

/**
 * Returns the tool of the previous state if nothing changed. An entry's digest does not cover its functions: a tool of
 * a source, or joined with one, is the same only as the same object.
 */
function unchanged(before: CapabilityState | undefined, { owner, entry, manifest }: ToolFacts, digest: string, isJoined: boolean): CapabilityTool | undefined {
  const tool = before?.tools.own(owner, entry.name);
  if (tool === undefined || before!.contents.get(refKey({ kind: 'tool', owner, name: entry.name }))?.digest !== digest) return undefined;
  return tool.entry === entry || (manifest !== null && !isJoined) ? tool : undefined;
}

/** Returns true if a state of the same content would come out. */
export function sameInputs(before: Inputs, after: Inputs): boolean {
  const sameSource = (source: SourceContent, index: number) => {
    const known = before.sources[index];
    return known !== undefined && known.owner === source.owner && sameItems(known.definitions, source.definitions) && canonicalJson(known.findings) === canonicalJson(source.findings);
  };
  return sameItems(before.files, after.files) && canonicalJson(before.findings) === canonicalJson(after.findings) && after.sources.every(sameSource);
}

function sameItems(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((item, index) => item === after[index]);
}

function personasOf(tools: OwnedNames<CapabilityTool>, { skills, tasks, jobs }: Omit<ResolvedWork, 'findings'>): ReadonlyMap<string, string> {
  const names = [
    ...[tools, skills, tasks, jobs].flatMap(({ all }) => all.map(({ owner }) => owner ?? '')),
    ...tools.all.flatMap(({ entry }) => entry.personaAllowlist ?? []),
    ...jobs.all.flatMap(({ personas }) => personas),
  ];
  const personas = new Map<string, string>();
  for (const name of names) if (ownerKey(name) !== '' && !personas.has(personaKey(name))) personas.set(personaKey(name), name.trim());
  return personas;
}

function groupByEntry(tools: readonly CapabilityTool[]): ReadonlyMap<ToolEntry, readonly CapabilityTool[]> {
  const groups = new Map<ToolEntry, CapabilityTool[]>();
  for (const tool of tools) groups.set(tool.entry, [...(groups.get(tool.entry) ?? []), tool]);
  return groups;
}

function contentsOf(tools: OwnedNames<CapabilityTool>, digests: ReadonlyMap<CapabilityTool, string>, { skills, tasks, jobs }: Omit<ResolvedWork, 'findings'>): CapabilityState['contents'] {
  const work = [
    ...skills.all.map((item) => ['skill', item, digestOf([item.owner, item.source, item.manifest, item.unresolved])] as const),
    ...tasks.all.map((item) => ['task', item, digestOf([item.owner, item.source, item.manifest, item.unresolved])] as const),
    ...jobs.all.map((item) => ['job', item, digestOf([item.owner, item.source, item.manifest, item.unresolved, item.requiredCapabilities])] as const),
  ];
  const all = [...tools.all.map((item) => ['tool', item, digests.get(item)!] as const), ...work];
  return new Map(
    all.map(([kind, { owner, name }, digest]) => {
      const ref = Object.freeze({ kind, owner, name });
      return [refKey(ref), { ref, digest }];
    }),
  );
}

function refKey({ kind, owner, name }: CapabilityRef): string {
  return `${kind}/${ownerKey(owner)}/${name}`;
}

/** The items that were added, edited and removed between two states. */
export interface CapabilityDifference {
  readonly added: readonly CapabilityRef[];
  readonly edited: readonly CapabilityRef[];
  readonly removed: readonly CapabilityRef[];
}

export function differenceOf(before: CapabilityState['contents'], after: CapabilityState['contents']): CapabilityDifference {
  const pick = (from: CapabilityState['contents'], test: (key: string, digest: string) => boolean) => Object.freeze([...from].filter(([key, { digest }]) => test(key, digest)).map(([, { ref }]) => ref));
  return Object.freeze({
    added: pick(after, (key) => !before.has(key)),
    edited: pick(after, (key, digest) => before.has(key) && before.get(key)!.digest !== digest),
    removed: pick(before, (key) => !after.has(key)),
  });
}
