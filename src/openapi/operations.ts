import { expectedGot } from '../core/issues.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
import { isCredential } from './credentials.js';
import { DocumentSchemas } from './embedded-schema.js';
import { listOf, partAt, targetOf, type Part } from './read-document.js';

const METHODS = /^(?:get|head|options|post|put|patch|delete)$/;
/** The fields of a path item that aren't operations. */
const NO_OPERATIONS = /^(?:\$ref|summary|description|servers|parameters|x-.*)$/;

/** A parameter of the request: its argument, its location, and the style of its value. */
export interface Parameter {
  /** The argument's name in the tool's input. */
  readonly argument: string;
  /** The parameter's name in the request. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  /** The style of the value. Parameters with a media type have the style `json`. */
  readonly style:
    'simple' | 'form' | 'spaceDelimited' | 'tabDelimited' | 'pipeDelimited' | 'deepObject' | 'json';
  readonly explode: boolean;
}

/** The format in which the `body` argument is sent. */
interface Body {
  readonly mediaType: string;
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'binary';
  /** The encoding of each field of a form. */
  readonly encoding: Part;
}

/** The facts that identify an operation. */
export interface OperationHead {
  /**
   * The tool's name. It's the operation's id, or its method and path, with forbidden characters
   * replaced.
   */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
}

/** An operation that no tool can call, and the reason why. */
interface RefusedOperation extends OperationHead {
  readonly refused: string;
}

/** An operation in a document, with everything that its tool needs. */
export interface Operation extends OperationHead {
  readonly description: string;
  /** The first words of its id, its summary and the end of its path, in lowercase. */
  readonly verbs: readonly string[];
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
}

/** Returns the operations in a document, in order. */
export function operationsOf(root: Part): readonly (Operation | RefusedOperation)[] {
  const counts = new Map<string, number>();
  const schemas = new DocumentSchemas(root);
  const operations: (Operation | RefusedOperation)[] = [];
  for (const [path, item] of Object.entries(root['paths'] as Part))
    for (const operation of inPath(root, schemas, path, item)) {
      const { name } = operation;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      operations.push(count === 1 ? operation : { ...operation, name: `${name}_${count}` });
    }
  return operations;
}

/** Yields the operations of a path. What isn't a readable operation is refused with a reason. */
function* inPath(
  root: Part,
  schemas: DocumentSchemas,
  path: string,
  value: unknown,
): Generator<Operation | RefusedOperation, void> {
  const wrong = path.startsWith('/')
    ? unreadable(root, value, 'a path item')
    : expectedGot('a path that begins with "/"', JSON.stringify(path));
  if (wrong !== undefined) {
    yield refusedOperation(path, '*', wrong);
    return;
  }
  const item = partAt(root, value);
  for (const method of Object.keys(item)) {
    if (NO_OPERATIONS.test(method)) continue;
    const reason = METHODS.test(method)
      ? unreadable(root, item[method], 'an operation')
      : expectedGot('get, head, options, post, put, patch or delete', JSON.stringify(method));
    yield reason === undefined
      ? readOperation(root, schemas, path, method, item)
      : refusedOperation(path, method, reason);
  }
}

/** Explains why a part of the document can't be read, or returns `undefined`. */
function unreadable(root: Part, value: unknown, what: string): string | undefined {
  if (!isPlainObject(value)) return expectedGot(what, describeValue(value));
  const { $ref } = value;
  return typeof $ref !== 'string' || isPlainObject(targetOf(root, $ref))
    ? undefined
    : expectedGot(
        `a reference to ${what} inside the document`,
        JSON.stringify(withoutHidden($ref.slice(0, 200))),
      );
}

function refusedOperation(path: string, method: string, refused: string): RefusedOperation {
  const name = nameOf(`${method}_${path.slice(1)}`);
  return { name, method: method.toUpperCase(), path, tags: [], refused };
}

function readOperation(
  root: Part,
  schemas: DocumentSchemas,
  path: string,
  method: string,
  item: Part,
): Operation | RefusedOperation {
  const own = partAt(root, item[method]);
  const id = typeof own['operationId'] === 'string' ? own['operationId'] : '';
  const head: OperationHead = {
    name: nameOf(id) || nameOf(`${method}_${path.slice(1)}`),
    method: method.toUpperCase(),
    path,
    tags: listOf(own['tags']).map(plainText).filter(Boolean),
  };
  const declared = parametersOf(root, item, own);
  const input = new Input(root);
  const body = input.addBody(head.method, requestBodyOf(root, own, declared));
  for (const parameter of declared)
    if (!IN_BODY.test(String(parameter['in']))) input.add(parameter);
  const { properties, required, parameters, changes } = input;
  const refused = otherServer(root, item, own) ?? input.refused ?? undeclared(path, parameters);
  if (refused !== undefined) return { ...head, refused };
  const inputSchema = schemas.embed(
    { type: 'object', properties, required, additionalProperties: false },
    (change) => void changes.push(change),
    body?.kind === 'multipart' || body?.kind === 'binary',
  );
  const [summary, details] = [plainText(own['summary']), plainText(own['description'])];
  return {
    ...head,
    description:
      [...new Set([summary, details])].filter(Boolean).join('\n\n') || `${head.method} ${path}`,
    verbs: verbsOf(id, summary || details, path),
    isDeprecated: own['deprecated'] === true,
    inputSchema,
    parameters,
    body,
    security: listOf(own['security'] ?? root['security']).filter(isPlainObject),
    extension: partAt(root, own['x-tooldex']),
    changes,
  };
}

/** Collects the parameters of an operation as a tool's input. */
class Input {
  readonly properties: Record<string, unknown> = {};
  readonly required: string[] = [];
  readonly parameters: Parameter[] = [];
  readonly changes: string[] = [];
  refused: string | undefined;

  constructor(readonly root: Part) {}

  /** Adds the request's body as an argument. @returns the format in which it's sent. */
  addBody(method: string, requestBody: Part): Body | undefined {
    const [body, schema] = readBody(this.root, requestBody);
    if (body === undefined) return undefined;
    if (/^(?:GET|HEAD)$/.test(method)) {
      const { properties } = schema;
      // Some documents describe an empty form, which says nothing.
      if (!isPlainObject(properties) || Object.keys(properties).length > 0)
        this.leaveOut(`Expected ${method} without a body, got one.`, requestBody);
      return undefined;
    }
    this.properties['body'] = schema;
    if (requestBody['required'] === true) this.required.push('body');
    return body;
  }

  add(part: Part): void {
    const wrong = wrongParameter(part);
    if (wrong !== undefined) return this.leaveOut(wrong, part);
    const parameter = readParameter(part, this.properties);
    this.properties[parameter.argument] = schemaOf(part);
    if (isNeeded(part)) this.required.push(parameter.argument);
    this.parameters.push(parameter);
  }

  /** Leaves out a part of the request, or refuses the operation if the part is required. */
  leaveOut(reason: string, part: Part): void {
    if (isNeeded(part)) this.refused ??= reason;
    else this.changes.push(`${reason} It's left out.`);
  }
}

/** A request without a part of its path would go to another place. */
function isNeeded(part: Part): boolean {
  return part['required'] === true || part['in'] === 'path';
}

/** Explains which part of a path no parameter fills, or returns `undefined`. */
function undeclared(path: string, parameters: readonly Parameter[]): string | undefined {
  const names = parameters.filter((each) => each.in === 'path').map(({ name }) => name);
  const missing = [...path.matchAll(/\{([^{}]+)\}/g)].find(([, name]) => !names.includes(name!));
  return missing && expectedGot(`a parameter for ${missing[0]} in the path`, 'none');
}

/** Returns the words at the places where people write what an operation does. */
function verbsOf(id: string, summary: string, path: string): readonly string[] {
  const [method, second] = wordsIn(id);
  const segment = path.split(/[/=]/).findLast((each) => each !== '' && !each.includes('{'));
  const first = wordsIn(summary).find((word) => !word.endsWith('ly')); // "Permanently deletes a user."
  return [
    /^(?:GET|POST)_/.test(id) ? second : method, // AWS writes GET_DeleteUser.
    first?.replace(/s$/, ''),
    wordsIn(segment ?? '')[0],
  ].filter((word) => word !== undefined);
}

function wordsIn(text: string): readonly string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.split(/[^a-z]+/).filter(Boolean);
}

function nameOf(id: string): string {
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
  const url = serverOf(root, own['servers'] ?? item['servers']);
  return url === '' || url === serverOf(root, root['servers'])
    ? undefined
    : 'The operation uses a different server. Load the document again with that server as baseUrl, and include only this operation.';
}

/** Returns the first server. Documents list the same server with and without its protocol. */
function serverOf(root: Part, servers: unknown): string {
  const { url } = partAt(root, listOf(servers)[0]);
  return typeof url === 'string' ? url.replace(/^https?:/, '') : '';
}

/** The places of parameters that Swagger 2 sends in the body. */
const IN_BODY = /^(?:body|formData)$/;

/** Returns the request body. In Swagger 2, it's one parameter, or one for each field of a form. */
function requestBodyOf(root: Part, own: Part, parameters: readonly Part[]): Part {
  if (own['requestBody'] !== undefined) return partAt(root, own['requestBody']);
  const types = listOf(own['consumes'] ?? root['consumes']).map(String);
  const whole = parameters.find((each) => each['in'] === 'body');
  if (whole === undefined) return formOf(parameters, types);
  const content: Record<string, Part> = {};
  for (const type of types.length > 0 ? types : ['application/json'])
    content[type] = { schema: whole['schema'] };
  return { ...whole, content };
}

/** Returns the body for the form parameters of Swagger 2, or an empty object if there are none. */
function formOf(parameters: readonly Part[], types: readonly string[]): Part {
  const properties: [string, unknown][] = [];
  const encoding: [string, Part][] = [];
  const required: unknown[] = [];
  let isMultipart =
    types.includes('multipart/form-data') && !types.includes('application/x-www-form-urlencoded');
  for (const field of parameters) {
    if (field['in'] !== 'formData') continue;
    const name = String(field['name']);
    properties.push([name, schemaOf(field)]);
    encoding.push([name, styleOf(field) ?? {}]);
    if (field['required'] === true) required.push(field['name']);
    isMultipart ||= field['type'] === 'file';
  }
  if (properties.length === 0) return {};
  const schema = { type: 'object', properties: Object.fromEntries(properties), required };
  const type = isMultipart ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  return {
    required: required.length > 0,
    content: { [type]: { schema, encoding: Object.fromEntries(encoding) } },
  };
}

/** The styles of lists in Swagger 2. */
const COLLECTIONS: Readonly<Record<string, Part>> = {
  csv: { style: 'form', explode: false },
  multi: { style: 'form', explode: true },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
};

/** Returns the style of a list in Swagger 2, or `undefined` for other parameters. */
function styleOf({ type, collectionFormat = 'csv' }: Part): Part | undefined {
  return type === 'array' ? COLLECTIONS[String(collectionFormat)] : undefined;
}

/** The headers that the request itself sets (OpenAPI 3.1, Parameter Object). */
const OWN_HEADERS = new Set(['accept', 'content-type', 'authorization']);

/**
 * Returns the parameters that models fill in. The operation's own parameters override those of its
 * path.
 */
function parametersOf(root: Part, item: Part, own: Part): readonly Part[] {
  const byPlace = new Map<string, Part>();
  for (const each of [...listOf(item['parameters']), ...listOf(own['parameters'])]) {
    const parameter = partAt(root, each);
    byPlace.set(`${String(parameter['in'])} ${String(parameter['name'])}`, parameter);
  }
  return [...byPlace.values()].filter(
    (each) =>
      !isCredential(root, own, each) &&
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

function readParameter(part: Part, taken: Part): Parameter {
  const [name, place] = [String(part['name']), part['in'] as Parameter['in']];
  const { style: own, explode } = (place === 'query' && styleOf(part)) || part;
  const fit = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 64);
  const style = (own ?? STYLES[place][0]) as Parameter['style'];
  return {
    argument: fit === 'body' || Object.hasOwn(taken, fit) ? `${place}_${fit}` : fit,
    name,
    in: place,
    style: part['content'] === undefined ? style : 'json',
    explode: typeof explode === 'boolean' ? explode : style === 'form',
  };
}

/** The fields of a Swagger 2 parameter that aren't part of its schema. */
const NO_SCHEMA = /^(?:name|in|required|collectionFormat|allowEmptyValue)$/;

/** Returns a parameter's schema. In Swagger 2, the keywords are in the parameter itself. */
function schemaOf(parameter: Part): unknown {
  const { schema, content, description } = parameter;
  const [media] = isPlainObject(content) ? Object.values(content) : [{ schema }];
  if (schema === undefined && content === undefined)
    return Object.fromEntries(Object.entries(parameter).filter(([key]) => !NO_SCHEMA.test(key)));
  const own = isPlainObject(media) && isPlainObject(media['schema']) ? media['schema'] : {};
  return { ...own, ...(plainText(description) && { description }) };
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

function readBody(root: Part, { content, description }: Part): [Body, Part] | [undefined, Part] {
  const types = isPlainObject(content) ? Object.keys(content) : [];
  for (const [kind, pattern] of BODIES) {
    const type = types.find((each) => pattern.test(each.toLowerCase()));
    if (type === undefined) continue;
    const { schema: declared, encoding } = partAt(root, (content as Part)[type]);
    const schema =
      kind === 'text' ? { type: 'string' } : kind === 'binary' ? { format: 'binary' } : declared;
    const text = plainText(description);
    return [
      {
        mediaType: type === '*/*' ? 'application/json' : type,
        kind,
        encoding: partAt(root, encoding),
      },
      { ...(isPlainObject(schema) && schema), ...(text && { description: text }) },
    ];
  }
  return [undefined, {}];
}
