import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { notJson } from './formats/json-document.js';
import { MAX_ROWS, MAX_TEXT, USUAL_ROWS } from './formats/limits.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum length of a path in characters. */
const MAX_PATH = 500;
/** Maximum number of keys listed in a message. */
const SHOWN_KEYS = 20;

const Input = z.object({
  json: z.string().max(MAX_TEXT).describe('JSON text'),
  path: z
    .string()
    .max(MAX_PATH)
    .describe(
      'Path such as a.b[0].c, items[*].name, list[-1] or ["a key"].x; empty for everything',
    ),
  limit: wholeNumber(USUAL_ROWS, MAX_ROWS).describe('Maximum number of values to return'),
});

/** Selects values from JSON text with a simple path. */
@tool({
  ...DATA_TOOL,
  name: 'json_query',
  description:
    'Picks values out of JSON text by a path: keys (a.b), positions (list[0], list[-1]), all members ([*]) and quoted keys (["a key"]). Returns all matches as a list. If nothing matches, fails and lists the keys that exist. At most 5 million characters.',
  inputSchema: Input,
  keywords: [
    'json',
    'json path',
    'extract field',
    'query json',
    'select value',
    'nested value',
    'key',
    'pluck',
  ],
  mandatoryKeywords: ['query json', 'json path', 'json query'],
  stages: ['reading', 'analysis'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'Get all the names from this JSON list',
    'What is the value of data.user.id in this response?',
    'Show the last item of the results array',
    'Pick the price of every product from this JSON',
  ],
})
export class JsonQuery {
  execute({ json, path, limit = USUAL_ROWS }: z.input<typeof Input>) {
    const problem = notJson(json);
    if (problem !== undefined) return problem;
    const steps = parsePath(path);
    if (typeof steps === 'string') return fail(steps);
    let values: readonly unknown[] = [JSON.parse(json)];
    for (const [index, step] of steps.entries()) {
      const next = values.flatMap((value) => membersOf(value, step));
      if (next.length === 0) return fail(nothingFor(step, index, values));
      values = next;
    }
    return {
      values: values.slice(0, limit),
      found: values.length,
      truncated: values.length > limit,
    };
  }
}

/**
 * Returns the members that a step selects. Only own members are selected, so that `constructor`
 * isn't found.
 */
function membersOf(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step.kind === 'all') return Object.values(value);
  if (Array.isArray(value)) {
    const list = value as unknown[];
    if (step.kind !== 'index') return [];
    const index = step.index < 0 ? list.length + step.index : step.index;
    return index >= 0 && index < list.length ? [list[index]] : [];
  }
  return step.kind === 'key' && Object.hasOwn(value, step.key)
    ? [(value as Record<string, unknown>)[step.key]]
    : [];
}

function nothingFor(step: Step, index: number, values: readonly unknown[]): string {
  const wanted =
    step.kind === 'key'
      ? `the key "${step.key}"`
      : step.kind === 'index'
        ? `an item at position ${step.index}`
        : 'members';
  return `Expected ${wanted} at step ${index + 1} of the path, got ${describe(values[0])}. Change the path.`;
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length} items`;
  if (typeof value !== 'object' || value === null)
    return value === null ? 'null' : `a ${typeof value}`;
  const keys = Object.keys(value);
  const shown = keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key.slice(0, 50)));
  return keys.length === 0
    ? 'an object without keys'
    : `an object with the keys ${shown.join(', ')}${keys.length > SHOWN_KEYS ? ', …' : ''}`;
}

/** One step of a JSON path. */
type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' };

const ROOT = /\$(?=$|[.[])/y;
/** A key after a dot or at the start: everything up to the next dot or bracket. */
const NAME = /[^.[\]"\s][^.[\]"]*/y;
const DOT = /\./y;
const INDEX = /\[(-?[0-9]{1,9})\]/y;
const ALL = /\[\*\]/y;
/**
 * A quoted key, written as a JSON string. Each character can match in only one way, so the pattern
 * never backtracks.
 */
const QUOTED = /\[("(?:[^"\\]|\\["\\/bfnrt])*")\]/y;

/** Parses a path such as `a.b[0]["c d"][*]`. If the text isn't a path, returns the reason. */
function parsePath(path: string): readonly Step[] | string {
  const steps: Step[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(path);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const afterRoot = take(ROOT) !== null;
  while (at < path.length) {
    const index = take(INDEX);
    const quoted = index === null ? take(QUOTED) : null;
    if (index !== null) steps.push({ kind: 'index', index: Number(index[1]) });
    else if (quoted !== null)
      steps.push({ kind: 'key', key: JSON.parse(quoted[1] ?? '') as string });
    else if (take(ALL) !== null) steps.push({ kind: 'all' });
    else {
      const needsDot = steps.length > 0 || afterRoot;
      const name = !needsDot || take(DOT) !== null ? take(NAME)?.[0] : undefined;
      if (name === undefined)
        return `The path has an error at character ${at + 1}. Write a path such as a.b[0], items[*].name or ["a key"].`;
      steps.push(name === '*' ? { kind: 'all' } : { kind: 'key', key: name });
    }
  }
  return steps;
}
