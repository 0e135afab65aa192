import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import { publicMessage } from '../../core/public-message.js';
import { lintTools } from '../../registry/lint/lint-tools.js';

/** Something to mend, on the wire. Findings about manifests have a `kind`, those of lint a `rule`. */
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

/** Everything to mend in a catalogue: manifests first, then what lint says. Looking takes a while, so it is done once a revision. */
export class Findings {
  readonly #capabilities: CapabilityRegistry;
  #written: { readonly revision: number; readonly json: string } | undefined;

  constructor(capabilities: CapabilityRegistry) {
    this.#capabilities = capabilities;
  }

  get json(): string {
    const { revision } = this.#capabilities;
    if (this.#written?.revision !== revision) {
      const findings = [...manifestFindings(this.#capabilities), ...lintFindings(this.#capabilities)];
      this.#written = { revision, json: JSON.stringify({ count: findings.length, revision, findings }) };
    }
    return this.#written.json;
  }
}

function manifestFindings({ findings }: CapabilityRegistry): readonly FindingWire[] {
  return findings.map(({ severity, kind, owner, file, line, column, path, entryName, message }) => ({ severity, kind, rule: null, name: entryName ?? null, persona: owner, source: file, line, column, path, message: shownMessage(message, path) }));
}

/** Where manifests keep credentials, or what programs put there. */
const PRIVATE = /\/(?:auth|providers|metadata)(?:\/|$)/;

/** Messages quote what they got; there it may be a credential that was written into the wrong place. */
function shownMessage(message: string, path: string): string {
  const shown = publicMessage(message);
  const value = shown.search(/\b(?:got|found) /);
  return PRIVATE.test(path) && value !== -1 ? `${shown.slice(0, value)}got something else, which is not shown here` : shown;
}

/** Each tool is looked at among those that it is offered with: a persona's among what that persona sees. */
function lintFindings(capabilities: CapabilityRegistry): readonly FindingWire[] {
  const owners = new Set(capabilities.tools().map(({ owner }) => owner));
  return [...owners].flatMap((owner) =>
    lintTools(capabilities.registryFor(owner)).flatMap(({ rule, severity, toolName, message }): FindingWire[] => {
      const tool = capabilities.tool(toolName, owner);
      if (tool === undefined || tool.owner !== owner) return [];
      return [{ severity, kind: null, rule, name: toolName, persona: owner, source: tool.source, line: null, column: null, path: null, message }];
    }),
  );
}
