import { readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { ToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { pointedAt } from '../json-schema/schema-document.js';

/** Any object in the document. In an invalid document, required fields may be `undefined`. */
export type Part = Readonly<Record<string, unknown>>;

/** An API description. */
export interface ApiDocument {
  readonly root: Part;
  /** The URL from which the document was fetched. Relative server URLs are resolved against it. */
  readonly url?: URL;
}

/**
 * The maximum size of a document in bytes: 64 MiB. For comparison, GitHub's API description has 7
 * MiB.
 */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * Reads an OpenAPI 3.1, OpenAPI 3.0 or Swagger 2 document. The text can be JSON or YAML.
 *
 * @param source The parsed document, its http(s) URL, or its file path.
 * @throws ToolError `INVALID_ARGUMENT` if the document can't be read or isn't an API description.
 */
export async function readDocument(
  source: string | URL | object,
  fetchUrl: typeof fetch,
): Promise<ApiDocument> {
  const address = source instanceof URL ? source.href : source;
  if (typeof address !== 'string') return { root: checked(structuredCopy(address)) };
  if (!/^https?:\/\//i.test(address)) return { root: checked(parse(await textOf(address))) };
  const response = await fetchUrl(address, { signal: AbortSignal.timeout(30_000) }).catch(
    (cause: unknown) => {
      throw unreadable(`couldn't fetch ${address}`, 'Check the address.', cause);
    },
  );
  if (!response.ok)
    throw unreadable(`couldn't fetch ${address}: HTTP ${response.status}`, 'Check the address.');
  const bytes = await boundedBytes(response, MOST_BYTES);
  if (bytes.isCut) throw unreadable('the document has more than 64 MiB', 'Load a smaller one.');
  const text = new TextDecoder().decode(bytes.bytes);
  return { root: checked(parse(text)), url: new URL(response.url || address) };
}

async function textOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const code = (cause as { readonly code?: string }).code ?? 'an error';
    throw unreadable(`couldn't read the file (${code})`, 'Check its path.', cause);
  });
  if (text.length > MOST_BYTES)
    throw unreadable('the document has more than 64 MiB', 'Load a smaller one.');
  return text;
}

/**
 * Parses JSON, or YAML if the text isn't JSON. The YAML library limits the expansion of aliases.
 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    try {
      return parseYaml(text) as unknown;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split('\n')[0] : 'unknown';
      throw unreadable(`the text is neither JSON nor YAML: ${reason}`, 'Check the file.', cause);
    }
  }
}

function structuredCopy(document: object): unknown {
  try {
    return structuredClone(document);
  } catch (cause) {
    throw unreadable("the document isn't plain data", 'Pass the parsed JSON.', cause);
  }
}

function checked(document: unknown): Part {
  if (!isPlainObject(document))
    throw unreadable(`got ${describeValue(document)}`, 'Pass an object, a URL or a file.');
  // YAML reads 3.0 as the number 3.
  const version = document['openapi'] ?? document['swagger'];
  if (!/^(?:2(?:\.0)?|3(?:\.[01](?:\.\d+)?)?)$/.test(String(version)))
    throw unreadable(
      `the version is ${describeValue(version)}`,
      'Use Swagger 2.0, OpenAPI 3.0 or OpenAPI 3.1.',
    );
  if (isPlainObject(document['paths'])) return document;
  throw unreadable('it has no paths', 'Pass a document that describes operations.');
}

function unreadable(what: string, advice: string, cause?: unknown): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `Couldn't read the API description: ${what}. ${advice}`,
    {
      cause,
    },
  );
}

/** Reads a response up to a maximum number of bytes, and cancels the rest. */
export async function boundedBytes(
  response: Response,
  most: number,
): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push((chunk as Uint8Array).subarray(0, most - size));
    size += (chunk as Uint8Array).length;
    if (size > most) break; // Leaving the loop cancels the stream.
  }
  return { bytes: Buffer.concat(chunks), isCut: size > most };
}

/** Returns the target of a reference, or `undefined` if the document doesn't contain it. */
export function targetOf(root: Part, reference: string): unknown {
  return reference.startsWith('#/') ? pointedAt(root, reference) : undefined;
}

/**
 * Returns a part of the document after following its local references, or an empty object if there
 * is none.
 */
export function partAt(root: Part, value: unknown): Part {
  let part = value;
  for (let hops = 0; hops < 32; hops += 1) {
    if (!isPlainObject(part)) return {};
    const { $ref } = part;
    if (typeof $ref !== 'string') return part;
    part = targetOf(root, $ref);
  }
  return {};
}

/** Returns a list in the document, or an empty list for any other value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
