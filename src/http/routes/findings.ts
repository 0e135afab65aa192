import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import type { CapabilityFinding } from '../../capability/manifest/manifest-issue.js';
import {
  allowsPersona,
  ownerKey,
  ownerMatches,
  parsePersonas,
  type PersonaFilter,
} from '../../capability/manifest/persona.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { publicMessage } from '../../core/public-message.js';
import { lintEach, withSeverities, type LintRules } from '../../registry/lint/lint-tools.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import { contentAnswer, listStart } from '../answers/answer.js';
import type { FindingWire } from '../answers/wire.js';
import { toolKey, type Catalogue } from '../query/callers-catalogue.js';
import { comparePlaces, PAGE_PARAMETERS, pageOf, type Place } from '../query/page-of.js';
import type { Parameter } from '../query/parameters.js';
import { compatibilityFor, PERSONA, personasAsked } from '../query/personas.js';
import { listSchema, type Route } from './route.js';

const FINDING_FIELDS: readonly (keyof FindingWire)[] = [
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
];

/** A finding at its place: the worst first, and those of manifests first within a severity. */
interface PlacedFinding extends Place {
  readonly finding: FindingWire;
  readonly allowlist: readonly string[] | undefined;
  readonly nth: number;
}

/** The findings of one revision, in order. */
interface FindingsReport {
  readonly revision: number;
  readonly found: readonly PlacedFinding[];
}

/**
 * The findings of a catalogue. Collecting them takes a while, so it happens once per revision.
 */
class Findings {
  readonly #capabilities: CapabilityRegistry;
  readonly #rules: LintRules;
  #report: FindingsReport | undefined;

  constructor(capabilities: CapabilityRegistry, rules: LintRules) {
    this.#capabilities = capabilities;
    this.#rules = rules;
  }

  /** Returns the findings for some personas about what the caller sees, in order, and their number by severity. */
  of(
    wanted: PersonaFilter,
    seen: Catalogue,
  ): FindingsReport & { readonly severities: Readonly<Record<string, number>> } {
    const { revision, found } = this.#present();
    const hiddenKeys = new Set(this.#capabilities.tools().map(toolKey));
    for (const tool of seen.tools()) hiddenKeys.delete(toolKey(tool));
    const isHidden = ({ persona: owner, name }: FindingWire) =>
      name !== null && hiddenKeys.has(toolKey({ owner, name }));
    const shown = found.filter(
      ({ owner, finding }) => ownerMatches(wanted, owner) && !isHidden(finding),
    );
    const count = (severity: string) =>
      shown.reduce((sum, { finding }) => sum + (finding.severity === severity ? 1 : 0), 0);
    return {
      revision,
      found: shown,
      severities: Object.fromEntries(SEVERITIES.map((severity) => [severity, count(severity)])),
    };
  }

  /** Returns the report of the present revision, made once. */
  #present(): FindingsReport {
    if (this.#report?.revision !== this.#capabilities.revision)
      this.#report = reportOf(this.#capabilities, this.#rules);
    return this.#report;
  }
}

/** The severities, the worst first. */
const SEVERITIES: readonly CapabilityFinding['severity'][] = ['error', 'warning'];
/** Characters of a name that places tell apart: the name of an entry that was left out may be of any length. */
const LONGEST_NAME = 128;

function reportOf(capabilities: CapabilityRegistry, rules: LintRules): FindingsReport {
  const { revision, findings: ofManifests } = capabilities;
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
    // Findings of lint come in order; files have at most 1,000 entries each, in any order.
    sameRank.sort(comparePlaces);
    for (const placed of sameRank) {
      const before = found.at(-1);
      found.push(
        before !== undefined && comparePlaces({ ...before, nth: 0 }, placed) === 0
          ? { ...placed, nth: before.nth + 1 }
          : placed,
      );
    }
  }
  return { revision, found };
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
 * Returns true if any persona may call both tools: the tool of a persona takes the place of a shared one of its name,
 * and allow-lists keep others out.
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

/** The places where manifests keep credentials, or where programs put them. */
const PRIVATE = /\/(?:auth|providers|metadata)(?:\/|$)/;

/**
 * Returns a message as it is shown. Messages quote values, which may be misplaced credentials; there only the place is
 * named.
 */
function shownMessage(message: string, path: string): string {
  return PRIVATE.test(path)
    ? 'Expected another value here, got one that is not shown here. Run tooldex validate to see it.'
    : publicMessage(message);
}

/** Returns the route of a catalogue's findings, with the severities of the rules of lint. */
export function findingsRoute(capabilities: CapabilityRegistry, rules: LintRules): Route {
  const findings = new Findings(capabilities, rules);
  return {
    path: '/findings',
    summary:
      'What to fix, page by page: entries of manifests that were left out or have broken references, and findings of lint. Errors first; within a severity those of manifests first, then shared ones, then by persona and name.',
    parameters: new Map<string, Parameter>([['persona', PERSONA], ...PAGE_PARAMETERS]),
    content: listSchema('findings', [...FINDING_FIELDS, 'compatibility'], {
      severities: {
        type: 'object',
        description: 'Items on all pages, by severity.',
        additionalProperties: { type: 'integer', minimum: 0 },
      },
    }),
    answer: ({ capabilities, asked, query, path, conditions }) => {
      const { revision, found, severities } = findings.of(
        parsePersonas(asked.all<string>('persona')),
        capabilities,
      );
      const page = pageOf(found, asked, revision);
      const personas = personasAsked(asked);
      const items = page.items.map(({ finding, allowlist }) =>
        JSON.stringify({
          ...finding,
          compatibility: compatibilityFor(personas, finding.persona, allowlist),
        }),
      );
      return contentAnswer(
        `${listStart({ name: 'findings', path, query, total: found.length, revision, page })}${items.join(',')}],"severities":${JSON.stringify(severities)}}`,
        conditions,
      );
    },
  };
}
