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
      if (accessMode === 'readonly' && (executionCategory === 'write' || executionCategory === 'execute')) continue;
      for (const allowParallel of [true, false]) {
        for (const conflictKeys of [keysAsked, undefined]) {
          const name = `${accessMode}.${executionCategory}${allowParallel ? '' : '.serial'}${conflictKeys === undefined ? '' : '.keyed'}`;
          tools.push({ name, aliases: [`also.${name}`], accessMode, executionCategory, allowParallel, ...(conflictKeys && { conflictKeys }) });
        }
      }
    }
  }
  return [...tools, { name: 'undeclared', aliases: ['also.undeclared'], conflictKeys: keysAsked }];
}

/** A tool for every combination of what planning looks at, each with the alias `also.` and its name. */
export const registry: ToolMetadataRegistry = registryOf(...combinations());

const letters = ['a', 'b', 'c', '__proto__', 'constructor', 'x'.repeat(1_024)] as const;
const keys: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 10, arbitrary: fc.array(fc.constantFrom<string>(...letters), { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(undefined, null, 'a', ['a', 1], new Array(2), { length: 1, 0: 'a' }, ['a', 'x'.repeat(1_025)], Array(1_000).fill('a'), Array(1_001).fill('a'), new Set(['a']), () => {
      throw new Error('no');
    }),
  },
);
const names = [...registry].map(({ name }) => name);
const typicalNames = ['readonly.read_only.keyed', 'readonly.network', 'readonly.compute', 'write.write.keyed', 'write.write.serial.keyed', 'execute.execute', 'write.compute.keyed'];
const name = fc.oneof(
  // Often, so that most plans are more than a row of calls that run alone.
  { weight: 12, arbitrary: fc.constantFrom(...typicalNames, ...typicalNames.map((each) => `also.${each}`)) },
  { weight: 4, arbitrary: fc.constantFrom(...names) },
  { weight: 1, arbitrary: fc.constantFrom('nobody', '__proto__', 'constructor', 'toString', '') },
);

/** Any calls of those tools, of unknown ones, with any keys. */
export const anyCalls: fc.Arbitrary<readonly PlannableCall[]> = fc.array(
  fc.oneof({ weight: 9, arbitrary: fc.record({ name, input: fc.record({ keys }) }) }, { weight: 1, arbitrary: fc.record({ name }) }),
  { maxLength: 25 },
);

/** The keys of a call that count; none otherwise. */
function keysOf({ name, input }: PlannableCall): readonly string[] {
  if (!name.endsWith('.keyed')) return [];
  try {
    const found = keysAsked(input);
    const good = Array.isArray(found) && found.length <= 1_000 && Array.from(found).every((key) => typeof key === 'string' && key.length <= 1_024);
    return good ? (found as string[]) : [];
  } catch {
    return [];
  }
}

/** Whether two calls may not run at the same time, read off the names of the sample tools: the rules as they are written. */
export function conflict(a: PlannableCall, b: PlannableCall): boolean {
  const [one, other] = [a, b].map((call) => {
    const tool = call.name.replace(/^also\./, '');
    const [access, category, ...rest] = tool.split('.');
    const alone = !registry.has(call.name) || access === 'undeclared' || access === 'mixed' || category === 'mixed';
    const writes = access === 'write' || access === 'execute';
    const reads = !writes && category !== 'compute';
    return { tool, alone, writes, reads, serial: rest.includes('serial'), keys: keysOf({ ...call, name: tool }) };
  }) as [Traits, Traits];
  if (one.alone || other.alone) return true;
  if (one.serial && one.tool === other.tool) return true;
  const meet = (one.writes && (other.writes || other.reads)) || (other.writes && one.reads);
  const apart = one.keys.length > 0 && other.keys.length > 0 && !one.keys.some((key) => other.keys.includes(key));
  return meet && !apart;
}

interface Traits {
  readonly tool: string;
  readonly alone: boolean;
  readonly writes: boolean;
  readonly reads: boolean;
  readonly serial: boolean;
  readonly keys: readonly string[];
}

/** The batch of every call: one after the latest of all earlier calls that it conflicts with, found by comparing all pairs. */
export function naiveBatches(calls: readonly PlannableCall[]): readonly number[] {
  const batches: number[] = [];
  for (const [position, call] of calls.entries()) {
    const before = calls.slice(0, position).flatMap((earlier, index) => (conflict(earlier, call) ? [batches[index]!] : []));
    batches.push(Math.max(-1, ...before) + 1);
  }
  return batches;
}
