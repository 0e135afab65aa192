import { readFileSync } from 'node:fs';
import { isPlainObject } from '../../core/plain-data.js';
import type { Effect } from '../effect.js';
import { httpEffects } from '../known/http.js';
import { codeFiles, type Program } from './program.js';

/** The effect of an OpenAPI operation, with the operation's place in the document. */
interface Operation {
  readonly at: string;
  readonly effects: readonly Effect[];
}

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);
const MOST_BYTES = 8_000_000;
const plain = (name: string): string => name.replace(/[^a-z0-9]/gi, '').toLowerCase();

/**
 * Finds the operations in a folder's OpenAPI documents (JSON). Some servers generate their tools
 * from such a document.
 *
 * @returns a function that finds the operation of a tool. The tool's name is the operation's
 * `operationId`, or ends with it. If several operations fit, the operation with the longest
 * `operationId` is used.
 */
export function operationsIn(program: Program): (tool: string) => Operation | undefined {
  const operations = new Map<string, Operation>();
  for (const file of codeFiles(program.root, 2_000, /\.json$/u)) {
    const text = readFileSync(file, 'utf8');
    if (text.length > MOST_BYTES || !/"(?:openapi|swagger)"\s*:/u.test(text)) continue;
    for (const [id, method, path, at] of operationsOf(text)) {
      const place = `${program.nameOf(file)}:${at}`;
      operations.set(plain(id), {
        at: place,
        effects: httpEffects(method, path.replaceAll(/\{[^}]*\}/gu, 'x')).map((effect) => ({
          ...effect,
          certainty: 'does',
          at: place,
          via: [],
        })),
      });
    }
  }
  return (tool) => {
    const name = plain(tool);
    const exact = operations.get(name);
    if (exact !== undefined) return exact;
    const prefixed = [...operations.keys()].filter((id) => id.length > 3 && name.endsWith(id));
    const [best] = prefixed.sort((a, b) => b.length - a.length);
    return best === undefined ? undefined : operations.get(best);
  };
}

/** Yields the name, method, path and line of each operation in a document. */
function* operationsOf(text: string): Iterable<readonly [string, string, string, number]> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return;
  }
  if (!isPlainObject(document) || !isPlainObject(document['paths'])) return;
  for (const [path, item] of Object.entries(document['paths']))
    for (const [method, operation] of Object.entries(isPlainObject(item) ? item : {})) {
      const id = isPlainObject(operation) ? operation['operationId'] : undefined;
      if (!METHODS.has(method) || typeof id !== 'string') continue;
      const at = text.slice(0, Math.max(0, text.indexOf(JSON.stringify(id)))).split('\n').length;
      yield [id, method, path, at];
    }
}
