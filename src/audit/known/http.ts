import type { CallEffect } from '../effect.js';
import { fieldOf, reads, undecided, writes, type KnownValue } from './known-value.js';

/**
 * The HTTP methods that write, each with a pair [destructive, idempotent]. @see RFC 9110, section
 * 9.2
 */
const METHODS: Readonly<Record<string, readonly [boolean | null, boolean | null]>> = {
  PUT: [true, true],
  DELETE: [true, true],
  PATCH: [true, null],
  POST: [null, false],
};
const SAFE = /^(?:GET|HEAD|OPTIONS|TRACE|PROPFIND|REPORT|SEARCH|QUERY)$/;

/** Words at the end of an address that show that a POST changes existing things. */
const CHANGES =
  /[/:](?:pause|reset|merge|rebase|deploy|rollback|restart|reboot|stop|cancel|abort|terminate|kill|delete|remove|destroy|purge|archive|close|disable|revoke|replace|overwrite|migrations?)\/?(?:$|[?#])/i;
/** Words at the end of an address that show that a POST creates or sends something. */
const MAKES =
  /[/:_.-](?:create|add|insert|update|upsert|save|edit|rename|move|copy|duplicate|upload|import|send|submit|publish|post|write|reply|invite|assign|approve|reject|enable|activate|subscribe|register|book|pay|trigger|start|resume|execute|dispatch(?:es)?)(?:\/x)?\/?(?:$|[?#])/i;
const THINGS_OF_WORK =
  /[/:_.-](?:message|comment|issue|ticket|task|note|post|page|item|record|row|file|folder|document|project|label|tag|deployment|release|pull|merge_request|job|run|repo|repositorie|gist|reaction|vote|like|tweet|email|mail|notification|alert|incident|thing)s?(?:\/x)?\/?(?:$|[?#])/i;
const THINGS_OF_BUSINESS =
  /[/:_.-](?:charge|refund|payment|payout|order|transfer|invoice|customer|user|account|webhook|hook|member|team|group|channel|contact|lead|deal|product|reservation|booking|subscription|key|secret|collection|table|database|bucket|object)s?(?:\/x)?\/?(?:$|[?#])/i;
/** Words in an address that show that a POST may be just a read. */
const ASKS =
  /(?:^|[/_.:?=-])(?:_?m?search|query|queries|find|lookup|list|graphql|gql|rpc|jsonrpc|batch_?get|read|count|validate|analy[sz]e|explain|similar|recommend(?:ations)?|embeddings?|completions?|v\d+\/messages$|generate|translate|token|oauth|login|auth|scrape|crawl|extract|parse|convert|batch|map|preview|estimate|compile|check|compare|rank|rerank|classify|detect|simulate|diff)(?:$|[/?#:_.-])/i;
const GRAPHQL_READ = /^\s*(?:#[^\n]*\n\s*)*(?:query\b|\{)/;
const GRAPHQL_WRITE = /(?:^|[\n}])\s*mutation\b/;

/** Returns the part of a body that may be a GraphQL document. */
function documentIn(body: KnownValue): string | undefined {
  if (typeof body === 'string') {
    const query = /"query"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1];
    return query ?? body;
  }
  const query = fieldOf(body, 'query');
  return typeof query === 'string' ? query : undefined;
}

/**
 * Returns the effect of a request. The effect of a POST is unknown unless its address or GraphQL
 * document shows it.
 *
 * @param method The HTTP method, or undefined if it's unknown.
 * @param url The known part of the URL.
 */
export function httpEffects(
  method: string | undefined,
  url: string | undefined,
  body?: KnownValue,
): readonly CallEffect[] {
  const verb = method?.toUpperCase();
  const call = `${verb ?? 'HTTP'} ${url ?? ''}`.trim().slice(0, 120);
  if (verb === undefined || verb === '') return [undecided('net-write', call)];
  if (SAFE.test(verb)) return [reads('net-read', call)];
  if (verb === 'POST') {
    const document = documentIn(body);
    if (document !== undefined && GRAPHQL_WRITE.test(document)) return [writes('net-write', call)];
    if (
      document !== undefined &&
      GRAPHQL_READ.test(document) &&
      /graphql|gql/i.test(url ?? 'graphql')
    )
      return [reads('net-read', call)];
    // A JSON-RPC request may call a procedure that only reads. Words are looked for only in the
    // part of the URL after the host.
    if (
      typeof fieldOf(body, 'jsonrpc') === 'string' ||
      (url !== undefined && ASKS.test(url.replace(/^\w+:\/\/[^/]*/, '')))
    )
      return [undecided('net-write', call)];
  }
  // A POST to an unknown address may be just a read.
  if (
    verb === 'POST' &&
    !CHANGES.test(url ?? '') &&
    ![MAKES, THINGS_OF_WORK, THINGS_OF_BUSINESS].some((words) =>
      words.test((url ?? '').replace(/^\w+:\/\/[^/]*/, '')),
    )
  )
    return [undecided('net-write', call)];
  const [destructive, idempotent] = METHODS[verb] ?? [null, null];
  return [
    writes(
      'net-write',
      call,
      verb === 'POST' && CHANGES.test(url ?? '') ? true : destructive,
      idempotent,
    ),
  ];
}
