import { canonicalJson, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import {
  entryOf,
  isToolDefinition,
  type ToolDefinition,
  type ToolEntry,
} from '../../tool/tool-definition.js';
import type { FileContent } from '../manifest/file-content.js';
import { withoutDuplicates } from '../manifest/load-manifest.js';
import { findingAt, placeless, type CapabilityFinding } from '../manifest/manifest-issue.js';
import { personaKey } from '../../core/persona.js';
import { ownerKey } from '../manifest/persona.js';
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

/** An item of the registry. */
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
  /** True if a finding or the result of any query has changed. */
  readonly changed: boolean;
}

/** The inputs that a state is built from. */
export interface Inputs {
  readonly files: readonly FileContent[];
  readonly sources: readonly SourceContent[];
  /** The program's own tools, which are shared. */
  readonly code: readonly ToolDefinition[];
  /** Problems with the folder itself. */
  readonly findings: readonly CapabilityFinding[];
}

/** The state that queries read. A state is immutable, and is replaced by the next state. */
export interface CapabilityState extends ResolvedWork {
  readonly revision: number;
  readonly tools: OwnedNames<CapabilityTool>;
  /** The names of all personas that own or may use something, by `personaKey`. */
  readonly personas: ReadonlyMap<string, string>;
  /**
   * The catalogue's tools for each registry entry. Several personas may own a tool with the same
   * entry.
   */
  readonly ownersOf: ReadonlyMap<ToolEntry, readonly CapabilityTool[]>;
  /** The items, with digests of their content. */
  readonly contents: Contents;
}

type Contents = ReadonlyMap<string, { readonly ref: CapabilityRef; readonly digest: string }>;

/** The state before the first refresh. */
export const EMPTY: CapabilityState = Object.freeze({
  revision: 0,
  tools: new OwnedNames<CapabilityTool>([]),
  skills: new OwnedNames<CapabilitySkill>([]),
  tasks: new OwnedNames<CapabilityTask>([]),
  jobs: new OwnedNames<CapabilityJob>([]),
  findings: [],
  personas: new Map(),
  ownersOf: new Map(),
  contents: new Map(),
});

/**
 * Builds the next state. If a tool's content is unchanged, the tool's object is kept.
 *
 * If several tools have the same owner and name, the program's own tool comes first, then a tool
 * from a file, then a tool from a source. Only the first is used. All other tools with the same
 * owner and name are reported. A tool without a function is joined with the source's tool that
 * answers its calls.
 */
export function build(inputs: Inputs, live: LiveFacts, before: CapabilityState): CapabilityState {
  const { files, sources, code } = inputs;
  const findings = [inputs, ...files, ...sources].flatMap((part) => part.findings);
  const declared = [
    ...code.map((each) => placed(each, null, CODE)),
    ...files.flatMap((file): readonly DeclaredTool[] => file.tools),
  ];
  const { joined, taken } = join(declared, sources, findings);
  const usable = withoutDuplicates([...joined, ...discoveredIn(sources, taken)], findings);
  const tools = new OwnedNames(
    usable.map(
      (tool) =>
        sameAs(before.tools.own(tool.owner, tool.entry.name), tool) ?? createTool(tool, live),
    ),
  );
  const work = resolveWork(
    files.flatMap((file) => file.work),
    tools,
    live,
  );
  const { skills, tasks, jobs } = work;
  const contents = contentsOf({ tool: tools, skill: skills, task: tasks, job: jobs });
  const all = Object.freeze([...findings, ...work.findings]);
  const changed =
    before.revision === 0 ||
    Object.values(differenceOf(before.contents, contents)).some(({ length }) => length > 0) ||
    canonicalJson(before.findings) !== canonicalJson(all);
  return Object.freeze({
    ...work,
    revision: before.revision + Number(changed),
    tools,
    findings: all,
    personas: personasOf(tools, work),
    ownersOf: groupByEntry(tools.all),
    contents,
  });
}

const CODE = 'code';

/** Returns the sources' tools that no declared tool was joined with. */
function* discoveredIn(
  sources: readonly SourceContent[],
  taken: ReadonlySet<ToolDefinition>,
): Iterable<DeclaredTool> {
  for (const { owner, name, definitions } of sources)
    for (const each of definitions) if (!taken.has(each)) yield placed(each, owner, name);
}

function placed(definition: ToolDefinition, owner: string | null, source: string): DeclaredTool {
  const place = placeless(owner, source);
  return { owner, entry: entryOf(definition), manifest: null, source, place };
}

/** Returns the previous tool if it's unchanged, including its function. */
function sameAs(
  before: CapabilityTool | undefined,
  { entry, manifest, source }: DeclaredTool,
): CapabilityTool | undefined {
  const isSame =
    before?.source === source &&
    (before.entry === entry ||
      (manifest !== null &&
        before.entry.definition.execute === entry.definition.execute &&
        before.entry.digest === entry.digest &&
        canonicalJson(before.manifest) === canonicalJson(manifest)));
  return isSame ? before : undefined;
}

/**
 * Joins declared tools that have no function with the sources' tools that answer their calls.
 * `taken` contains the sources' definitions that are replaced by joined tools. A shared tool is
 * never joined with a persona's tool of the same name.
 */
function join(
  declared: readonly DeclaredTool[],
  sources: readonly SourceContent[],
  findings: CapabilityFinding[],
) {
  const taken = new Set<ToolDefinition>();
  const joined = declared.map((tool): DeclaredTool => {
    const { owner, entry, place } = tool;
    if (entry.definition.execute !== undefined) return tool;
    for (const source of sources) {
      const same = source.definitions.find(({ name }) => name === entry.name);
      const isOwn = ownerKey(source.owner) === ownerKey(owner);
      if (same !== undefined && !isOwn && source.owner !== null) continue;
      try {
        const definition: unknown = source.join?.(entry.definition);
        if (!isToolDefinition(definition) || definition.name !== entry.name) continue;
        if (same !== undefined && isOwn) taken.add(same);
        return { ...tool, entry: entryOf(definition) };
      } catch (error) {
        const message = `The tool couldn't be joined with the source's tool that answers its calls: ${publicMessage(error).replace(/[.]$/, '')}.`;
        findings.push(findingAt(place, 'invalid', 'error', message, entry.name));
      }
    }
    return tool;
  });
  return { joined, taken };
}

function personasOf(
  tools: OwnedNames<CapabilityTool>,
  work: ResolvedWork,
): ReadonlyMap<string, string> {
  const personas = new Map<string, string>();
  for (const name of personaNames(tools, work)) {
    const key = personaKey(name);
    if (key !== '' && !personas.has(key)) personas.set(key, name.trim());
  }
  return personas;
}

function* personaNames(
  tools: OwnedNames<CapabilityTool>,
  { skills, tasks, jobs }: ResolvedWork,
): Iterable<string> {
  for (const { all } of [tools, skills, tasks, jobs])
    for (const { owner } of all) if (owner !== null) yield owner;
  for (const { entry } of tools.all) yield* entry.personaAllowlist ?? [];
  for (const { personas } of jobs.all) yield* personas;
}

function groupByEntry(
  tools: readonly CapabilityTool[],
): ReadonlyMap<ToolEntry, readonly CapabilityTool[]> {
  const groups = new Map<ToolEntry, CapabilityTool[]>();
  for (const tool of tools) groups.set(tool.entry, [...(groups.get(tool.entry) ?? []), tool]);
  return groups;
}

type Item = CapabilityTool | CapabilitySkill | CapabilityTask | CapabilityJob;

function contentsOf(
  kinds: Readonly<Record<CapabilityRef['kind'], { readonly all: readonly Item[] }>>,
): Contents {
  const contents = Object.entries(kinds).flatMap(([kind, { all }]) =>
    all.map((item) => {
      const { owner, name, source, manifest } = item;
      const ref = Object.freeze({ kind: kind as CapabilityRef['kind'], owner, name });
      const more =
        'entry' in item
          ? item.entry.digest
          : [item.unresolved, 'requiredCapabilities' in item ? item.requiredCapabilities : []];
      const digest = digestOf([owner, source, manifest, more]);
      return [`${kind}/${ownerKey(owner)}/${name}`, { ref, digest }] as const;
    }),
  );
  return new Map(contents);
}

/** Returns the items that were added, edited and removed between two states. */
export function differenceOf(before: Contents, after: Contents) {
  const [added, edited, removed]: [CapabilityRef[], CapabilityRef[], CapabilityRef[]] = [
    [],
    [],
    [],
  ];
  for (const [key, { ref, digest }] of after) {
    const previous = before.get(key);
    if (previous === undefined) added.push(ref);
    else if (previous.digest !== digest) edited.push(ref);
  }
  for (const [key, { ref }] of before) if (!after.has(key)) removed.push(ref);
  return Object.freeze({
    added: Object.freeze(added),
    edited: Object.freeze(edited),
    removed: Object.freeze(removed),
  });
}
