import { DangerLevel } from '../../core/enums.js';
import { compareText } from '../../core/plain-data.js';
import type { HealthSummary, Sample } from '../../providers/rolling-health.js';
import { unavailableReason } from '../../registry/tool-filter.js';
import type { SAFETY_LEVELS } from '../../tool/tool-fields.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { ownerKey } from '../manifest/persona.js';
import type { HealthLedger, ToolHealth } from './health-ledger.js';
import type { WorkKind, WorkManifests } from '../manifest/read-work.js';
import type { DeclaredTool } from '../manifest/read-manifest.js';

/**
 * A tool with its owner and state. `authStatus`, `health` and `available` are evaluated when you
 * read them.
 */
export interface CapabilityTool {
  /** The persona that owns the item, with its name spelled as declared. `null` for shared items. */
  readonly owner: string | null;
  readonly name: string;
  readonly entry: ToolEntry;
  /** The tool's entry in its file, in snake_case. `null` for tools from code. */
  readonly manifest: ManifestEntry | null;
  /** The file, relative to the root, or `code`, or the name of the source. */
  readonly source: string;
  /** The capability tags: trimmed, lower case, in order, without duplicates. */
  readonly capabilityTags: readonly string[];
  /** The declared authentication scopes, without duplicates. */
  readonly authScopes: readonly string[];
  /** The declared safety level, or else the level derived from the danger level. */
  readonly safetyLevel: (typeof SAFETY_LEVELS)[number];
  /** The state of the credentials. Never contains a variable's value. */
  readonly authStatus: {
    readonly required: boolean;
    /** True if the environment has the credentials. Only the service can check scopes. */
    readonly ready: boolean;
    /** The required variables that aren't set. */
    readonly missing: readonly string[];
  };
  readonly health: ToolHealth;
  /**
   * The calls that `health` is computed from, oldest first. Providers have the same names as in
   * `health`.
   */
  readonly samples: {
    readonly tool: readonly Sample[];
    readonly providers: Readonly<Record<string, readonly Sample[]>>;
  };
  /** True if the tool can be used now: it has its credentials, and its own check passes. */
  readonly available: boolean;
}

interface WorkItem<Kind extends WorkKind> {
  readonly owner: string | null;
  readonly name: string;
  /** The item's entry in its file, in snake_case, merged with the entries that it extends. */
  readonly manifest: WorkManifests[Kind];
  /** The file, relative to the root. */
  readonly source: string;
  readonly requiredTools: readonly string[];
  /**
   * The tools that the item needs, including the tools that its skills need. Tools that don't exist
   * are in `unresolved`.
   */
  readonly tools: readonly CapabilityTool[];
  /** References to items that don't exist. */
  readonly unresolved: Readonly<Record<'skills' | 'tools' | 'tasks', readonly string[]>>;
}

/** A skill from a manifest, with its references resolved. */
export interface CapabilitySkill extends WorkItem<'skill'> {
  readonly version: string;
  readonly capabilityTags: readonly string[];
  readonly requiredCapabilities: readonly string[];
  /** True if all tools of the skill exist and can be used now. */
  readonly available: boolean;
}

/** A task from a manifest, with its references resolved. */
export interface CapabilityTask extends WorkItem<'task'> {
  readonly requiredSkills: readonly string[];
  readonly tags: readonly string[];
  /** True if all skills and tools of the task exist and can be used now. */
  readonly available: boolean;
}

/** A job from a manifest, with its references resolved. */
export interface CapabilityJob extends WorkItem<'job'> {
  /** The personas that may schedule the job. */
  readonly personas: readonly string[];
  readonly requiredSkills: readonly string[];
  /**
   * The capabilities that its skills require, the capabilities that its skills have, and the
   * capabilities of its tools, without case-insensitive duplicates.
   */
  readonly requiredCapabilities: readonly string[];
  readonly health: HealthSummary;
  /** The last run. */
  readonly lastRun: Sample | null;
  /** True if all skills and tools of the job exist and can be used now. */
  readonly available: boolean;
}

/** The health and environment from which an item's state is read. */
export interface LiveFacts {
  readonly ledger: HealthLedger;
  readonly env: Environment;
}

export function createTool(
  { owner, entry, manifest, source }: DeclaredTool,
  { ledger, env }: LiveFacts,
): CapabilityTool {
  return Object.freeze({
    owner,
    name: entry.name,
    entry,
    manifest,
    source,
    capabilityTags: tagsOf(entry.capabilities),
    authScopes: textsOf(entry.auth?.scopes),
    safetyLevel: manifest?.safety_level ?? SAFETY_OF[entry.dangerLevel],
    get authStatus() {
      return authStatusOf(entry, env);
    },
    get health() {
      return ledger.tool(owner, entry);
    },
    get samples() {
      return ledger.samples(owner, entry);
    },
    get available() {
      return isAvailable(owner, entry, { ledger, env });
    },
  });
}

function isAvailable(owner: string | null, entry: ToolEntry, { ledger, env }: LiveFacts): boolean {
  const circumstances = {
    hasCredentials: authStatusOf(entry, env).ready,
    get hasProvider() {
      for (const { lastCall, backoffUntil } of Object.values(ledger.tool(owner, entry).providers))
        if (lastCall?.success === true && backoffUntil === null) return true;
      return false;
    },
  };
  return unavailableReason(entry, circumstances) === undefined;
}

/** Returns the trimmed strings, without duplicates and blanks. */
function textsOf(texts: readonly string[] = []): readonly string[] {
  return Object.freeze([...new Set(texts.map((text) => text.trim()).filter(Boolean))]);
}

/** Returns tags normalized for comparison: trimmed, lower case, without duplicates and blanks. */
export function tagsOf(tags: readonly string[] = []): readonly string[] {
  return textsOf(tags.map((tag) => tag.toLowerCase()));
}

const SAFETY_OF: Readonly<Record<DangerLevel, CapabilityTool['safetyLevel']>> = {
  [DangerLevel.SAFE]: 'low',
  [DangerLevel.LOW]: 'low',
  [DangerLevel.MEDIUM]: 'medium',
  [DangerLevel.HIGH]: 'high',
  [DangerLevel.CRITICAL]: 'high',
};

/** The variables that contain credentials. */
export type Environment = Readonly<Record<string, string | undefined>>;

const NOT_REQUIRED: CapabilityTool['authStatus'] = Object.freeze({
  required: false,
  ready: true,
  missing: Object.freeze([]),
});

/**
 * Checks whether the variables that a tool declares are set.
 *
 * If all variables are optional, at least one must be set. One variable is also enough for a tool
 * with several providers, because only the router knows which provider it can use.
 */
function authStatusOf(
  { auth, providers }: ToolEntry,
  env: Environment,
): CapabilityTool['authStatus'] {
  if (auth?.required !== true) return NOT_REQUIRED;
  const variables = Object.entries(auth.env ?? {});
  const missing: string[] = [];
  let hasRequired = false;
  let hasAny = false;
  for (const [variable, need] of variables) {
    const isSet = Object.hasOwn(env, variable) && Boolean(env[variable]);
    hasAny ||= isSet;
    hasRequired ||= need === 'required';
    if (need === 'required' && !isSet) missing.push(variable);
  }
  const satisfied = hasRequired ? missing.length === 0 : hasAny || variables.length === 0;
  return Object.freeze({
    required: true,
    ready: satisfied || (providers.length > 1 && hasAny),
    missing: Object.freeze(missing),
  });
}

/** The items of several owners, by owner and name. */
export class OwnedNames<Item extends Pick<CapabilityTool, 'owner' | 'name'>> {
  readonly #byOwner = new Map<string, Map<string, Item>>();
  /**
   * The items. Shared items come first, then the others by persona and name, case-insensitively.
   */
  readonly all: readonly Item[];

  /** @param items The items. No two items may have the same owner and name. */
  constructor(items: readonly Item[]) {
    for (const item of items) {
      const key = ownerKey(item.owner);
      const owned = this.#byOwner.get(key) ?? new Map<string, Item>();
      this.#byOwner.set(key, owned.set(item.name, item));
    }
    this.all = Object.freeze(sortOwned(items));
  }

  /** Returns the item with exactly this owner. */
  own(owner: string | null, name: string): Item | undefined {
    return this.#byOwner.get(ownerKey(owner))?.get(name);
  }

  /** Returns the item that a persona sees under a name: its own item, or else the shared item. */
  seenBy(persona: string | null, name: string): Item | undefined {
    return this.own(persona, name) ?? this.own(null, name);
  }

  /**
   * Returns all items that a persona sees. The persona's own items replace shared items with the
   * same name.
   */
  allSeenBy(persona: string | null): readonly Item[] {
    const own = this.#byOwner.get(ownerKey(persona));
    const shared = this.#byOwner.get('');
    if (own === undefined || own === shared) return sortOwned([...(shared?.values() ?? [])]);
    return sortOwned([...new Map([...(shared ?? []), ...own]).values()]);
  }

  /** Returns the items with this name, one per owner. */
  ownersOf(name: string): readonly Item[] {
    return [...this.#byOwner.values()].flatMap((owned) => owned.get(name) ?? []);
  }
}

function sortOwned<Item extends Pick<CapabilityTool, 'owner' | 'name'>>(
  items: readonly Item[],
): Item[] {
  return [...items].sort(
    (a, b) =>
      compareText(ownerKey(a.owner), ownerKey(b.owner)) ||
      compareText(a.name.toLowerCase(), b.name.toLowerCase()) ||
      compareText(a.name, b.name),
  );
}
