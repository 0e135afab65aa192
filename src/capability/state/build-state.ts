import { canonicalJson, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import {
  entryOf,
  isToolDefinition,
  type ToolDefinition,
  type ToolEntry,
} from '../../tool/tool-definition.js';
import { type FileContent, hasErrors } from '../manifest/file-content.js';
import { unusedHandlers, withoutDuplicates } from '../manifest/load-manifest.js';
import { findingAt, placeless, type CapabilityFinding } from '../manifest/manifest-issue.js';
import { ownerKey, personaKey } from '../manifest/persona.js';
import type { DeclaredTool } from '../manifest/read-manifest.js';
import {
  createTool,
  OwnedNames,
  type CapabilityJob,
  type CapabilitySkill,
  type CapabilityTask,
  type CapabilityTool,
  type LiveFacts,
} from './capability-items.js';
import type { SourceContent } from './capability-source.js';
import { resolveWork, type ResolvedWork } from './resolve-work.js';

/** One item of the registry. */
type CapabilityRef = CapabilityChange['added'][number];

/** The changes made by a refresh. */
export interface CapabilityChange extends Readonly<
  Record<
    'added' | 'edited' | 'removed',
    readonly {
      readonly kind: 'tool' | 'skill' | 'job' | 'task';
      readonly owner: string | null;
      readonly name: string;
    }[]
  >
> {
  readonly revision: number;
  /** True if the answer to any query, or a finding, is different. */
  readonly changed: boolean;
}

/** The parts of a state at one moment. */
export interface Inputs {
  readonly files: readonly FileContent[];
  readonly sources: readonly SourceContent[];
  /** The program's own tools, which are shared. */
  readonly code: readonly ToolDefinition[];
  /** The names under which the program provides functions for tools from files. */
  readonly handlers: readonly string[];
  /** Problems of the folder itself. */
  readonly findings: readonly CapabilityFinding[];
}

/**
 * Returns true if the new state would have the same content, which is the usual case when files are
 * watched.
 */
export function isSame(before: Inputs, after: Inputs): boolean {
  const [parts, known] = [after, before].map(({ files, sources, findings }) => [
    ...[...files, canonicalJson(findings)],
    ...sources.flatMap((source) => [
      source.owner,
      canonicalJson(source.findings),
      ...source.definitions,
    ]),
  ]);
  return parts!.length === known!.length && parts!.every((part, index) => part === known![index]);
}

/** The state that answers queries. It never changes; a new state replaces it. */
export interface CapabilityState extends ResolvedWork {
  readonly revision: number;
  readonly tools: OwnedNames<CapabilityTool>;
  /** The names of all personas that own or may use something, by the key for comparing them. */
  readonly personas: ReadonlyMap<string, string>;
  /** The owners of each entry. An entry may have several. */
  readonly ownersOf: ReadonlyMap<ToolEntry, readonly CapabilityTool[]>;
  /** The items with digests of their content. */
  readonly contents: Contents;
}

type Contents = ReadonlyMap<
  string,
  { readonly ref: CapabilityRef; readonly item: object; readonly digest: string }
>;

/**
 * Builds the next state. A tool whose content is unchanged stays the same object.
 *
 * Among tools with the same owner and name, the program's win over files, and files over sources;
 * the others are reported. A tool without a function that stands for a source's tool is joined with
 * it.
 */
export function build(inputs: Inputs, live: LiveFacts, before?: CapabilityState): CapabilityState {
  const { files, sources, code, handlers } = inputs;
  const findings = [inputs, ...files, ...sources].flatMap((part) => part.findings);
  const ofFiles = files.flatMap((file): readonly DeclaredTool[] => file.tools);
  const declared = [...code.map((each) => placed(each, null, CODE)), ...ofFiles];
  const join = createJoin(sources, findings);
  const joined = declared.map((tool) => join(tool));
  // A tool that a declared tool stands for isn't a tool of its own.
  const rest = sources.flatMap(({ owner, name, definitions }) =>
    definitions
      .map((each) => placed(each, owner, name))
      .filter(({ entry }) => !join.taken.has(entry)),
  );
  const list = withoutDuplicates([...joined, ...rest.map((tool) => join(tool))], findings).map(
    (tool) =>
      sameAs(before?.tools.own(tool.owner, tool.entry.name), tool) ?? createTool(tool, live),
  );
  if (!hasErrors(findings))
    findings.push(...unusedHandlers(handlers, ofFiles, placeless(null, CODE)));
  const tools = new OwnedNames(list);
  const work = resolveWork(
    files.flatMap((file) => file.work),
    tools,
    live,
  );
  const contents = contentsOf(
    { tool: tools, skill: work.skills, task: work.tasks, job: work.jobs },
    before,
  );
  const all = Object.freeze([...findings, ...work.findings]);
  const changed =
    before === undefined ||
    before.revision === 0 ||
    contents.size !== before.contents.size ||
    [...contents].some(([key, { digest }]) => before.contents.get(key)?.digest !== digest) ||
    canonicalJson(before.findings) !== canonicalJson(all);
  return Object.freeze({
    ...work,
    revision: (before?.revision ?? 0) + Number(changed),
    tools,
    findings: all,
    personas: personasOf(tools, work),
    ownersOf: groupByEntry(tools.all),
    contents,
  });
}

const CODE = 'code';

function placed(definition: ToolDefinition, owner: string | null, source: string): DeclaredTool {
  const place = placeless(owner, source);
  return { owner, entry: entryOf(definition), manifest: null, source, place };
}

/**
 * Returns the previous tool if it's unchanged. Digests don't cover functions, so only a file's own
 * tool may be a different object.
 */
function sameAs(
  before: CapabilityTool | undefined,
  { entry, manifest, source, isJoined }: DeclaredTool & { readonly isJoined?: boolean },
): CapabilityTool | undefined {
  const isSame =
    before?.source === source &&
    (before.entry === entry ||
      (manifest !== null &&
        isJoined !== true &&
        before.entry.digest === entry.digest &&
        canonicalJson(before.manifest) === canonicalJson(manifest)));
  return isSame ? before : undefined;
}

/**
 * Returns a function that joins a tool without a function with the source's tool that it stands
 * for. `taken` has the sources' entries that such tools replace. A shared tool is never joined with
 * a persona's tool of the same name.
 */
function createJoin(contents: readonly SourceContent[], findings: CapabilityFinding[]) {
  const taken = new Set<ToolEntry>();
  const joinWith = (tool: DeclaredTool): DeclaredTool & { readonly isJoined?: boolean } => {
    const { owner, entry, place } = tool;
    if (entry.definition.execute !== undefined) return tool;
    for (const source of contents) {
      const same = source.definitions.find(({ name }) => name === entry.name);
      const isOwn = ownerKey(source.owner) === ownerKey(owner);
      if (same === entry.definition || (same !== undefined && !isOwn && source.owner !== null))
        continue;
      try {
        const definition: unknown = source.join?.(entry.definition);
        if (!isToolDefinition(definition) || definition.name !== entry.name) continue;
        if (same !== undefined && isOwn) taken.add(entryOf(same));
        return { ...tool, entry: entryOf(definition), isJoined: true };
      } catch (error) {
        const message = `The tool could not be joined with the one it stands for: ${publicMessage(error).replace(/[.]$/, '')}.`;
        findings.push(findingAt(place, 'invalid', 'error', message, entry.name));
      }
    }
    return tool;
  };
  return Object.assign(joinWith, { taken });
}

function personasOf(
  tools: OwnedNames<CapabilityTool>,
  { skills, tasks, jobs }: ResolvedWork,
): ReadonlyMap<string, string> {
  const names = [
    ...[tools, skills, tasks, jobs].flatMap(({ all }) => all.map(({ owner }) => owner ?? '')),
    ...tools.all.flatMap(({ entry }) => entry.personaAllowlist ?? []),
    ...jobs.all.flatMap(({ personas }) => personas),
  ].filter((name) => ownerKey(name) !== '');
  const personas = new Map<string, string>();
  for (const name of names)
    if (!personas.has(personaKey(name))) personas.set(personaKey(name), name.trim());
  return personas;
}

function groupByEntry(
  tools: readonly CapabilityTool[],
): ReadonlyMap<ToolEntry, readonly CapabilityTool[]> {
  const groups = new Map<ToolEntry, CapabilityTool[]>();
  for (const tool of tools) groups.set(tool.entry, [...(groups.get(tool.entry) ?? []), tool]);
  return groups;
}

function contentsOf(
  kinds: Readonly<
    Record<
      CapabilityRef['kind'],
      OwnedNames<CapabilityTool | CapabilitySkill | CapabilityTask | CapabilityJob>
    >
  >,
  before: CapabilityState | undefined,
): Contents {
  const contents = new Map<string, { ref: CapabilityRef; item: object; digest: string }>();
  for (const [kind, { all }] of Object.entries(kinds) as [
    CapabilityRef['kind'],
    (typeof kinds)['tool'],
  ][])
    for (const item of all) {
      const { owner, name, source, manifest } = item;
      const key = `${kind}/${ownerKey(owner)}/${name}`;
      const known = before?.contents.get(key);
      const more =
        'entry' in item
          ? item.entry.digest
          : [item.unresolved, 'requiredCapabilities' in item ? item.requiredCapabilities : []];
      contents.set(key, {
        ref: Object.freeze({ kind, owner, name }),
        item,
        digest: known?.item === item ? known.digest : digestOf([owner, source, manifest, more]),
      });
    }
  return contents;
}

/** Returns the items that were added, edited and removed between two states. */
export function differenceOf(before: Contents, after: Contents) {
  const pick = (from: Contents, test: (digest: string, key: string) => boolean) =>
    Object.freeze(
      [...from].filter(([key, { digest }]) => test(digest, key)).map(([, { ref }]) => ref),
    );
  return Object.freeze({
    added: pick(after, (_, key) => !before.has(key)),
    edited: pick(after, (digest, key) => (before.get(key)?.digest ?? digest) !== digest),
    removed: pick(before, (_, key) => !after.has(key)),
  });
}
