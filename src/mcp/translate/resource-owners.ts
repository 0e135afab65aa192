import { matchesPattern } from '../../safety/name-pattern.js';
import { itemsIn } from './foreign-text.js';

/** The URIs and URI templates that a server lists. */
export interface ServerUris {
  readonly server: string;
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

/** Returns the URIs and templates in a server's answer to `list_resources`. */
export function urisIn(server: string, value: unknown): ServerUris {
  const uris = itemsIn(value, 'resources').map(({ uri }) => String(uri));
  const templates = itemsIn(value, 'resourceTemplates').map((item) => String(item['uriTemplate']));
  return { server, uris, templates };
}

/**
 * Decides which of several servers a URI belongs to, so that no server can take over another
 * server's resources.
 *
 * A URI belongs to the server that lists it. If several servers list it, it belongs to none of them,
 * and each is reached at `mcp://<server>/<uri>`. A URI that no server lists belongs to the server
 * with the most specific matching template.
 *
 * A template must begin with a scheme and a host, such as `docs://guides/{id}`. A template with
 * less, such as `users://{id}`, counts only if no other server uses its scheme. `{+any}` never
 * counts.
 */
export class ResourceOwners {
  constructor(readonly servers: readonly ServerUris[]) {}

  /** The servers that list a URI. */
  listing(uri: string): readonly string[] {
    return this.servers.filter(({ uris }) => uris.includes(uri)).map(({ server }) => server);
  }

  /** Returns the URI under which a server's resource is served. */
  servedUri(server: string, uri: string): string {
    return this.listing(uri).length > 1 ? prefixOf(server) + uri : uri;
  }

  /** Returns the server that a served URI belongs to, and the URI at this server. */
  find(served: string): { readonly server: string; readonly uri: string } | undefined {
    const named = this.servers.find(({ server }) => served.startsWith(prefixOf(server)));
    if (named !== undefined)
      return { server: named.server, uri: served.slice(prefixOf(named.server).length) };
    const [first, ...others] = this.listing(served);
    const server = first === undefined ? this.#byTemplate(served) : first;
    return server === undefined || others.length > 0 ? undefined : { server, uri: served };
  }

  /** Returns true for a template that counts. */
  counts(server: string, template: string): boolean {
    const [, scheme, host] =
      /^([a-z][a-z0-9+.-]*:)(\/\/[^/?#{}]+(?![^/?#])|[^/{}][^{}]*)?/i.exec(template) ?? [];
    if (scheme === undefined || host !== undefined) return scheme !== undefined;
    return !this.servers.some(
      (other) =>
        other.server !== server &&
        [...other.uris, ...other.templates].some((each) =>
          each.toLowerCase().startsWith(scheme.toLowerCase()),
        ),
    );
  }

  /** Returns messages about the URIs and templates that don't count, by server. */
  problems(): readonly { readonly server: string; readonly message: string }[] {
    return this.servers.flatMap(({ server, uris, templates }) => [
      ...uris
        .filter((uri) => this.listing(uri).length > 1)
        .map((uri) => ({
          server,
          message: `Another server also lists the resource ${JSON.stringify(uri)}, so it's served as ${JSON.stringify(prefixOf(server) + uri)}.`,
        })),
      ...templates
        .filter((template) => !this.counts(server, template))
        .map((template) => ({
          server,
          message: `The resource template ${JSON.stringify(template)} could match resources of other servers, so it isn't used. It needs a scheme and a host of its own.`,
        })),
    ]);
  }

  /** Returns the server with the most specific template, or `undefined` if several are equally specific. */
  #byTemplate(uri: string): string | undefined {
    let best = { literal: 0, servers: new Set<string>() };
    for (const { server, templates } of this.servers)
      for (const template of templates) {
        // The SDK's own matching can take seconds for a URI that almost matches.
        const pattern = template.replace(/\{[^{}]*\}/g, '*');
        // Unlike `{+rest}`, `{id}` matches no slash, and is more specific if the lengths are equal.
        const isWide = /\{[^\w]/.test(template);
        if (!isWide && uri.split('/').length !== pattern.split('/').length) continue;
        if (!matchesPattern(pattern, uri) || !this.counts(server, template)) continue;
        const literal = pattern.replaceAll('*', '').length + (isWide ? 0 : 0.5);
        if (literal > best.literal) best = { literal, servers: new Set([server]) };
        else if (literal === best.literal) best.servers.add(server);
      }
    return best.servers.size === 1 ? [...best.servers][0] : undefined;
  }
}

const prefixOf = (server: string) => `mcp://${server}/`;
