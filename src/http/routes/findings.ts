import { createHash } from 'node:crypto';
import type { CapabilityTool } from '../../capability/capability-items.js';
import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import { allowsPersona } from '../../capability/manifest/persona.js';
import { ownerKey, ownerMatches, type PersonaFilter } from '../../capability/query/persona-filter.js';
import { inSlices, type Work } from '../../core/clock.js';
import { publicMessage } from '../../core/public-message.js';
import { lintEach } from '../../registry/lint/lint-tools.js';
import { compatibilityFor } from '../query/personas.js';
import { normalizeLabel } from '../../tool/metadata/metadata-schema.js';

/** Something to fix, on the wire. Findings about manifests have a `kind`, those of lint a `rule`. */
interface FindingWire {
  readonly severity: string;
  readonly kind: string | null;
  readonly rule: string | null;
  readonly name: string | null;
  readonly persona: string | null;
  /** A file relative to the root, `code`, or the name of a source. */
  readonly source: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly path: string | null;
  readonly message: string;
}

/** A finding as it is sent but for its last brace, and whose it is. */
interface WrittenFinding {
  readonly owner: string | null;
  readonly allowlist: readonly string[] | undefined;
  readonly json: string;
}

/** The findings of one revision: those of manifests first, then what lint says of each tool. */
interface FindingsReport {
  readonly revision: number;
  readonly findings: readonly WrittenFinding[];
}

/** Everything to fix in a catalogue. Looking takes a while, so it is done once a revision, in slices between which others are answered. */
export class Findings {
  readonly #capabilities: CapabilityRegistry;
  #report: FindingsReport | undefined;
  #running: Promise<FindingsReport> | undefined;

  constructor(capabilities: CapabilityRegistry) {
    this.#capabilities = capabilities;
  }

  /** Returns the findings of what some personas have as an answer, with its ETag. */
  async write(wanted: PersonaFilter, personas: readonly string[]): Promise<{ readonly body: Uint8Array<ArrayBuffer>; readonly etag: string }> {
    return inSlices(written(await this.#present(), wanted, personas));
  }

  /** Those who ask while the findings of a revision are looked for share one report. */
  async #present(): Promise<FindingsReport> {
    while (this.#report?.revision !== this.#capabilities.revision) {
      await (this.#running ??= inSlices(reportOf(this.#capabilities)).finally(() => (this.#running = undefined))).then((report) => (this.#report = report));
    }
    return this.#report;
  }
}

/** Findings that are encoded and digested at once. */
const CHUNK = 200;

function* written({ revision, findings }: FindingsReport, wanted: PersonaFilter, personas: readonly string[]): Work<{ readonly body: Uint8Array<ArrayBuffer>; readonly etag: string }> {
  const shown = findings.filter(({ owner }) => ownerMatches(wanted, owner));
  const digest = createHash('sha1');
  const pieces: Buffer<ArrayBuffer>[] = [];
  const add = (text: string) => {
    const piece = Buffer.from(text);
    digest.update(piece);
    pieces.push(piece);
  };
  add(`{"count":${shown.length},"total":${findings.length},"revision":${revision},"findings":[`);
  for (let from = 0; from < shown.length; from += CHUNK) {
    yield;
    const items = shown.slice(from, from + CHUNK).map(({ owner, allowlist, json }) => `${json},"compatibility":${JSON.stringify(compatibilityFor(personas, owner, allowlist))}}`);
    add(`${from === 0 ? '' : ','}${items.join(',')}`);
  }
  add(']}');
  yield;
  return { body: Buffer.concat(pieces), etag: `"${digest.digest('base64url')}"` };
}

function* reportOf(capabilities: CapabilityRegistry): Work<FindingsReport> {
  const { revision, findings: ofManifests } = capabilities;
  const tools = capabilities.tools().map((tool) => ({ tool, entry: tool.entry, owner: ownerKey(tool.owner) }));
  const findings: WrittenFinding[] = [];
  const write = (finding: FindingWire, allowlist?: readonly string[]) => findings.push({ owner: finding.persona, allowlist, json: JSON.stringify(finding).slice(0, -1) });
  for (const { severity, kind, owner, file, line, column, path, entryName, message } of ofManifests) {
    yield;
    write({ severity, kind, rule: null, name: entryName ?? null, persona: owner, source: file, line, column, path, message: shownMessage(message, path) });
  }
  const names = yield* namesOf(tools);
  const linted = yield* lintEach(tools, {
    knows: (name, { owner }) => ['', owner].some((each) => names.has(`${each}/${name}`) || names.has(`${each}/category ${normalizeLabel(name)}`)),
    meet: (earlier, later) => meet(capabilities, earlier.tool, later.tool),
  });
  for (const [index, { tool }] of tools.entries()) {
    yield;
    for (const { rule, severity, message } of linted[index]!) {
      write({ severity, kind: null, rule, name: tool.name, persona: tool.owner, source: tool.source, line: null, column: null, path: null, message }, tool.entry.personaAllowlist);
    }
  }
  return { revision, findings };
}

/** The names, aliases and categories of each owner's tools. */
function* namesOf(tools: readonly { readonly entry: CapabilityTool['entry']; readonly owner: string }[]): Work<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const { entry, owner } of tools) {
    yield;
    for (const name of [entry.name, ...entry.aliases]) names.add(`${owner}/${name}`);
    if (entry.category !== undefined) names.add(`${owner}/category ${normalizeLabel(entry.category)}`);
  }
  return names;
}

/** Whether anybody may call both tools: the tool of a persona takes the place of a shared one of its name, and allow-lists keep others out. */
function meet(capabilities: CapabilityRegistry, a: CapabilityTool, b: CapabilityTool): boolean {
  const owner = a.owner ?? b.owner;
  const [ofA, ofB] = [a.entry.personaAllowlist, b.entry.personaAllowlist];
  if (owner !== null && ownerKey(owner) !== '') return [a, b].every((tool) => capabilities.tool(tool.name, owner) === tool && allowsPersona(tool.entry.personaAllowlist, owner));
  return ofA === undefined || ofB === undefined || ofA.some((persona) => allowsPersona(ofB, persona));
}

/** Where manifests keep credentials, or what programs put there. */
const PRIVATE = /\/(?:auth|providers|metadata)(?:\/|$)/;

/** Messages quote values; there it may be a credential that was written into the wrong place, so the place alone is told. */
function shownMessage(message: string, path: string): string {
  return PRIVATE.test(path) ? 'Expected another value here, got one that is not shown here. Run tooldex validate to see it.' : publicMessage(message);
}
