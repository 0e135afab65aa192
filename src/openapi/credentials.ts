import { isPlainObject } from '../core/plain-data.js';
import type { ToolContext } from '../tool/tool-options.js';
import { listOf, partAt, type Part } from './read-document.js';

/** A token, an API key, or a user name with its password. */
export type Credential = string | { readonly username: string; readonly password: string };

/** Credentials by the name of their security scheme. A function is called for each request. */
export type Credentials = Readonly<
  Record<
    string,
    | Credential
    | ((context: ToolContext) => Credential | undefined | Promise<Credential | undefined>)
  >
>;

/**
 * Adds credentials to a request. Models never see them. @returns The texts to remove from
 * responses.
 */
export type Authorize = (
  request: { readonly headers: Headers; readonly url: URL },
  context: ToolContext,
) => Promise<readonly string[]>;

/** Returns a document's security schemes by name. */
export function schemesOf(root: Part): Readonly<Record<string, Part>> {
  const schemes =
    root['securityDefinitions'] ?? partAt(root, root['components'])['securitySchemes'];
  if (!isPlainObject(schemes)) return {};
  return Object.fromEntries(
    Object.keys(schemes).map((name) => [name, partAt(root, schemes[name])]),
  );
}

/**
 * Returns a function that authorizes the operation's calls, using the first alternative for which
 * all credentials are available.
 *
 * @returns `undefined` if credentials are required but no alternative is available. The calls are
 * then sent without credentials.
 */
export function authorizationFor(
  { security }: { readonly security: readonly Part[] },
  schemes: Readonly<Record<string, Part>>,
  credentials: Credentials,
): Authorize | undefined {
  const names = availableNames(security, credentials);
  if (names === undefined) return undefined;
  return async (request, context) => {
    const secrets: string[] = [];
    for (const name of names) {
      const configured = credentials[name]!;
      const credential = typeof configured === 'function' ? await configured(context) : configured;
      if (credential === undefined) continue;
      const secret = place(request, schemes[name] ?? {}, credential);
      secrets.push(secret, encodeURIComponent(secret));
      if (typeof credential !== 'string') secrets.push(credential.password);
    }
    // A shorter text would also occur by chance.
    return secrets.filter((secret) => secret.length > 5);
  };
}

/**
 * Returns the schemes of the first alternative whose credentials are available. An empty alternative
 * makes credentials optional, so any other is preferred.
 */
function availableNames(
  security: readonly Part[],
  credentials: Credentials,
): readonly string[] | undefined {
  let names: readonly string[] | undefined = security.length === 0 ? [] : undefined;
  for (const alternative of security) {
    const needed = Object.keys(alternative);
    if (!needed.every((name) => Object.hasOwn(credentials, name))) continue;
    if (needed.length > 0) return needed;
    names = needed;
  }
  return names;
}

/** Adds a credential to a request, and returns it as it's sent. */
function place(
  { headers, url }: { readonly headers: Headers; readonly url: URL },
  scheme: Part,
  credential: Credential,
): string {
  const kind = String(scheme['type'] === 'basic' ? 'basic' : scheme['scheme']).toLowerCase();
  if (typeof credential !== 'string' || kind === 'basic') {
    const pair =
      typeof credential === 'string' ? credential : `${credential.username}:${credential.password}`;
    const encoded = Buffer.from(pair).toString('base64');
    headers.set('authorization', `Basic ${encoded}`);
    return encoded;
  }
  if (scheme['type'] !== 'apiKey') {
    headers.set('authorization', `Bearer ${credential}`);
    return credential;
  }
  const name = String(scheme['name']);
  if (scheme['in'] === 'query') url.searchParams.set(name, credential);
  else if (scheme['in'] === 'cookie') {
    const pair = `${name}=${encodeURIComponent(credential)}`;
    headers.set('cookie', [headers.get('cookie'), pair].filter(Boolean).join('; '));
  } else headers.set(name, credential);
  return credential;
}

const LOOKS_SECRET = /^(?:(?:access|auth)_?)?token$|^api_?key$/i;

/**
 * Returns true for a parameter that contains a credential. Such parameters are set through `auth`
 * and hidden from models.
 *
 * Some documents declare a token twice: in a security scheme, and again as a parameter of the
 * operations. The token of an operation that needs no credentials is another one, such as the token
 * in an email.
 */
export function isCredential(root: Part, operation: Part, { in: place, name }: Part): boolean {
  const schemes = Object.values(schemesOf(root));
  if (place === 'path' || schemes.length === 0) return false;
  const isPublic = listOf(operation['security'] ?? [{}]).length === 0;
  return (
    (!isPublic && LOOKS_SECRET.test(String(name))) ||
    schemes.some(
      (scheme) =>
        scheme['type'] === 'apiKey' &&
        scheme['in'] === place &&
        String(scheme['name']).toLowerCase() === String(name).toLowerCase(),
    )
  );
}
