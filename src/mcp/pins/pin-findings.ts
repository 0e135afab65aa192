import { compareText } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { diffDefinitions, type DefinitionChange } from './diff-definitions.js';
import { pinOf, type PinnedDefinition } from './pin.js';
import type { PinTable } from './pin-table.js';

/** What a server lists, as it sent it; or why it could not be asked. */
export type ServerListing = { readonly server: string; readonly tools: readonly unknown[] } | { readonly server: string; readonly error: string };

/** One thing by which the pins and the servers differ. */
export type PinFinding =
  | { readonly kind: 'new'; readonly server: string; readonly tool: string; readonly definition: PinnedDefinition }
  | { readonly kind: 'changed'; readonly server: string; readonly tool: string; readonly definition: PinnedDefinition; readonly changes: readonly DefinitionChange[] }
  /** Pinned, and no longer listed: by its server, or because the server is no longer configured. */
  | { readonly kind: 'removed'; readonly server: string; readonly tool: string }
  /** A definition that cannot be pinned, or the second one of a name. Nobody can approve it. */
  | { readonly kind: 'invalid'; readonly server: string; readonly tool: string; readonly reason: string }
  /** Nothing is known of the tools of this server. */
  | { readonly kind: 'unreachable'; readonly server: string; readonly reason: string };

/** What a list shows of a name that a server chose. */
const LONGEST_NAME = 128;
const NAMELESS = '(without a name)';

export function findingsOf(pins: PinTable, listings: readonly ServerListing[]): readonly PinFinding[] {
  const unreachable = new Set<string>();
  const listed = new Map<string, Set<string>>();
  const found: PinFinding[] = [];
  for (const listing of listings) {
    const { server } = listing;
    if ('error' in listing) {
      unreachable.add(server);
      found.push({ kind: 'unreachable', server, reason: publicMessage(listing.error) });
      continue;
    }
    const names = listed.get(server) ?? new Set<string>();
    listed.set(server, names);
    for (const tool of listing.tools) {
      const finding = findingOf(pins, server, tool, names);
      if (finding !== undefined) found.push(finding);
    }
  }
  for (const [server, tool] of pins.entries()) {
    if (!unreachable.has(server) && listed.get(server)?.has(tool) !== true) found.push({ kind: 'removed', server, tool });
  }
  return Object.freeze(found.sort((a, b) => compareText(a.server, b.server) || compareText(toolOf(a), toolOf(b))).map((finding) => Object.freeze(finding)));
}

/** @param names what was listed before it, to which its name is added. */
function findingOf(pins: PinTable, server: string, raw: unknown, names: Set<string>): PinFinding | undefined {
  const pinnable = pinOf(raw);
  const { name } = pinnable;
  const invalid = (reason: string): PinFinding => ({ kind: 'invalid', server, tool: name === undefined ? NAMELESS : name.slice(0, LONGEST_NAME), reason });
  if (name !== undefined && names.has(name)) return invalid('expected every name once, found it again');
  if (name !== undefined) names.add(name);
  if (!pinnable.ok) return invalid(pinnable.reason);
  const { digest, definition } = pinnable.pin;
  const pinned = pins.get(server, pinnable.name);
  if (pinned === undefined) return { kind: 'new', server, tool: pinnable.name, definition };
  if (pinned.digest === digest) return undefined;
  return { kind: 'changed', server, tool: pinnable.name, definition, changes: diffDefinitions(pinned.definition, definition) };
}

function toolOf(finding: PinFinding): string {
  return finding.kind === 'unreachable' ? '' : finding.tool;
}
