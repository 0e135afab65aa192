import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { inManifestKeys } from '../capability/manifest/define-entry.js';
import type { CapabilityFinding } from '../capability/manifest/manifest-issue.js';
import {
  allowsPersona,
  ownerKey,
  ownerMatches,
  parsePersonas,
} from '../capability/manifest/persona.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { publicMessage } from '../core/public-message.js';
import { lintEach, withSeverities, type LintRules } from '../registry/lint/lint-tools.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import { toolKey, type Catalogue } from './callers-catalogue.js';
import { comparePlaces, type Place } from './page-of.js';

export const findingFields = [
  'severity',
  'kind',
  'rule',
  'name',
  'persona',
  'source',
  'line',
  'column',
  'path',
  'message',
] as const;

/** A finding on the wire: something to fix in a manifest, or in a tool's metadata. */
type FindingWire = { readonly [Field in 'line' | 'column']: number | null } & {
  readonly [Field in 'kind' | 'rule' | 'name' | 'persona' | 'source' | 'path']: string | null;
} & { readonly severity: CapabilityFinding['severity']; readonly message: string };

/** A finding with its place. Sorted by severity, then manifests first. */
interface PlacedFinding extends Place {
  readonly finding: FindingWire;
  readonly allowlist: readonly string[] | undefined;
}

/** The severities. The worst comes first. */
export const SEVERITIES: readonly CapabilityFinding['severity'][] = ['error', 'warning'];

/**
 * Returns the findings about what a caller sees, in order. With personas, only those about their
 * tools.
 */
export type Findings = (seen: Catalogue, personas?: readonly string[]) => readonly PlacedFinding[];

/** Collects the findings of a catalogue, once per revision because it takes a while. */
export function findingsOf(capabilities: CapabilityRegistry, rules: LintRules): Findings {
  let revision: number | undefined;
  let found: readonly PlacedFinding[] = [];
  return (seen, personas) => {
    if (revision !== capabilities.revision) found = collectFindings(capabilities, rules);
    revision = capabilities.revision;
    const hidden = new Set(capabilities.tools().map(toolKey));
    for (const tool of seen.tools()) hidden.delete(toolKey(tool));
    const wanted = parsePersonas(personas);
    return found.filter(
      ({ owner, finding: { name } }) =>
        ownerMatches(wanted, owner) && (name === null || !hidden.has(toolKey({ owner, name }))),
    );
  };
}

/** The number of characters of a name that order findings. A wrong entry may have a name of any length. */
const LONGEST_NAME = 128;

function collectFindings(
  capabilities: CapabilityRegistry,
  rules: LintRules,
): readonly PlacedFinding[] {
  const { findings: ofManifests } = capabilities;
  const tools = capabilities
    .tools()
    .map((tool) => ({ tool, entry: tool.entry, owner: ownerKey(tool.owner) }));
  const byRank: PlacedFinding[][] = SEVERITIES.flatMap(() => [[], []]);
  const add = (finding: FindingWire, allowlist?: readonly string[]) => {
    const rank = 2 * SEVERITIES.indexOf(finding.severity) + (finding.rule === null ? 0 : 1);
    byRank[rank]!.push({
      rank,
      owner: finding.persona,
      name: (finding.name ?? '').slice(0, LONGEST_NAME),
      nth: 0,
      finding,
      allowlist,
    });
  };
  for (const {
    severity,
    kind,
    owner,
    file,
    line,
    column,
    path,
    entryName,
    message,
  } of ofManifests) {
    add({
      severity,
      kind,
      rule: null,
      name: entryName ?? null,
      persona: owner,
      source: file,
      line,
      column,
      path,
      message: shownMessage(message, path),
    });
  }
  const names = namesOf(tools);
  const linted = lintEach(tools, {
    knows: (name, { owner }) =>
      ['', owner].some(
        (each) =>
          names.has(`${each}/${name}`) || names.has(`${each}/category ${normalizeLabel(name)}`),
      ),
    meet: (earlier, later) => meet(capabilities, earlier.tool, later.tool),
  });
  for (const [index, { tool }] of tools.entries()) {
    for (const { rule, severity, message } of withSeverities(linted[index]!, rules)) {
      add(
        {
          severity,
          kind: null,
          rule,
          name: tool.name,
          persona: tool.owner,
          source: tool.source,
          line: null,
          column: null,
          path: null,
          message: tool.manifest === null ? message : inManifestKeys(message),
        },
        tool.entry.personaAllowlist,
      );
    }
  }
  const found: PlacedFinding[] = [];
  for (const sameRank of byRank) {
    // Lint reports in order, but manifests of up to 1,000 entries each come in any order.
    sameRank.sort(comparePlaces);
    for (const placed of sameRank) {
      const before = found.at(-1);
      found.push(
        before !== undefined && comparePlaces({ ...before, nth: 0 }, placed) === 0
          ? { ...placed, nth: (before.nth ?? 0) + 1 }
          : placed,
      );
    }
  }
  return found;
}

/** The names, aliases and categories of each owner's tools. */
function namesOf(
  tools: readonly { readonly entry: CapabilityTool['entry']; readonly owner: string }[],
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { entry, owner } of tools) {
    for (const name of [entry.name, ...entry.aliases]) names.add(`${owner}/${name}`);
    if (entry.category !== undefined)
      names.add(`${owner}/category ${normalizeLabel(entry.category)}`);
  }
  return names;
}

/**
 * Returns true if some persona can call both tools. A persona's own tool replaces the shared one of the same name, and
 * allow-lists keep personas out.
 */
function meet(capabilities: CapabilityRegistry, a: CapabilityTool, b: CapabilityTool): boolean {
  const owner = a.owner ?? b.owner;
  const [ofA, ofB] = [a.entry.personaAllowlist, b.entry.personaAllowlist];
  if (owner !== null && ownerKey(owner) !== '')
    return [a, b].every(
      (tool) =>
        capabilities.tool(tool.name, owner) === tool &&
        allowsPersona(tool.entry.personaAllowlist, owner),
    );
  return (
    ofA === undefined || ofB === undefined || ofA.some((persona) => allowsPersona(ofB, persona))
  );
}

/** The places where manifests or programs keep credentials. */
const PRIVATE = /\/(?:auth|providers|metadata)(?:\/|$)/;

/**
 * Returns a message for display. Messages quote values, which may be misplaced credentials; in that
 * case only the place is named.
 */
function shownMessage(message: string, path: string): string {
  return PRIVATE.test(path)
    ? 'The value here is wrong. It may be a credential, so it is not shown. Run tooldex validate to see it.'
    : publicMessage(message);
}
