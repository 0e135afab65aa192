import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  selectTools,
  ToolMetadataRegistry,
  type Selection,
  type SelectionRequest,
  type ToolEntry,
} from '../../src/index.js';
import { costRank, dangerRank } from '../../src/core/enum-order.js';
import { sample, type LooseOptions } from '../tool/sample-tools.js';
import { asText, bytes, chosen, long } from './selection-cases.js';
import { propertyRuns } from '../property-runs.js';

const WORDS = [
  'weather',
  'forecast',
  'file',
  'delete',
  'list',
  'image',
  'mail',
  'send',
  'git',
  'diff',
];
const STAGES = ['reading', 'execution'];
const TASKS = ['search', 'edit'];
const NAMES = [...'abcdefghijkl'].map((letter) => `tool_${letter}`);
const word = fc.constantFrom(...WORDS);
const phrase = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));
const some = <T>(values: readonly T[], maxLength = 2) => fc.subarray([...values], { maxLength });

const options = fc.record({
  description: fc
    .tuple(phrase, fc.integer({ min: 0, max: 12 }))
    .map(
      ([words, repeats]) =>
        `Does ${words}. ${'And so on, as described elsewhere. '.repeat(repeats)}`,
    ),
  summary: fc.option(fc.constantFrom('In short.', 'x'.repeat(120)), { nil: undefined }),
  priority: fc.constantFrom(0, 1, 1, 2, 2, 2, 3, 3),
  dangerLevel: fc.constantFrom(...Object.values(DangerLevel)),
  costTier: fc.constantFrom(...Object.values(CostTier)),
  accessMode: fc.constantFrom(...Object.values(AccessMode)),
  mandatoryKeywords: some(WORDS, 1),
  keywords: some(WORDS),
  stages: some(STAGES),
  taskTypes: some(TASKS),
  compact: fc.boolean(),
  available: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    () => true,
    () => false,
    () => {
      throw new Error('no');
    },
  ),
  inputSchema: fc.constantFrom(long('').inputSchema as object, { type: 'object', properties: {} }),
});
const tools = fc.array(options, { maxLength: NAMES.length }).map((each) =>
  each.map((own, index): LooseOptions => ({
    ...own,
    name: NAMES[index],
    aliases: [`alias_${index}`],
  })),
);
const name = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.nat(11).map((index) => `alias_${index}`),
  fc.constantFrom('gone', '__proto__'),
);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });

const request: fc.Arbitrary<SelectionRequest> = fc
  .record({
    text: phrase,
    stage: maybe(fc.constantFrom(...STAGES)),
    taskType: maybe(fc.constantFrom(...TASKS)),
    maxTools: maybe(fc.nat(10)),
    criticalOutsideLimit: maybe(fc.boolean()),
    tokenBudget: maybe(fc.integer({ min: 0, max: 1_500 })),
    maxDanger: maybe(fc.constantFrom(...Object.values(DangerLevel))),
    maxCostTier: maybe(fc.constantFrom(...Object.values(CostTier))),
    accessModes: maybe(some(Object.values(AccessMode), 4)),
    include: fc.array(name, { maxLength: 2 }),
    exclude: fc.array(name, { maxLength: 3 }),
    countTokens: maybe(fc.constant((json: string) => Buffer.byteLength(json))),
  })
  .map(
    (parts) =>
      Object.fromEntries(
        Object.entries(parts).filter(([, value]) => value !== undefined),
      ) as unknown as SelectionRequest,
  );

function registryWith(all: readonly LooseOptions[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(all.map((each) => sample(each)));
  return registry;
}

/** Implements the rule for which tools can be kept from the previous selection. */
function isPermitted(
  registry: ToolMetadataRegistry,
  entry: ToolEntry,
  asked: SelectionRequest,
): boolean {
  if ((asked.exclude ?? []).some((each) => registry.get(each) === entry)) return false;
  if (!registry.isAvailable(entry.name)) return false;
  if (asked.maxDanger !== undefined && dangerRank(entry.dangerLevel) > dangerRank(asked.maxDanger))
    return false;
  if (asked.accessModes !== undefined && !asked.accessModes.includes(entry.accessMode))
    return false;
  return asked.maxCostTier === undefined || costRank(entry.costTier) <= costRank(asked.maxCostTier);
}

function isGuaranteed(
  registry: ToolMetadataRegistry,
  entry: ToolEntry,
  asked: SelectionRequest,
): boolean {
  return (
    entry.priority === 0 ||
    (asked.include ?? []).some((each) => registry.get(each) === entry) ||
    registry.getToolsMatchingMandatoryKeywords(asked.text).has(entry.name)
  );
}

/** Checks what must hold for every selection. */
function expectSound(
  registry: ToolMetadataRegistry,
  asked: SelectionRequest,
  selection: Selection,
): void {
  const names = chosen(selection);
  expect(new Set(names).size).toBe(names.length);
  expect(selection.tools.filter(({ entry }) => !isPermitted(registry, entry, asked))).toEqual([]);
  const must = [...registry]
    .filter((entry) => isPermitted(registry, entry, asked) && isGuaranteed(registry, entry, asked))
    .map((entry) => entry.name);
  expect(names).toEqual(expect.arrayContaining(must));
  expect(
    selection.tools
      .filter(({ guaranteed }) => guaranteed)
      .map(({ toolName }) => toolName)
      .sort(),
  ).toEqual(must.sort());

  const count = asked.countTokens ?? ((json: string) => Math.ceil(json.length / 4));
  expect(selection.tools.map(({ tokens }) => tokens)).toEqual(bytes(selection).map(count));
  expect(selection.tokens).toBe(selection.tools.reduce((sum, { tokens }) => sum + tokens, 0));
  const beside = selection.tools.filter(
    ({ entry, reason }) =>
      reason === 'included' || (asked.criticalOutsideLimit !== false && entry.priority === 0),
  ).length;
  const maxTools = (asked.maxTools ?? 12) + beside;
  const budget = asked.tokenBudget ?? Infinity;
  if (selection.error === undefined)
    expect([names.length <= maxTools, selection.tokens <= budget]).toEqual([true, true]);
  else {
    expect(selection.error.details['guaranteed']).toEqual(names);
    expect([...names].sort()).toEqual(must.sort());
    expect(names.length > maxTools || selection.tokens > budget).toBe(true);
  }

  const left = selection.dropped.map(({ toolName }) => toolName);
  expect(new Set(left).size).toBe(left.length);
  expect(left.filter((each) => names.includes(each))).toEqual([]);
  expect(
    [...selection.tools, ...selection.dropped].every(
      ({ reason, explanation }) => reason !== undefined && explanation !== '',
    ),
  ).toBe(true);
  // Every included or excluded name appears in the result.
  for (const each of asked.include ?? [])
    expect([...names, ...left]).toContain(registry.get(each)?.name ?? each);
  for (const each of asked.exclude ?? []) if (!registry.has(each)) expect(left).toContain(each);
}

describe('selections for random catalogues and requests', () => {
  it('contain all guaranteed tools and no forbidden tools, and stay within the limits or report an error', () => {
    fc.assert(
      fc.property(tools, request, (all, asked) => {
        const registry = registryWith(all);
        expectSound(registry, asked, selectTools(registry, asked));
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it('keep the previous tools first, in order and with the same bytes', () => {
    fc.assert(
      fc.property(tools, fc.array(request, { minLength: 2, maxLength: 6 }), (all, turns) => {
        const registry = registryWith(all);
        let previous: Selection | undefined;
        for (const turn of turns) {
          const asked: SelectionRequest = previous === undefined ? turn : { ...turn, previous };
          const selection = selectTools(registry, asked);
          expectSound(registry, asked, selection);
          if (previous !== undefined) expectPrefix(registry, asked, previous, selection);
          previous = selection;
        }
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("don't depend on the order of registration", () => {
    const shuffled = tools.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, request, ([all, other], asked) => {
        const registry = registryWith(all);
        const first = asText(selectTools(registry, asked));
        expect(asText(selectTools(registry, asked))).toBe(first);
        expect(asText(selectTools(registryWith(other), asked))).toBe(first);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

function expectPrefix(
  registry: ToolMetadataRegistry,
  asked: SelectionRequest,
  { tools: all }: Selection,
  selection: Selection,
): void {
  // Tools that only filled the remaining space aren't kept.
  const isFiller = (reason: string) => ['high_priority', 'weak_match'].includes(reason);
  const previous = { tools: all.filter(({ reason }) => !isFiller(reason)) };
  const before = new Map(previous.tools.map((each) => [each.toolName, each]));
  const stayed = selection.tools.filter(({ toolName }) => before.has(toolName));
  expect(selection.tools.slice(0, stayed.length)).toEqual(stayed);
  expect(stayed.map(({ toolName }) => toolName)).toEqual(
    previous.tools
      .map(({ toolName }) => toolName)
      .filter((each) => stayed.some(({ toolName }) => toolName === each)),
  );
  for (const { toolName, level, rendered } of stayed)
    expect([toolName, level, JSON.stringify(rendered)]).toEqual([
      toolName,
      before.get(toolName)!.level,
      JSON.stringify(before.get(toolName)!.rendered),
    ]);
  // Dropped tools were forbidden, or there was no room for them.
  for (const { toolName, entry } of previous.tools) {
    if (stayed.some((each) => each.toolName === toolName)) continue;
    const why = selection.dropped.find((each) => each.toolName === toolName)?.reason;
    expect(
      isPermitted(registry, entry, asked)
        ? ['max_tools', 'token_budget']
        : ['excluded', 'unavailable', 'danger', 'access', 'cost'],
    ).toContain(why);
  }
  const added = selection.tools.length - stayed.length;
  // A tool that is only relevant never displaces a previous tool.
  if (selection.tools.slice(stayed.length).some(({ guaranteed }) => !guaranteed) && added > 0)
    expect(
      previous.tools.every(
        ({ toolName, entry }) =>
          !isPermitted(registry, entry, asked) || chosen(selection).includes(toolName),
      ),
    ).toBe(true);
}
