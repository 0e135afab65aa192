import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { inManifestKeys } from '../capability/manifest/define-entry.js';
import type { CapabilityFinding } from '../capability/manifest/manifest-issue.js';
import { allowsPersona } from '../core/persona.js';
import { ownerKey, ownerMatches, parsePersonas } from '../capability/manifest/persona.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { publicMessage } from '../core/public-message.js';
import { lintEach, withSeverities, type LintRules } from '../registry/lint/lint-tools.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import { compareText } from '../core/plain-data.js';

/** A finding in wire format: something to fix in a manifest, or in a tool's metadata. */
export type FindingWire = { readonly [Field in 'line' | 'column']: number | null } & {
  readonly [Field in 'kind' | 'rule' | 'name' | 'persona' | 'source' | 'path']: string | null;
} & { readonly severity: CapabilityFinding['severity']; readonly message: string };

/** A finding, and the personas that may use the finding's tool. */
interface ListedFinding {
  readonly finding: FindingWire;
  readonly allowlist: readonly string[] | undefined;
}

/** The severities. Errors come first. */
export const SEVERITIES: readonly CapabilityFinding['severity'][] = ['error', 'warning'];

/**
 * Returns the findings in order. If personas are given, returns only findings about their items.
 */
export type Findings = (personas?: readonly string[]) => readonly ListedFinding[];

/** Collects a catalogue's findings only once per revision, because linting takes a while. */
export function findingsOf(capabilities: CapabilityRegistry, rules: LintRules): Findings {
  let revision: number | undefined;
  let found: readonly ListedFinding[] = [];
  return (personas) => {
    if (revision !== capabilities.revision) found = collectFindings(capabilities, rules);
    revision = capabilities.revision;
    const wanted = parsePersonas(personas);
    return found.filter(({ finding }) => ownerMatches(wanted, finding.persona));
  };
}

/** Returns all findings: errors first, manifests before lint, then by persona and name. */
function collectFindings(
  capabilities: CapabilityRegistry,
  rules: LintRules,
): readonly ListedFinding[] {
  return [...capabilities.findings.map(ofManifest), ...ofLint(capabilities, rules)].sort(
    (a, b) => rankOf(a) - rankOf(b) || compareText(placeOf(a), placeOf(b)),
  );
}

function rankOf({ finding: { severity, rule } }: ListedFinding): number {
  return 2 * SEVERITIES.indexOf(severity) + (rule === null ? 0 : 1);
}

function placeOf({ finding: { persona, name } }: ListedFinding): string {
  return `${ownerKey(persona)}/${name ?? ''}`;
}

function ofManifest(found: CapabilityFinding): ListedFinding {
  const { severity, kind, owner, file, line, column, path, entryName, message } = found;
  return {
    finding: {
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
    },
    allowlist: undefined,
  };
}

function* ofLint(capabilities: CapabilityRegistry, rules: LintRules): Iterable<ListedFinding> {
  const tools = capabilities
    .tools()
    .map((tool) => ({ tool, entry: tool.entry, owner: ownerKey(tool.owner) }));
  const names = namesOf(tools);
  const linted = lintEach(tools, {
    knows: (name, { owner }) => isKnown(names, '', name) || isKnown(names, owner, name),
    meet: (earlier, later) => meet(capabilities, earlier.tool, later.tool),
  });
  for (const [index, { tool }] of tools.entries())
    for (const { rule, severity, message } of withSeverities(linted[index]!, rules))
      yield {
        finding: {
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
        allowlist: tool.entry.personaAllowlist,
      };
}

/** Returns the names, aliases and categories of each owner's tools. */
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

function isKnown(names: ReadonlySet<string>, owner: string, name: string): boolean {
  return names.has(`${owner}/${name}`) || names.has(`${owner}/category ${normalizeLabel(name)}`);
}

/**
 * Returns true if some persona can call both tools. A persona's own tool replaces the shared tool
 * with the same name, and an allow-list may exclude personas.
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

/** Matches the path of a value that may contain credentials, in a manifest or a program. */
const PRIVATE = /\/(?:auth|providers|metadata)(?:\/|$)/;

/**
 * Returns a message for display. A message may quote a misplaced credential. In places where
 * credentials are declared, only the path is shown.
 */
function shownMessage(message: string, path: string): string {
  return PRIVATE.test(path)
    ? "The value here is wrong. It may be a credential, so it isn't shown. Run tooldex validate to see it."
    : publicMessage(message);
}
