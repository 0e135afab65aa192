import fc from 'fast-check';
import { AccessMode, ExecutionCategory, type ToolMetadataRegistry } from '../../src/index.js';
import { registryOf, type LooseOptions } from '../tool/sample-tools.js';
import type { PlannableCall } from '../../src/execution/plan-execution.js';

/** What a sample tool answers when it is asked for keys: the `keys` of its input, whatever they are; a function is called. */
function keysAsked(input: unknown): unknown {
  const { keys } = input as { keys: unknown };
  return typeof keys === 'function' ? (keys as () => unknown)() : keys;
}

function combinations(): LooseOptions[] {
  const tools: LooseOptions[] = [];
  for (const accessMode of Object.values(AccessMode)) {
    for (const executionCategory of Object.values(ExecutionCategory)) {
      if (
        accessMode === 'readonly' &&
        (executionCategory === 'write' || executionCategory === 'execute')
      )
        continue;
      for (const allowParallel of [true, false]) {
        for (const conflictKeys of [keysAsked, undefined]) {
          const name = `${accessMode}.${executionCategory}${allowParallel ? '' : '.serial'}${conflictKeys === undefined ? '' : '.keyed'}`;
          tools.push({
            name,
            aliases: [`also.${name}`],
            accessMode,
            executionCategory,
            allowParallel,
            ...(conflictKeys && { conflictKeys }),
          });
        }
      }
    }
  }
  return [...tools, { name: 'undeclared', aliases: ['also.undeclared'], conflictKeys: keysAsked }];
}

/** A tool for every combination of what planning looks at, each with the alias `also.` and its name. */
export const registry: ToolMetadataRegistry = registryOf(...combinations());

const letters = [
  'a',
  'b',
  'a/',
  'a/b',
  'a/b/',
  'a/b/c',
  'ab',
  'k:',
  'k:a',
  'k:a/',
  'k:a/b',
  'k:a//',
  'K:a',
  './b',
  'k:./a/../a/b',
  'a\\b',
  '/',
  '/a',
  '',
  '__proto__',
  'constructor',
  'x'.repeat(1_024),
] as const;
const someLetters = fc.array(fc.constantFrom<string>(...letters), { maxLength: 3 });
const keys: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: someLetters },
  {
    weight: 6,
    arbitrary: fc.record({ reads: someLetters, writes: someLetters }, { requiredKeys: [] }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      undefined,
      null,
      'a',
      ['a', 1],
      new Array(2),
      { length: 1, 0: 'a' },
      ['a', 'x'.repeat(1_025)],
      Array(1_000).fill('a'),
      Array(1_001).fill('a'),
      new Set(['a']),
      { reads: 'a' },
      { reads: ['a'], write: [] },
      { writes: ['a', 1] },
      () => {
        throw new Error('no');
      },
    ),
  },
);
const names = [...registry].map(({ name }) => name);
const typicalNames = [
  'readonly.read_only.keyed',
  'readonly.network',
  'readonly.compute',
  'write.write.keyed',
  'write.write.serial.keyed',
  'execute.execute',
  'write.compute.keyed',
];
const name = fc.oneof(
  // Often, so that most plans are more than a row of calls that run alone.
  {
    weight: 12,
    arbitrary: fc.constantFrom(...typicalNames, ...typicalNames.map((each) => `also.${each}`)),
  },
  { weight: 4, arbitrary: fc.constantFrom(...names) },
  { weight: 1, arbitrary: fc.constantFrom('nobody', '__proto__', 'constructor', 'toString', '') },
);

/** Any calls of those tools, of unknown ones, with any keys. */
export const anyCalls: fc.Arbitrary<readonly PlannableCall[]> = fc.array(
  fc.oneof(
    { weight: 9, arbitrary: fc.record({ name, input: fc.record({ keys }) }) },
    { weight: 1, arbitrary: fc.record({ name }) },
  ),
  { maxLength: 25 },
);

/** The keys above that are written otherwise than those of the same things, as these. */
const OTHERWISE: ReadonlyMap<string, string> = new Map([
  ['k:a//', 'k:a/'],
  ['K:a', 'k:a'],
  ['./b', 'b'],
  ['k:./a/../a/b', 'k:a/b'],
  ['a\\b', 'a/b'],
]);
export const usual = (key: string) => OTHERWISE.get(key) ?? key;

interface Said {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** What a call says that it touches; nothing when it does not say it well. */
function saidBy({ name, input }: PlannableCall, readsOnly: boolean): Said | undefined {
  if (!name.endsWith('.keyed')) return undefined;
  const good = (found: unknown): found is string[] =>
    Array.isArray(found) &&
    found.length <= 1_000 &&
    Array.from(found).every((key) => typeof key === 'string' && key.length <= 1_024);
  try {
    const found = keysAsked(input);
    if (good(found))
      return found.length === 0
        ? undefined
        : { reads: found.map(usual), writes: readsOnly ? [] : found.map(usual) };
    if (
      typeof found !== 'object' ||
      found === null ||
      Array.isArray(found) ||
      found instanceof Set ||
      Object.keys(found).length === 0
    )
      return undefined;
    if (Object.keys(found).some((key) => key !== 'reads' && key !== 'writes')) return undefined;
    const { reads = [], writes = [] } = found as Partial<Said>;
    return good(reads) && good(writes)
      ? { reads: reads.map(usual), writes: writes.map(usual) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether two keys are of one thing, or one covers the other: by comparing their texts. */
export function keysMeet(a: string, b: string): boolean {
  const covers = (wide: string, narrow: string) =>
    (wide.endsWith('/') && (narrow.startsWith(wide) || narrow === wide.slice(0, -1))) ||
    (/^[a-z]+:$/.test(wide) && narrow.startsWith(wide));
  return a === b || covers(a, b) || covers(b, a);
}

/** Whether two calls may not run at the same time, read off the names of the sample tools: the rules as they are written. */
export function conflict(a: PlannableCall, b: PlannableCall): boolean {
  const [one, other] = [a, b].map((call) => {
    const tool = call.name.replace(/^also\./, '');
    const [access, category, ...rest] = tool.split('.');
    const alone =
      !registry.has(call.name) ||
      access === 'undeclared' ||
      access === 'mixed' ||
      category === 'mixed';
    const writes = access === 'write' || access === 'execute';
    const reads = !writes && category !== 'compute';
    return {
      tool,
      alone,
      writes,
      reads,
      serial: rest.includes('serial'),
      said: saidBy({ ...call, name: tool }, access === 'readonly'),
    };
  }) as [Traits, Traits];
  if (one.alone || other.alone) return true;
  if (one.serial && one.tool === other.tool) return true;
  if (one.said === undefined || other.said === undefined) {
    // Who says that it writes nothing, or touches nothing at all, bears the less on one who says nothing.
    const mayWrite = (each: Traits) =>
      each.said === undefined ? each.writes : each.said.writes.length > 0;
    const mayTouch = (each: Traits) =>
      each.said === undefined || each.said.reads.length + each.said.writes.length > 0;
    return (
      (one.writes || one.reads) &&
      (other.writes || other.reads) &&
      ((mayWrite(one) && mayTouch(other)) || (mayWrite(other) && mayTouch(one)))
    );
  }
  const share = (ours: readonly string[], theirs: readonly string[]) =>
    ours.some((key) => theirs.some((each) => keysMeet(key, each)));
  const [a1, b1] = [one.said, other.said];
  return (
    (one.writes || one.reads) &&
    (other.writes || other.reads) &&
    (share(a1.writes, b1.writes) || share(a1.writes, b1.reads) || share(a1.reads, b1.writes))
  );
}

interface Traits {
  readonly tool: string;
  readonly alone: boolean;
  readonly writes: boolean;
  readonly reads: boolean;
  readonly serial: boolean;
  readonly said: Said | undefined;
}

/** The batch of every call: one after the latest of all earlier calls that it conflicts with, found by comparing all pairs. */
export function naiveBatches(calls: readonly PlannableCall[]): readonly number[] {
  const batches: number[] = [];
  for (const [position, call] of calls.entries()) {
    const before = calls
      .slice(0, position)
      .flatMap((earlier, index) => (conflict(earlier, call) ? [batches[index]!] : []));
    batches.push(Math.max(-1, ...before) + 1);
  }
  return batches;
}
