import { Priority } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { compareText } from '../core/plain-data.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { renderTool } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { fitBudget, type Candidate, type Fitted } from './fit-budget.js';
import { compilePermission, type Permission } from './permission.js';
import { hitsFor, type Hit } from './request-hits.js';
import {
  checkRequest,
  requireRegistry,
  type CheckedRequest,
  type SelectionRequest,
} from './selection-request.js';
import type {
  DroppedTool,
  DropReason,
  SelectedTool,
  Selection,
  SelectionReason,
} from './selection.js';

/** Hits with a score below this fraction of the best score only fill the remaining space. */
const LEAST_RELEVANCE = 0.2;

/** A tool that could be selected, and the reason. */
interface Wish extends Candidate {
  readonly reason: SelectionReason;
  readonly score: number;
  readonly explanation: string;
}

/**
 * Selects the tools that a model sees for a request. Returns a reason for each selected tool and
 * for each tool that was left out.
 *
 * Limits take precedence over everything else. Guaranteed tools come first, whatever the stage:
 * `include`, CRITICAL tools, and tools with a mandatory keyword in the text. Next are the tools
 * that match the request's words and suit the stage and task type, best first. After the matching
 * tools come HIGH tools that declare the stage or task type, even if they don't match the request.
 * If no tool matches, MEDIUM tools that declare the stage or task type come next. Other HIGH tools
 * that suit the stage and task type fill the remaining space. LOW tools are selected only if they
 * match. The result can contain fewer than `maxTools` tools, or none.
 *
 * With `previous`, the tools of the previous selection come first, in the same order and at the
 * same level. New tools are added at the end, and only new tools are reduced or dropped to fit the
 * budget. HIGH tools that only filled the remaining space aren't carried over, so that they stay
 * last. Equal requests produce identical bytes.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the request has invalid or unknown options.
 */
export function selectTools(registry: ToolMetadataRegistry, request: SelectionRequest): Selection {
  requireRegistry(registry, 'selectTools(registry, { text })');
  const asked = checkRequest(request);
  const collected = collectWishes(registry, asked);
  const { wishes, dropped } = collected;
  const carried = carriedOver(registry, asked, collected);
  const before = new Set(carried.map(({ entry }) => entry.name));
  const fresh = [...wishes.values()].filter(({ entry }) => !before.has(entry.name));
  const guaranteed = fresh.filter((wish) => wish.guaranteed);
  const others = fresh.filter((wish) => !wish.guaranteed);
  const fit = (candidates: readonly Wish[]) =>
    fitBudget(candidates, asked.tokenBudget ?? Infinity, asked.countTokens);

  const mustHave = [...carried.filter((wish) => wish.guaranteed), ...guaranteed];
  const beside = mustHave.filter((wish) => isBesideLimit(wish, asked)).length;
  const places = asked.maxTools + beside;
  if (mustHave.length > places) {
    withinCount(
      [...carried, ...others],
      0,
      dropped,
      `there are more than ${places} guaranteed tools`,
    );
    return exceeded(
      asked,
      fit(mustHave),
      dropped,
      `at most ${places} guaranteed tools (maxTools ${asked.maxTools}${beside > 0 ? ` and ${beside} that don't count` : ''})`,
      `${mustHave.length}`,
    );
  }
  const keptBefore = withinCount(
    carried,
    places - guaranteed.length,
    dropped,
    `the other ${places} tools are guaranteed or came earlier in the previous selection`,
  );
  const added = withinCount(
    others,
    places - guaranteed.length - keptBefore.length,
    dropped,
    `the other ${places} tools match better or were in the previous selection`,
  );
  const fitted = fit([...keptBefore, ...guaranteed, ...added]);
  for (const wish of fitted.dropped)
    drop(
      dropped,
      wish.entry.name,
      'token_budget',
      `it doesn't fit in ${asked.tokenBudget} tokens, even at its shortest`,
      wish.score,
    );
  if (!fitted.fits) {
    const asBefore = mustHave.some(({ fixedLevel }) => fixedLevel !== undefined)
      ? ', with the previous tools unchanged'
      : '';
    return exceeded(
      asked,
      fitted,
      dropped,
      `guaranteed tools of at most tokenBudget ${asked.tokenBudget} tokens`,
      `${fitted.tokens} even at their shortest${asBefore}`,
    );
  }
  return result(asked, fitted, dropped, undefined);
}

/** Returns true for a tool that doesn't count toward `maxTools`: an included or a CRITICAL tool. */
function isBesideLimit({ reason, entry }: Wish, { criticalOutsideLimit }: CheckedRequest): boolean {
  return reason === 'included' || (criticalOutsideLimit && entry.priority === Priority.CRITICAL);
}

/**
 * The reasons why tools were left out, keyed by name. If there are several reasons, only the last
 * is kept.
 */
type Dropped = Map<string, DroppedTool>;

interface Wishes {
  /**
   * The tools that could be selected, in order of preference: guaranteed tools, hits, then all
   * others.
   */
  readonly wishes: ReadonlyMap<string, Wish>;
  readonly dropped: Dropped;
  readonly scoreOf: (entry: ToolEntry) => number;
  readonly refusalOf: Permission;
}

function collectWishes(registry: ToolMetadataRegistry, asked: CheckedRequest): Wishes {
  const guaranteed = guaranteedOf(registry, asked);
  const refusalOf = compilePermission(registry, asked);
  const isOffered = (entry: ToolEntry) =>
    (refusalOf(entry) ?? mismatchOf(entry, asked)) === undefined;
  const previousNames = (asked.previous?.tools ?? []).map(({ toolName }) => toolName);
  const names = [...guaranteed.map(({ entry }) => entry.name), ...previousNames];
  const hits = rankHits(hitsFor(registry, asked, isOffered, new Set(names)), isOffered);
  const list = new WishList(refusalOf, hits);

  // Unknown names in `exclude` are reported too, because a misspelled name excludes nothing.
  for (const name of [...asked.include, ...asked.exclude])
    if (!registry.has(name)) drop(list.dropped, name, 'unknown', 'no tool has this name');
  for (const { entry, reason, explanation } of guaranteed)
    list.add(entry, reason, explanation, true);
  for (const { entry, explanation, isWeak } of hits)
    if (!list.explainRefusal(entry, mismatchOf(entry, asked)) && !isWeak)
      list.add(entry, 'search', explanation);
  for (const [reason, entry] of relatedTools(registry, asked, hits.length > 0))
    list.add(entry, reason, RELATION[reason](asked));
  for (const entry of list.byScore(registry.getByPriority(Priority.HIGH)))
    if (mismatchOf(entry, asked) === undefined)
      list.add(entry, 'high_priority', 'its priority is high, and there is room left');
  for (const { entry, explanation } of hits)
    if (isOffered(entry))
      list.add(entry, 'weak_match', `${explanation}, far less than the best tool`);
  return list;
}

const RELATION: Readonly<Record<'stage' | 'task_type', (asked: CheckedRequest) => string>> = {
  stage: ({ stage }) => `it is for the stage ${stage}`,
  task_type: ({ taskType }) => `it is for the task type ${taskType}`,
};

/** A hit whose score is far below the best has `isWeak`: other tools are preferred to it. */
interface RankedHit extends Hit {
  readonly isWeak: boolean;
}

function rankHits(
  hits: readonly Hit[],
  isOffered: (entry: ToolEntry) => boolean,
): readonly RankedHit[] {
  const offered = hits.filter(({ entry }) => isOffered(entry));
  const best = offered.reduce((most, { score }) => Math.max(most, score), 0);
  return hits.map((hit, index) => ({
    ...hit,
    explanation: `hit ${index + 1} for the request: ${hit.explanation}`,
    isWeak: hit.score < best * LEAST_RELEVANCE,
  }));
}

/** The tools that could be selected. Each tool is wished for once, for the first reason. */
class WishList implements Wishes {
  readonly wishes = new Map<string, Wish>();
  readonly dropped: Dropped = new Map();
  readonly refusalOf: Permission;
  readonly #scores: ReadonlyMap<ToolEntry, number>;

  constructor(refusalOf: Permission, hits: readonly RankedHit[]) {
    this.refusalOf = refusalOf;
    this.#scores = new Map(hits.map(({ entry, score }) => [entry, score]));
  }

  scoreOf = (entry: ToolEntry): number => this.#scores.get(entry) ?? 0;

  byScore(entries: Iterable<ToolEntry>): readonly ToolEntry[] {
    return [...entries].sort(
      (a, b) => this.scoreOf(b) - this.scoreOf(a) || compareText(a.name, b.name),
    );
  }

  add(entry: ToolEntry, reason: SelectionReason, explanation: string, guaranteed = false): void {
    if (this.wishes.has(entry.name) || this.explainRefusal(entry)) return;
    this.wishes.set(entry.name, {
      entry,
      reason,
      guaranteed,
      isFiller: isFilling(reason),
      score: this.scoreOf(entry),
      explanation,
    });
  }

  /** Returns true if a tool can't be offered, and records why. */
  explainRefusal(entry: ToolEntry, mismatch?: ReturnType<typeof mismatchOf>): boolean {
    if (this.wishes.has(entry.name)) return false;
    const refusal = this.refusalOf(entry) ?? mismatch;
    if (refusal !== undefined)
      drop(this.dropped, entry.name, refusal.reason, refusal.explanation, this.scoreOf(entry));
    return refusal !== undefined;
  }
}

interface Guaranteed {
  readonly entry: ToolEntry;
  readonly reason: SelectionReason;
  readonly explanation: string;
}

/**
 * Returns the tools that are offered unless a limit forbids them: included tools in the given
 * order, then all other guaranteed tools by name, regardless of registration order.
 */
function guaranteedOf(
  registry: ToolMetadataRegistry,
  { include, text }: CheckedRequest,
): readonly Guaranteed[] {
  const included = include.flatMap((name) => registry.get(name) ?? []);
  const critical = [...registry.getByPriority(Priority.CRITICAL)].sort((a, b) =>
    compareText(a.name, b.name),
  );
  const mandatory = [...registry.getToolsMatchingMandatoryKeywords(text)].map((name) =>
    registry.require(name),
  );
  const because = (reason: SelectionReason, explanation: string) => (entry: ToolEntry) => ({
    entry,
    reason,
    explanation,
  });
  return [
    ...included.map(because('included', 'included by the request')),
    ...critical.map(because('critical', 'its priority is critical')),
    ...mandatory.map(
      because('mandatory_keyword', 'one of its mandatory keywords is in the request'),
    ),
  ];
}

/** Returns true if tools with this reason only fill the remaining space. */
function isFilling(reason: string | undefined): boolean {
  return reason === 'high_priority' || reason === 'weak_match';
}

/**
 * Returns why a tool doesn't suit the stage or task type, or `undefined`. A tool that declares no
 * stages suits every stage. The same applies to task types.
 */
function mismatchOf(
  { stages, taskTypes }: ToolEntry,
  { stage, taskType }: CheckedRequest,
): { reason: DropReason; explanation: string } | undefined {
  if (stage !== undefined && stages.length > 0 && !stages.includes(stage))
    return { reason: 'stage', explanation: `it is for the stages ${stages.join(', ')}` };
  if (taskType !== undefined && taskTypes.length > 0 && !taskTypes.includes(taskType))
    return { reason: 'task_type', explanation: `it is for the task types ${taskTypes.join(', ')}` };
  return undefined;
}

/**
 * Yields the tools that declare the stage or task type: HIGH before MEDIUM, then by name.
 *
 * HIGH tools are useful for most tasks. MEDIUM tools are useful only if they're relevant: if the
 * request matches any tool, a MEDIUM tool that doesn't match would only cost tokens. LOW tools are
 * offered only if they match.
 */
function* relatedTools(
  registry: ToolMetadataRegistry,
  asked: CheckedRequest,
  isHit: boolean,
): Generator<['stage' | 'task_type', ToolEntry]> {
  const order = (entries: readonly ToolEntry[]) =>
    entries
      .filter(
        (entry) =>
          entry.priority <= (isHit ? Priority.HIGH : Priority.MEDIUM) &&
          mismatchOf(entry, asked) === undefined,
      )
      .sort((a, b) => a.priority - b.priority || compareText(a.name, b.name));
  if (asked.stage !== undefined)
    for (const entry of order(registry.getByStage(asked.stage))) yield ['stage', entry];
  if (asked.taskType !== undefined)
    for (const entry of order(registry.getByTaskType(asked.taskType))) yield ['task_type', entry];
}

/**
 * Returns the tools of the previous selection that can still be offered, in the same order and at
 * the same level.
 */
function carriedOver(
  registry: ToolMetadataRegistry,
  asked: CheckedRequest,
  { wishes, dropped, scoreOf, refusalOf }: Wishes,
): readonly Wish[] {
  const carried = new Map<string, Wish>();
  for (const { toolName, level, rendered, reason } of asked.previous?.tools ?? []) {
    if (isFilling(reason)) continue; // The tool only filled space that this request may need for other tools.
    const entry = registry.get(toolName);
    if (entry === undefined || entry.name !== toolName) {
      drop(dropped, toolName, 'unknown', 'it is no longer registered');
      continue;
    }
    const refusal = refusalOf(entry);
    if (refusal !== undefined) {
      drop(dropped, toolName, refusal.reason, refusal.explanation, scoreOf(entry));
      continue;
    }
    const wish = wishes.get(toolName);
    const isSame =
      rendered === undefined ||
      JSON.stringify(rendered) === JSON.stringify(renderTool(entry, level));
    const explanation = isSame
      ? 'it was in the previous selection'
      : 'it was in the previous selection, but has changed since';
    const reasons = wish?.guaranteed
      ? wish
      : {
          entry,
          reason: 'carried_over' as const,
          guaranteed: false,
          isFiller: false,
          score: scoreOf(entry),
          explanation,
        };
    // A tool that changed keeps only its position, because its text is new to the model anyway.
    carried.set(toolName, isSame ? { ...reasons, fixedLevel: level } : reasons);
  }
  return [...carried.values()];
}

/**
 * Keeps all guaranteed tools, and then the first other tools up to the limit. Reports the remaining
 * tools as dropped.
 */
function withinCount(
  wishes: readonly Wish[],
  count: number,
  dropped: Dropped,
  explanation: string,
): Wish[] {
  const surplus = new Set(
    wishes
      .filter((wish) => !wish.guaranteed)
      .reverse()
      .slice(0, Math.max(0, wishes.length - Math.max(0, count))),
  );
  for (const { entry, score } of surplus)
    drop(dropped, entry.name, 'max_tools', explanation, score);
  return wishes.filter((wish) => !surplus.has(wish));
}

function drop(
  dropped: Dropped,
  toolName: string,
  reason: DropReason,
  explanation: string,
  score = 0,
): void {
  dropped.set(toolName, Object.freeze({ toolName, reason, score, explanation }));
}

function exceeded(
  asked: CheckedRequest,
  fitted: Fitted<Wish>,
  dropped: Dropped,
  expected: string,
  got: string,
): Selection {
  const names = Object.freeze(fitted.kept.map(({ candidate }) => candidate.entry.name));
  return result(
    asked,
    fitted,
    dropped,
    new ToolError(
      'BUDGET_EXCEEDED',
      expectedGot(
        expected,
        `${got}: ${names.join(', ')}`,
        'Raise the limit, or exclude some of them.',
      ),
      { details: { guaranteed: names } },
    ),
  );
}

function result(
  { maxTools, tokenBudget }: CheckedRequest,
  { kept, tokens }: Fitted<Wish>,
  dropped: Dropped,
  error: ToolError | undefined,
): Selection {
  const tools = kept.map(
    ({
      candidate: { entry, reason, guaranteed, score, explanation },
      level,
      tokens,
    }): SelectedTool =>
      Object.freeze({
        toolName: entry.name,
        reason,
        guaranteed,
        score,
        level,
        tokens,
        rendered: renderTool(entry, level),
        explanation,
        entry,
      }),
  );
  for (const { toolName } of tools) dropped.delete(toolName);
  return Object.freeze({
    tools: Object.freeze(tools),
    dropped: Object.freeze([...dropped.values()]),
    tokens,
    tokenBudget,
    maxTools,
    error,
  });
}
