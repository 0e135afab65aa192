import { expectedGot } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
import { isCredential } from './credentials.js';
import { embedSchema } from './embedded-schema.js';
import { listOf, partAt, type Part } from './read-document.js';

const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const;

/** A parameter of the request: its argument, its location, and the style of its value. */
export interface Parameter {
  /** The argument's name in the tool's input. */
  readonly argument: string;
  /** The parameter's name in the request. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  /** The style of the value. Parameters with a media type have the style `json`. */
  readonly style: 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json';
  readonly explode: boolean;
}

/** The format in which the `body` argument is sent. */
interface Body {
  readonly mediaType: string;
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'binary';
}

/** An operation in a document, with everything that its tool needs. */
export interface Operation {
  /**
   * The tool's name. It's the operation's id, or its method and path, with forbidden characters
   * replaced.
   */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly isDeprecated: boolean;
  readonly inputSchema: Part;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  /** The alternative security schemes. A call needs the credentials of one alternative. */
  readonly security: readonly Part[];
  /** The operation's `x-tooldex` object. */
  readonly extension: Part;
  /** Sentences about parts of the operation that the tool lacks. */
  readonly changes: readonly string[];
  /** The reason why no tool can call this operation. */
  readonly refused?: string;
}

/** Returns the operations in a document, in order. */
export function operationsOf(root: Part): readonly Operation[] {
  const counts = new Map<string, number>();
  return Object.entries(root['paths'] as Part).flatMap(([path, value]) => {
    const item = partAt(root, value);
    return METHODS.filter((method) => isPlainObject(item[method])).map((method) => {
      const operation = readOperation(root, path, method, item);
      const count = (counts.get(operation.name) ?? 0) + 1;
      counts.set(operation.name, count);
      return count === 1 ? operation : { ...operation, name: `${operation.name}_${count}` };
    });
  });
}

function readOperation(root: Part, path: string, method: string, item: Part): Operation {
  const own = partAt(root, item[method]);
  const requestBody = partAt(root, own['requestBody']);
  const [body, bodySchema] = readBody(root, requestBody);
  const properties: Record<string, unknown> = { ...(body && { body: bodySchema }) };
  const required = body && requestBody['required'] === true ? ['body'] : [];
  const parameters: Parameter[] = [];
  const changes: string[] = [];
  let refused = otherServer(root, item, own);
  for (const given of parametersOf(root, item, own)) {
    const isRequired = given['required'] === true;
    const wrong = wrongParameter(given);
    if (wrong !== undefined) {
      if (isRequired) refused ??= wrong;
      else changes.push(`${wrong} It's left out.`);
      continue;
    }
    const parameter = readParameter(given, properties);
    properties[parameter.argument] = schemaOf(given);
    if (isRequired) required.push(parameter.argument);
    parameters.push(parameter);
  }
  const input = { type: 'object', properties, required, additionalProperties: false };
  const inputSchema = embedSchema(root, input, (change) => void changes.push(change));
  const [summary, details] = [plainText(own['summary']), plainText(own['description'])];
  const call = `${method.toUpperCase()} ${path}`;
  return {
    name: nameOf(own['operationId']) || nameOf(`${method}_${path.slice(1)}`),
    method: method.toUpperCase(),
    path,
    tags: listOf(own['tags']).map(plainText).filter(Boolean),
    description: [...new Set([summary, details])].filter(Boolean).join('\n\n') || call,
    isDeprecated: own['deprecated'] === true,
    inputSchema,
    parameters,
    body,
    security: listOf(own['security'] ?? root['security']).filter(isPlainObject),
    extension: partAt(root, own['x-tooldex']),
    changes,
    ...(refused !== undefined && { refused }),
  };
}

function nameOf(id: unknown): string {
  if (typeof id !== 'string') return '';
  const name = id.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[_.]+|[_.]+$/g, '');
  return name.slice(0, 120);
}

/**
 * Returns text that is safe for models to read. Hidden characters are removed, and the text is cut
 * at 4,096 characters.
 */
function plainText(value: unknown): string {
  if (typeof value !== 'string') return '';
  return withoutHidden(value)
    .trim()
    .slice(0, 4_096)
    .replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * Returns an explanation if an operation uses a different server. Calls can't leave the base URL,
 * so such an operation must be loaded separately.
 */
function otherServer(root: Part, item: Part, own: Part): string | undefined {
  // The upgrade to OpenAPI 3.1 may add `https:` to copies of an address.
  const urlOf = (servers: unknown) => {
    const { url } = partAt(root, listOf(servers)[0]);
    return typeof url === 'string' ? url.replace(/^https?:/, '') : '';
  };
  const url = urlOf(own['servers'] ?? item['servers']);
  return url === '' || url === urlOf(root['servers'])
    ? undefined
    : 'The operation uses a different server. Load the document again with that server as baseUrl, and include only this operation.';
}

/** The headers that the request itself sets (OpenAPI 3.1, Parameter Object). */
const OWN_HEADERS = new Set(['accept', 'content-type', 'authorization']);

/**
 * Returns the parameters that models fill in. The operation's own parameters override those of its
 * path.
 */
function parametersOf(root: Part, item: Part, own: Part): readonly Part[] {
  const all = [...listOf(item['parameters']), ...listOf(own['parameters'])];
  const byPlace = new Map(
    all.map((each) => {
      const parameter = partAt(root, each);
      return [`${String(parameter['in'])} ${String(parameter['name'])}`, parameter];
    }),
  );
  return [...byPlace.values()].filter(
    (each) =>
      !isCredential(root, each) &&
      !(each['in'] === 'header' && OWN_HEADERS.has(String(each['name']).toLowerCase())),
  );
}

const STYLES: Readonly<Record<Parameter['in'], readonly string[]>> = {
  path: ['simple'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
};

/** Explains why a request can't contain a parameter, or returns `undefined`. */
function wrongParameter({ name, in: place, style, content }: Part): string | undefined {
  const styles = STYLES[place as Parameter['in']];
  if (typeof name !== 'string' || styles === undefined)
    return expectedGot(
      'a named parameter in the path, the query or a header',
      JSON.stringify({ name, in: place }),
    );
  if (content !== undefined || style === undefined || styles.includes(style as string))
    return undefined;
  return expectedGot(
    `the style of the ${String(place)} parameter ${JSON.stringify(name)} as one of ${styles.join(', ')}`,
    JSON.stringify(style),
  );
}

function readParameter(given: Part, taken: Part): Parameter {
  const [name, place] = [String(given['name']), given['in'] as Parameter['in']];
  const fit = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 64);
  const style = (given['style'] ?? STYLES[place][0]) as Parameter['style'];
  return {
    argument: fit === 'body' || Object.hasOwn(taken, fit) ? `${place}_${fit}` : fit,
    name,
    in: place,
    style: given['content'] === undefined ? style : 'json',
    explode: typeof given['explode'] === 'boolean' ? given['explode'] : style === 'form',
  };
}

function schemaOf({ schema, content, description }: Part): unknown {
  const [media] = isPlainObject(content) ? Object.values(content) : [{ schema }];
  const own = isPlainObject(media) && isPlainObject(media['schema']) ? media['schema'] : {};
  return { ...own, ...(typeof description === 'string' && { description }) };
}

/**
 * The kinds of request bodies. If an operation accepts several kinds, the first in this list is
 * used.
 */
const BODIES: readonly (readonly [Body['kind'], RegExp])[] = [
  ['json', /^application\/json\b/],
  ['json', /^application\/merge-patch\+json\b/],
  ['json', /\+json\b/],
  ['form', /^application\/x-www-form-urlencoded\b/],
  ['multipart', /^multipart\/form-data\b/],
  ['json', /^\*\/\*$/],
  ['text', /^text\/|[/+](?:xml|yaml)\b/],
  ['binary', /./],
];

function readBody(root: Part, { content, description }: Part): [Body?, Part?] {
  const types = isPlainObject(content) ? Object.keys(content) : [];
  for (const [kind, pattern] of BODIES) {
    const type = types.find((each) => pattern.test(each.toLowerCase()));
    if (type === undefined) continue;
    const given = partAt(root, (content as Part)[type])['schema'];
    const schema =
      kind === 'text' ? { type: 'string' } : kind === 'binary' ? { format: 'binary' } : given;
    const text = plainText(description);
    return [
      { mediaType: type === '*/*' ? 'application/json' : type, kind },
      { ...(isPlainObject(schema) && schema), ...(text && { description: text }) },
    ];
  }
  return [];
}
