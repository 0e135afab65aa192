import { canonicalJson, compareText, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { pinKeyOf, pinOf, type PinnedDefinition, type PinTable } from './pin.js';

/**
 * A place where two definitions differ. `before` or `after` is missing if the old or new definition
 * has nothing there.
 */
export interface DefinitionChange {
  /** The place as a JSON pointer (RFC 6901): `/inputSchema/properties/path/type`. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/**
 * Returns the places where two definitions differ, as few and as deep as possible. The list is
 * empty only for equal definitions.
 *
 * A part that was added or removed as a whole is one change, and so is a changed list. Key order
 * doesn't matter.
 */
function diffDefinitions(before: Json, after: Json, path = ''): readonly DefinitionChange[] {
  if (!isPlainObject(before) || !isPlainObject(after))
    return canonicalJson(before) === canonicalJson(after)
      ? []
      : [Object.freeze({ path, before, after })];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(compareText);
  const changes = keys.flatMap((key): readonly DefinitionChange[] => {
    const place = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(after, key)) return [Object.freeze({ path: place, before: before[key]! })];
    if (!Object.hasOwn(before, key)) return [Object.freeze({ path: place, after: after[key]! })];
    return diffDefinitions(before[key]!, after[key]!, place);
  });
  return Object.freeze(changes);
}

/** A server's tools exactly as it listed them, or the reason why it couldn't be contacted. */
export type ServerListing =
  | { readonly server: string; readonly tools: readonly unknown[] }
  | { readonly server: string; readonly error: string };

/** A difference between the pins and the servers. */
export type PinFinding = { readonly server: string } & (
  | ({ readonly tool: string } & (
      | { readonly kind: 'new'; readonly definition: PinnedDefinition }
      | {
          readonly kind: 'changed';
          readonly definition: PinnedDefinition;
          readonly changes: readonly DefinitionChange[];
        }
      /** A pinned tool that the server no longer lists, or whose server is no longer configured. */
      | { readonly kind: 'removed' }
      /**
       * A definition that can't be approved: it can't be pinned, or is the second with the same
       * name.
       */
      | { readonly kind: 'invalid'; readonly reason: string }
    ))
  /** A server whose tools aren't known. */
  | { readonly kind: 'unreachable'; readonly reason: string }
);

/** Maximum length of a tool's name in a list. */
const LONGEST_NAME = 128;
const NAMELESS = '(without a name)';

/** Returns all differences between the servers and the pins, by server and tool. */
export function findingsAboutChanges(
  pins: PinTable,
  listings: readonly ServerListing[],
): readonly PinFinding[] {
  const unreachable = new Set<string>();
  const listed = new Set<string>();
  const found: PinFinding[] = [];
  for (const listing of listings) {
    const { server } = listing;
    if ('error' in listing) {
      unreachable.add(server);
      found.push({ kind: 'unreachable', server, reason: publicMessage(listing.error) });
    } else
      found.push(...listing.tools.flatMap((raw) => findingOf(pins, server, raw, listed) ?? []));
  }
  for (const [key, { server, tool }] of pins)
    if (!unreachable.has(server) && !listed.has(key)) found.push({ kind: 'removed', server, tool });
  const toolOf = (finding: PinFinding) => ('tool' in finding ? finding.tool : '');
  return Object.freeze(
    found.sort((a, b) => compareText(a.server, b.server) || compareText(toolOf(a), toolOf(b))),
  );
}

/**
 * Compares a listed tool with its pin.
 * @param listed The keys of the tools compared before. This function adds the tool's own key.
 */
function findingOf(
  pins: PinTable,
  server: string,
  raw: unknown,
  listed: Set<string>,
): PinFinding | undefined {
  const pinnable = pinOf(server, raw);
  const { tool } = pinnable;
  const key = tool === undefined ? undefined : pinKeyOf(server, tool);
  const invalid = (reason: string): PinFinding => ({
    kind: 'invalid',
    server,
    tool: tool?.slice(0, LONGEST_NAME) ?? NAMELESS,
    reason,
  });
  if (key !== undefined && listed.has(key)) return invalid('The server lists this name twice.');
  if (key !== undefined) listed.add(key);
  if (!pinnable.ok) return invalid(pinnable.reason);
  const { digest, definition } = pinnable.pin;
  const pinned = pins.get(key!);
  if (pinned === undefined) return { kind: 'new', server, tool: pinnable.tool, definition };
  return pinned.digest === digest
    ? undefined
    : {
        kind: 'changed',
        server,
        tool: pinnable.tool,
        definition,
        changes: diffDefinitions(pinned.definition, definition),
      };
}
