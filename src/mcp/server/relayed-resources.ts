import type { ReadResourceResult } from '@modelcontextprotocol/server';
import type { ContentPart } from '../../tool/content.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { ResourceOwners } from '../translate/resource-owners.js';
import { itemsIn, type Answer, type Asked, type Item, type Listed, type Relay } from './relay.js';
import { serverOf } from './served-tools.js';

/** A resource at its server. */
interface Owned {
  readonly server: string;
  readonly uri: string;
  /** The tool that reads it. */
  readonly entry: ToolEntry;
}

/** The resources of the servers behind this one. */
export class RelayedResources {
  readonly #relay: Relay;

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  async list(by: Asked): Promise<readonly Item[]> {
    const { listed, owners } = await this.#owners(by);
    return listed.flatMap(({ server, value }) =>
      itemsIn(value, 'resources').map((item) => ({
        ...item,
        uri: owners.servedUri(server, String(item['uri'])),
      })),
    );
  }

  async listTemplates(by: Asked): Promise<readonly Item[]> {
    const { listed, owners } = await this.#owners(by);
    return listed.flatMap(({ server, value }) =>
      itemsIn(value, 'resourceTemplates').filter(
        (item) => listed.length === 1 || owners.counts(server, String(item['uriTemplate'])),
      ),
    );
  }

  async read(uri: string, by: Asked): Answer<ReadResourceResult> {
    const owned = await this.owner(uri, by);
    return this.#relay.call(owned.entry, { uri: owned.uri }, by, (value, parts) =>
      contentsIn(value, parts, { [owned.uri]: uri }),
    );
  }

  /**
   * Returns the server that a URI or a URI template belongs to.
   * @throws ProtocolError if it belongs to no server that the caller may use, or to several.
   */
  async owner(uri: string, by: Asked): Promise<Owned> {
    const readers = this.#relay.tools.offering('read_resource', by.context);
    const [only] = readers;
    if (only === undefined) throw this.#relay.notFound(uri);
    // The server itself checks if it has the URI.
    if (readers.length === 1) return { server: serverOf(only), uri, entry: only };
    const { listed, owners } = await this.#owners(by);
    const ofTemplate = listed.find(({ value }) =>
      itemsIn(value, 'resourceTemplates').some((item) => item['uriTemplate'] === uri),
    );
    const found = ofTemplate ? { server: ofTemplate.server, uri } : owners.find(uri);
    const entry = readers.find((each) => serverOf(each) === found?.server);
    if (found !== undefined && entry !== undefined) return { ...found, entry };
    const servers = owners.listing(uri);
    if (servers.length < 2) throw this.#relay.notFound(uri);
    const uris = servers.map((server) => owners.servedUri(server, uri)).join(' or ');
    throw this.#relay.invalid(`Several servers list this resource. Read ${uris}.`);
  }

  async #owners(by: Asked): Promise<{ listed: readonly Listed[]; owners: ResourceOwners }> {
    const listed = await this.#relay.lists('list_resources', by);
    const urisIn = (value: unknown, field: string, key: string) =>
      itemsIn(value, field).map((item) => String(item[key]));
    const owners = new ResourceOwners(
      listed.map(({ server, value }) => ({
        server,
        uris: urisIn(value, 'resources', 'uri'),
        templates: urisIn(value, 'resourceTemplates', 'uriTemplate'),
      })),
    );
    return { listed, owners };
  }
}

/**
 * Puts the bytes back into resource contents. The content part at the same index has them. `served`
 * contains the URI under which a resource is served, by its URI at the server.
 */
function contentsIn(
  value: unknown,
  parts: readonly ContentPart[],
  served: Readonly<Record<string, string>>,
): ReadResourceResult {
  const contents = itemsIn(value, 'contents').map((content, at) => {
    const part = parts[at];
    const bytes = part !== undefined && 'data' in part ? (part.data ?? '') : '';
    const uri = served[String(content['uri'])] ?? content['uri'];
    return {
      ...content,
      ...(uri !== undefined && { uri }),
      ...(typeof content['text'] !== 'string' && { blob: bytes }),
    };
  });
  return { contents: contents as unknown as ReadResourceResult['contents'] };
}
