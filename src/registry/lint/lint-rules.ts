import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  SideEffect,
  Stage,
} from '../../core/enums.js';
import { isWriting } from '../../core/enum-order.js';
import { describeValue } from '../../core/plain-data.js';
import { uncheckedPatterns } from '../../json-schema/compile-json-schema.js';
import { keywordForm } from '../../search/keyword-index.js';
import { jsonSchemaOf } from '../../tool/tool-schema.js';
import { poisonedTexts, type PoisonedText } from '../../core/poisoned-text.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** The severity of a finding. */
export type LintSeverity = LintRule['severity'];

/** A check of one tool. Yields one message per problem. */
interface LintRule {
  readonly severity: 'error' | 'warning';
  readonly check: (entry: ToolEntry) => Iterable<string | PoisonedText>;
}

const KNOWN_STAGES: ReadonlySet<string> = new Set(Object.values(Stage));
const SAFETY_AXES: ReadonlySet<string> = new Set([
  'accessMode',
  'dangerLevel',
  'executionCategory',
]);

/** The rules that check one tool at a time, keyed by their stable names. */
export const LINT_RULES = {
  'inferred-safety': {
    severity: 'warning',
    *check(entry) {
      // If the access mode isn't inferred as `mixed`, the safety values come from metadata that the
      // author declared.
      if (entry.accessMode !== AccessMode.MIXED || !entry.inferred.includes('accessMode')) return;
      const inferred = entry.inferred.filter((axis) => SAFETY_AXES.has(axis));
      yield `declare ${inferred.join(', ')}: inferred as ${inferred.map((axis) => String(entry[axis])).join(', ')}, the strict default`;
    },
  },
  'unmatchable-keyword': {
    severity: 'error',
    *check(entry) {
      for (const keyword of [...entry.keywords, ...entry.mandatoryKeywords]) {
        if (keywordForm(keyword).length === 0)
          yield `keyword ${JSON.stringify(keyword)} has no letter or digit and can never match`;
      }
    },
  },
  'same-keyword': {
    severity: 'warning',
    *check(entry) {
      const seen = new Map<string, string>();
      for (const keyword of entry.keywords) {
        const form = keywordForm(keyword).join(' ');
        const same = seen.get(form);
        if (form !== '' && same !== undefined)
          yield `keywords ${JSON.stringify(same)} and ${JSON.stringify(keyword)} match the same words: remove one, or both add to the score`;
        else seen.set(form, keyword);
      }
    },
  },
  'no-handler': {
    severity: 'warning',
    *check({ definition, manual, handlerRef, providers }) {
      if (
        definition.execute === undefined &&
        !manual &&
        handlerRef === undefined &&
        providers.length === 0
      )
        yield "nothing answers its calls: pass a function (execute, or in a manifest a handler with the tool's name), or declare manual, handlerRef or providers";
    },
  },
  'cached-by-context': {
    severity: 'warning',
    *check({ cacheKey, cacheTtlMs = 0, definition }) {
      if (cacheTtlMs === 0 || cacheKey !== undefined || (definition.execute?.length ?? 0) < 2)
        return;
      yield "its results are cached per conversation and for the whole context (and not at all if the context isn't plain data): declare cacheKey(input, context) to return only the data they depend on";
    },
  },
  'pattern-unchecked': {
    severity: 'warning',
    *check(entry) {
      for (const { path, pattern } of uncheckedPatterns(entry.inputJsonSchema))
        yield `the pattern ${describeValue(pattern)} at ${path.join('.')} in its input schema isn't checked here, only by the server that the tool comes from`;
    },
  },
  'hidden-text': { severity: 'error', check: (entry) => textsOf(entry, 'hidden-text') },
  'mixed-alphabets': { severity: 'warning', check: (entry) => textsOf(entry, 'mixed-alphabets') },
  'instruction-text': { severity: 'warning', check: (entry) => textsOf(entry, 'instruction-text') },
  'suspicious-pair': { severity: 'warning', check: suspiciousPairs },
  'unknown-stage': {
    severity: 'warning',
    *check(entry) {
      for (const stage of entry.stages)
        if (!KNOWN_STAGES.has(stage))
          yield `stage ${JSON.stringify(stage)} isn't one of ${[...KNOWN_STAGES].join(', ')}`;
    },
  },
  'unknown-parameter': {
    severity: 'error',
    *check(entry) {
      const properties = entry.inputJsonSchema['properties'];
      if (typeof properties !== 'object' || properties === null) return;
      for (const name of entry.progressParams)
        if (!Object.hasOwn(properties, name))
          yield `progressParams lists ${JSON.stringify(name)}, which isn't in inputSchema`;
    },
  },
} satisfies Readonly<Record<string, LintRule>>;

/** The default severities of the rules that compare a tool with other tools, a policy, or hints. */
export const CATALOGUE_RULES = {
  'undeclared-flow': 'warning',
  'missing-metadata': 'warning',
  'no-keywords': 'warning',
  'unknown-reference': 'warning',
  'near-duplicate-description': 'warning',
  'look-alike': 'warning',
  'unknown-tool': 'warning',
  'stale-hints': 'warning',
} satisfies Readonly<Record<string, LintSeverity>>;

/** The stable name of a lint rule. */
export type LintRuleName = keyof typeof LINT_RULES | keyof typeof CATALOGUE_RULES;

const poisoned = new WeakMap<ToolEntry, readonly PoisonedText[]>();

/** Returns a rule's findings in the text of a tool that models or users see. */
function textsOf(entry: ToolEntry, rule: PoisonedText['rule']): readonly PoisonedText[] {
  const {
    name,
    aliases,
    description,
    summary,
    keywords,
    mandatoryKeywords,
    examples,
    category,
    metadata,
    inputJsonSchema,
    definition,
  } = entry;
  const texts =
    poisoned.get(entry) ??
    poisonedTexts({
      name,
      aliases,
      description,
      summary,
      keywords,
      mandatoryKeywords,
      examples,
      category,
      title: metadata?.['title'],
      inputSchema: inputJsonSchema,
      outputSchema:
        definition.outputSchema === undefined
          ? undefined
          : jsonSchemaOf(definition.outputSchema, 'output'),
    });
  poisoned.set(entry, texts);
  return texts.filter((text) => text.rule === rule);
}

/** Yields combinations of values that are allowed but rarely make sense. */
function* suspiciousPairs(entry: ToolEntry): Iterable<string> {
  const { accessMode, dangerLevel, executionCategory, sideEffects } = entry;
  const declared = (axis: (typeof entry.inferred)[number]) => !entry.inferred.includes(axis);
  const reads = accessMode === AccessMode.READONLY;
  if (reads && executionCategory === ExecutionCategory.MIXED)
    yield 'accessMode readonly with executionCategory mixed: what does it change?';
  // A write can also use the network, so `network` isn't suspicious.
  if (
    isWriting(accessMode) &&
    (executionCategory === ExecutionCategory.READ_ONLY ||
      executionCategory === ExecutionCategory.COMPUTE)
  ) {
    yield `accessMode ${accessMode} with executionCategory ${executionCategory}: the access mode wins, so calls run one after another`;
  }
  if (isWriting(accessMode) && dangerLevel === DangerLevel.SAFE)
    yield `accessMode ${accessMode} with dangerLevel safe`;
  if (isWriting(accessMode) && declared('accessMode') && sideEffects.includes(SideEffect.NONE))
    yield `accessMode ${accessMode} with sideEffects none`;
  if (entry.allowParallel && executionCategory === ExecutionCategory.MIXED)
    yield 'allowParallel with executionCategory mixed: mixed calls run alone';
  if (entry.cacheTtlMs !== undefined && (!reads || !declared('accessMode')))
    yield 'cacheTtlMs without a declared accessMode readonly: nothing is cached';
  if (entry.costTier === CostTier.FREE && (entry.costPerCall ?? 0) > 0)
    yield `costTier free with costPerCall ${entry.costPerCall}`;
}
