import { isPlainObject } from '../core/plain-data.js';
import type { ToolContext } from '../tool/tool-options.js';
import { partAt, type Part } from './read-document.js';

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

/** Adds credentials to a request. Models never see them. */
export type Authorize = (
  request: { readonly headers: Headers; readonly url: URL },
  context: ToolContext,
) => Promise<void>;

/** Returns a document's security schemes by name. */
export function schemesOf(root: Part): Readonly<Record<string, Part>> {
  const schemes = partAt(root, root['components'])['securitySchemes'];
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
  const ready = security
    .map(Object.keys)
    .filter((each) => each.every((name) => Object.hasOwn(credentials, name)));
  // An empty alternative makes credentials optional.
  // Others are preferred if their credentials are available.
  const names = ready.find((each) => each.length > 0) ?? (security.length === 0 ? [] : ready[0]);
  if (names === undefined) return undefined;
  return async (request, context) => {
    for (const name of names) {
      const given = credentials[name]!;
      const credential = typeof given === 'function' ? await given(context) : given;
      if (credential !== undefined) place(request, schemes[name] ?? {}, credential);
    }
  };
}

function place(
  { headers, url }: { readonly headers: Headers; readonly url: URL },
  scheme: Part,
  credential: Credential,
): void {
  if (typeof credential !== 'string' || String(scheme['scheme']).toLowerCase() === 'basic') {
    const pair =
      typeof credential === 'string' ? credential : `${credential.username}:${credential.password}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  if (scheme['type'] !== 'apiKey') {
    headers.set('authorization', `Bearer ${credential}`);
    return;
  }
  const name = String(scheme['name']);
  if (scheme['in'] === 'query') url.searchParams.set(name, credential);
  else if (scheme['in'] === 'cookie') {
    const pair = `${name}=${encodeURIComponent(credential)}`;
    headers.set('cookie', [headers.get('cookie'), pair].filter(Boolean).join('; '));
  } else headers.set(name, credential);
}

const LOOKS_SECRET = /^(?:(?:access|auth)_?)?token$|^api_?key$/i;

/**
 * Returns true for a parameter that contains a credential. Such parameters are set through `auth`
 * and hidden from models.
 *
 * Some documents declare a token twice: in a security scheme, and again as a parameter of the
 * operations.
 */
export function isCredential(root: Part, { in: place, name }: Part): boolean {
  const schemes = Object.values(schemesOf(root));
  if (place === 'path' || schemes.length === 0) return false;
  return (
    LOOKS_SECRET.test(String(name)) ||
    schemes.some(
      (scheme) =>
        scheme['type'] === 'apiKey' &&
        scheme['in'] === place &&
        String(scheme['name']).toLowerCase() === String(name).toLowerCase(),
    )
  );
}
