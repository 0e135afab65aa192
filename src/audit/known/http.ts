import type { CallEffect } from '../effect.js';
import { HOLE } from '../evaluate/values.js';

/** Ends of paths that take a POST only because a query doesn't fit into a URL. */
const QUERIES =
  /(?:^|[/:_])(?:search|query|queries|lookup|count|embeddings?|completions|messages|generateContent|tokenize|geocode|translate|detect|rerank|scroll|_search|_msearch|_count|msearch|runQuery|batchGet|aggregate|token)\/?(?:\?.*)?$/i;

const GRAPHQL = /^\s*(?:(?:query|mutation|subscription|fragment)\b|\{\s*\w+[\s({:]|#)/;

/** Returns the effects of a request with one of the methods. */
export function requestEffects(
  methods: readonly string[],
  url: string,
  query: string | undefined,
): readonly CallEffect[] {
  return methods.map((method) => {
    const verb = method.toUpperCase();
    const access = accessOf(verb, url, query);
    const call = `${verb === HOLE ? 'a request' : verb}${url === HOLE ? '' : ` ${url}`}`;
    const deletes = access === 'write' && verb === 'DELETE';
    return { kind: 'network', access, call, ...(deletes && { deletes }) };
  });
}

function accessOf(method: string, url: string, query: string | undefined): CallEffect['access'] {
  if (method.includes(HOLE)) return 'unknown';
  if (/^(?:GET|HEAD|OPTIONS|QUERY)$/.test(method)) return 'read';
  if (method !== 'POST') return 'write';
  if (query !== undefined && GRAPHQL.test(query)) return graphqlAccess(query);
  if (/graphql\/?$/.test(url)) return 'unknown';
  return QUERIES.test(url) ? 'read' : 'write';
}

/** Returns whether a GraphQL document changes something. */
export function graphqlAccess(text: string): CallEffect['access'] {
  if (/\bmutation\b/.test(text.replace(/"[^"]*"|#[^\n]*/g, ''))) return 'write';
  return text.includes(HOLE) && !/^\s*(?:query\b|\{)/.test(text) ? 'unknown' : 'read';
}
