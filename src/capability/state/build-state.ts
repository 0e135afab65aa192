import { canonicalJson, describeValue, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import {
  entryOf,
  isToolDefinition,
  type ToolDefinition,
  type ToolEntry,
} from '../../tool/tool-definition.js';
import {
  createTool,
  OwnedNames,
  type CapabilityTool,
  type LiveFacts,
  type ToolFacts,
} from './capability-items.js';
import type { SourceContent } from './capability-source.js';
import {
  findingAt,
  placeless,
  type CapabilityFinding,
  type Place,
} from '../manifest/manifest-issue.js';
import { unusedHandlers } from '../manifest/load-manifest.js';
import { personaKey } from '../manifest/persona.js';
import { ownerKey } from '../manifest/persona.js';
import type { FileContent } from './manifest-folder.js';
import { resolveWork, type ResolvedWork } from './resolve-work.js';

/** One item of the registry. */
type CapabilityRef = CapabilityChange['added'][number];

/** The changes of a refresh. */
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
  /** Says that the answer to any query, or a finding, is different. */
  readonly changed: boolean;
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
export function buildState(
  inputs: Inputs,
  revision: number,
  live: LiveFacts,
  before?: CapabilityState,
): CapabilityState {
  const findings = [
    ...inputs.findings,
    ...inputs.files.flatMap((file) => file.findings),
    ...inputs.sources.flatMap((source) => source.findings),
  ];
  const digests = new Map<CapabilityTool, string>();
  const byKey = new Map<string, CapabilityTool>();
  const { join, hasJoined } = createJoin(inputs.sources);
  for (const { place, ...declared } of declaredTools(inputs)) {
    const { name } = declared.entry;
    const key = `${ownerKey(declared.owner)}/${name}`;
    const first = byKey.get(key);
    if (hasJoined(declared.entry)) continue;
    if (first !== undefined) {
      findings.push(
        findingAt(
          place,
          'duplicate',
          'error',
          `Expected a name that no other tool of the same owner has, got ${describeValue(name)} again (first in ${first.source}). Rename or remove one.`,
          name,
        ),
      );
      continue;
    }
    const facts = {
      ...declared,
      entry: join(declared, (fault) =>
        findings.push(findingAt(place, 'invalid', 'error', fault, name)),
      ),
    };
    const { digest, tool = createTool(facts, live) } = unchanged(
      before,
      facts,
      facts.entry !== declared.entry,
    );
    byKey.set(key, tool);
    digests.set(tool, digest);
  }
  if (!findings.some(({ severity }) => severity === 'error'))
    findings.push(...handlerFindings(inputs));
  const tools = new OwnedNames([...byKey.values()]);
  const { findings: dangling, ...work } = resolveWork(
    inputs.files.flatMap((file) => file.work),
    tools,
    live,
  );
  return Object.freeze({
    revision,
    tools,
    ...work,
    findings: Object.freeze([...findings, ...dangling]),
    personas: personasOf(tools, work),
    ownersOf: groupByEntry(tools.all),
    contents: contentsOf(tools, digests, work),
  });
}

/** Returns findings for unused handlers, unless a tool that could not be read may be theirs. */
function handlerFindings({ handlers, files }: Inputs): readonly CapabilityFinding[] {
  const definitions = files.flatMap(({ tools }) => tools.map(({ definition }) => definition));
  return unusedHandlers(handlers, definitions).map((message) =>
    findingAt(placeless(null, CODE), 'dangling', 'warning', message),
  );
}

/** Joins tools of the program and of files with those of sources for which they stand; `hasJoined` tells which entries of sources these replace. */
function createJoin(contents: readonly SourceContent[]) {
  const sources = contents.flatMap(({ owner, join, definitions }) =>
    join === undefined
      ? []
      : [
          {
            owner,
            join,
            entries: new Map(
              definitions.map((definition) => [definition.name, entryOf(definition)]),
            ),
          },
        ],
  );
  const joined = new Set<ToolEntry>();
  /** Returns the joined tool, or the tool as it is. A shared tool is never joined with a persona's of its name. */
  const join = ({ owner, entry }: ToolFacts, tell: (fault: string) => void): ToolEntry => {
    if (entry.definition.execute !== undefined) return entry;
    for (const source of sources) {
      const same = source.entries.get(entry.name);
      const isOwn = ownerKey(source.owner) === ownerKey(owner);
      if (same === entry || (same !== undefined && !isOwn && source.owner !== null)) continue;
      try {
        const definition: unknown = source.join(entry.definition);
        if (!isToolDefinition(definition) || definition.name !== entry.name) continue;
        if (same !== undefined && isOwn) joined.add(same);
        return entryOf(definition);
      } catch (error) {
        tell(
          `Expected a tool that can be joined with the one for which it stands, got a failure: ${publicMessage(error).replace(/[.]$/, '')}.`,
        );
      }
    }
    return entry;
  };
  return { join, hasJoined: (entry: ToolEntry) => joined.has(entry) };
}

function* declaredTools({
  code,
  files,
  sources,
}: Inputs): Iterable<ToolFacts & { readonly place: Place }> {
  for (const definition of code)
    yield {
      owner: null,
      entry: entryOf(definition),
      manifest: null,
      source: CODE,
      place: placeless(null, CODE),
    };
  for (const { owner, file, tools } of files) {
    for (const { definition, manifest, line } of tools)
      yield {
        owner,
        entry: entryOf(definition),
        manifest,
        source: file,
        place: { owner, file, line, column: 1, path: '' },
      };
  }
  for (const { owner, name, definitions } of sources) {
    for (const definition of definitions)
      yield {
        owner,
        entry: entryOf(definition),
        manifest: null,
        source: name,
        place: placeless(owner, name),
      };
  }
}

const CODE = 'code';

/**
 * Returns the digest of a tool, and the tool of the previous state if nothing changed. An entry's digest does not cover
 * its functions: a tool of a source, or joined with one, is the same only as the same object.
 */
function unchanged(
  before: CapabilityState | undefined,
  { owner, entry, manifest, source }: ToolFacts,
  isJoined: boolean,
): { readonly digest: string; readonly tool?: CapabilityTool } {
  const tool = before?.tools.own(owner, entry.name);
  const known = before?.contents.get(refKey({ kind: 'tool', owner, name: entry.name }))?.digest;
  const isSame = tool?.entry === entry && tool.source === source && tool.owner === owner;
  // Digests take time.
  const digest =
    isSame && known !== undefined ? known : digestOf([owner, entry.digest, manifest, source]);
  return digest === known && (tool?.entry === entry || (manifest !== null && !isJoined))
    ? { digest, tool: tool! }
    : { digest };
}

/** Returns true if a state of the same content would come out. */
export function sameInputs(before: Inputs, after: Inputs): boolean {
  const sameSource = (source: SourceContent, index: number) => {
    const known = before.sources[index];
    return (
      known !== undefined &&
      known.owner === source.owner &&
      sameItems(known.definitions, source.definitions) &&
      canonicalJson(known.findings) === canonicalJson(source.findings)
    );
  };
  return (
    sameItems(before.files, after.files) &&
    canonicalJson(before.findings) === canonicalJson(after.findings) &&
    after.sources.every(sameSource)
  );
}

function sameItems(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((item, index) => item === after[index]);
}

function personasOf(
  tools: OwnedNames<CapabilityTool>,
  { skills, tasks, jobs }: Omit<ResolvedWork, 'findings'>,
): ReadonlyMap<string, string> {
  const names = [
    ...[tools, skills, tasks, jobs].flatMap(({ all }) => all.map(({ owner }) => owner ?? '')),
    ...tools.all.flatMap(({ entry }) => entry.personaAllowlist ?? []),
    ...jobs.all.flatMap(({ personas }) => personas),
  ];
  const personas = new Map<string, string>();
  for (const name of names)
    if (ownerKey(name) !== '' && !personas.has(personaKey(name)))
      personas.set(personaKey(name), name.trim());
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
  tools: OwnedNames<CapabilityTool>,
  digests: ReadonlyMap<CapabilityTool, string>,
  { skills, tasks, jobs }: Omit<ResolvedWork, 'findings'>,
): CapabilityState['contents'] {
  const contents = new Map<string, { readonly ref: CapabilityRef; readonly digest: string }>();
  const add = (
    kind: CapabilityRef['kind'],
    { owner, name }: Omit<CapabilityRef, 'kind'>,
    digest: string,
  ) => {
    const ref = Object.freeze({ kind, owner, name });
    contents.set(refKey(ref), { ref, digest });
  };
  for (const tool of tools.all) add('tool', tool, digests.get(tool)!);
  for (const item of skills.all)
    add('skill', item, digestOf([item.owner, item.source, item.manifest, item.unresolved]));
  for (const item of tasks.all)
    add('task', item, digestOf([item.owner, item.source, item.manifest, item.unresolved]));
  for (const item of jobs.all)
    add(
      'job',
      item,
      digestOf([
        item.owner,
        item.source,
        item.manifest,
        item.unresolved,
        item.requiredCapabilities,
      ]),
    );
  return contents;
}

function refKey({ kind, owner, name }: CapabilityRef): string {
  return `${kind}/${ownerKey(owner)}/${name}`;
}

/** Returns the items that were added, edited and removed between two states. */
export function differenceOf(
  before: CapabilityState['contents'],
  after: CapabilityState['contents'],
) {
  const pick = (
    from: CapabilityState['contents'],
    test: (key: string, digest: string) => boolean,
  ) =>
    Object.freeze(
      [...from].filter(([key, { digest }]) => test(key, digest)).map(([, { ref }]) => ref),
    );
  return Object.freeze({
    added: pick(after, (key) => !before.has(key)),
    edited: pick(after, (key, digest) => before.has(key) && before.get(key)!.digest !== digest),
    removed: pick(before, (key) => !after.has(key)),
  });
}
