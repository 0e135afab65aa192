import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import type { Operation, Parameter } from './operations.js';
import { partAt, type Part } from './read-document.js';

/** A request that hasn't been authorized and sent yet. */
export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
}

/** The parts of an operation that its requests need. */
export type Callable = Pick<Operation, 'name' | 'method' | 'path' | 'parameters' | 'body'>;

type Input = Readonly<Record<string, unknown>>;

/**
 * Builds the request for a call from its arguments.
 *
 * @throws ToolError `INVALID_INPUT` if an argument would take the request outside the base URL.
 */
export function requestFor(operation: Callable, baseUrl: URL, input: Input): ApiRequest {
  const headers = new Headers({ accept: 'application/json, */*;q=0.5', 'user-agent': 'tooldex' });
  const query: [string, string][] = [];
  let path = operation.path;
  for (const parameter of operation.parameters) {
    const value = input[parameter.argument];
    if (value === undefined || (value === null && parameter.in !== 'path')) continue;
    const pairs = pairsOf(parameter, value);
    const line = pairs.map(([, text]) => text).join(',');
    if (parameter.in === 'path')
      path = path.replaceAll(`{${parameter.name}}`, segmentOf(parameter, line));
    else if (parameter.in === 'query') query.push(...pairs);
    else headers.set(parameter.name, headerValue(parameter, line));
  }
  const url = new URL(`${baseUrl.origin}${baseUrl.pathname.replace(/\/$/, '')}${path}`);
  // Some paths have a query of their own: `/users/{id}/expire?temporary=true`.
  for (const [name, text] of query) url.searchParams.append(whole(name), text);
  if (!isInside(url, baseUrl))
    throw new ToolError(
      'INVALID_INPUT',
      `The arguments of ${operation.name} would take the request outside the base URL. Change the path.`,
    );
  const { body } = operation;
  if (body === undefined || input['body'] === undefined)
    return { method: operation.method, url, headers };
  const encoded = encodeBody(body, input['body']);
  if (!(encoded instanceof FormData)) headers.set('content-type', body.mediaType);
  return { method: operation.method, url, headers, body: encoded };
}

/** Returns true for a URL with the same origin, at or below the base URL's path. */
export function isInside(url: URL, baseUrl: URL): boolean {
  return (
    url.origin === baseUrl.origin &&
    `${url.pathname}/`.startsWith(`${baseUrl.pathname.replace(/\/$/, '')}/`)
  );
}

/**
 * Encodes a path segment. The segments `.` and `..` are refused, because they'd change the path:
 * `users/..` is the parent of `users`.
 */
function segmentOf({ argument }: Parameter, text: string): string {
  if (text === '' || /^\.{1,2}$/.test(text))
    throw new ToolError(
      'INVALID_INPUT',
      expectedGot(`"${argument}" as part of a path`, JSON.stringify(text), 'Pass its value.'),
    );
  return encodeURIComponent(text).replaceAll('%2C', ',');
}

function headerValue({ argument }: Parameter, text: string): string {
  if (/^[\t\x20-\x7e\xa0-\xff]*$/.test(text)) return text;
  throw new ToolError(
    'INVALID_INPUT',
    expectedGot(
      `"${argument}" as one line of Latin characters`,
      'line breaks or other characters',
      'Remove them.',
    ),
  );
}

const SEPARATORS: Readonly<Record<string, string>> = {
  spaceDelimited: ' ',
  pipeDelimited: '|',
  tabDelimited: '\t',
};

/**
 * Formats a value in a parameter's style (OpenAPI 3.1, "Style Values"), as pairs of names and
 * strings.
 */
function pairsOf(
  { name, style, explode }: Pick<Parameter, 'name' | 'style' | 'explode'>,
  value: unknown,
): [string, string][] {
  if (style === 'json') return [[name, jsonOf(value)]];
  if (style === 'deepObject') return nested(name, value);
  const separator = SEPARATORS[style] ?? ',';
  if (Array.isArray(value))
    return explode && style === 'form'
      ? value.map((item) => [name, textOf(item)])
      : [[name, value.map(textOf).join(separator)]];
  if (!isPlainObject(value)) return [[name, textOf(value)]];
  const members = Object.entries(value).map(([key, item]): [string, string] => [key, textOf(item)]);
  if (!explode) return [[name, members.flat().join(separator)]];
  return style === 'form'
    ? members
    : [[name, members.map(([key, text]) => `${key}=${text}`).join(',')]];
}

function textOf(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? whole(value) : jsonOf(value);
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => {
    whole(key);
    return typeof each === 'string' ? whole(each) : each;
  });
}

/** Returns a text. @throws ToolError if the text contains half a character, which UTF-8 can't. */
function whole(text: string): string {
  if (!/\p{Surrogate}/u.test(text)) return text;
  throw new ToolError(
    'INVALID_INPUT',
    'The text contains half a character. Send whole characters.',
  );
}

/**
 * Formats an object's fields with brackets (`a[b]=1`), and a list's items with their index
 * (`a[0]=1`).
 */
function nested(name: string, value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[name, textOf(value)]];
  return Object.entries(value).flatMap(([key, item]) => nested(`${name}[${key}]`, item));
}

function encodeBody(
  { kind, encoding }: NonNullable<Operation['body']>,
  value: unknown,
): string | Uint8Array<ArrayBuffer> | FormData {
  if (kind === 'json') return jsonOf(value);
  if (kind === 'text') return textOf(value);
  if (kind === 'binary') return bytesOf(value as Input);
  const fields = Object.entries(isPlainObject(value) ? value : {});
  if (kind === 'form')
    return new URLSearchParams(
      fields.flatMap(([name, item]) => fieldPairs(name, item, partAt({}, encoding[name]))),
    ).toString();
  const form = new FormData();
  for (const [name, item] of fields)
    for (const each of Array.isArray(item) ? (item as unknown[]) : [item])
      if (isFile(each))
        form.append(
          name,
          new Blob([bytesOf(each)], { type: typeIn(encoding[name]) }),
          textOf(each['filename'] ?? name),
        );
      else form.append(name, textOf(each));
  return form;
}

/**
 * Formats a field of a form as its encoding says. By default, the items of a list repeat the name,
 * and the fields of an object are in brackets.
 */
function fieldPairs(
  name: string,
  item: unknown,
  { style, explode, contentType }: Part,
): [string, string][] {
  if (style !== undefined || explode !== undefined) {
    const listStyle = (style ?? 'form') as Parameter['style'];
    const isExploded = typeof explode === 'boolean' ? explode : listStyle === 'form';
    return pairsOf({ name, style: listStyle, explode: isExploded }, item);
  }
  if (/\bjson\b/.test(String(contentType))) return [[name, jsonOf(item)]];
  const isFlat = Array.isArray(item) && item.every((each) => typeof each !== 'object');
  return isFlat ? item.map((each) => [name, textOf(each)]) : nested(name, item);
}

/** Returns the media type of a part of a form, if the document names exactly one. */
function typeIn(encoding: unknown): string {
  const { contentType } = partAt({}, encoding);
  return typeof contentType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(contentType)
    ? contentType
    : '';
}

function isFile(value: unknown): value is Input {
  return isPlainObject(value) && ('text' in value || 'base64' in value);
}

function bytesOf({ text, base64 }: Input): Uint8Array<ArrayBuffer> {
  return base64 === undefined
    ? new TextEncoder().encode(textOf(text))
    : new Uint8Array(Buffer.from(textOf(base64), 'base64'));
}
