import { Priority } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { compareText } from '../core/plain-data.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { renderTool, type SchemaLevel } from '../tool/render/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { fitBudget, type Candidate } from './fit-budget.js';
import { compilePermission, type Permission } from './permission.js';
import { checkRequest, type CheckedRequest, type SelectionRequest } from './selection-request.js';
import type { DroppedTool, DropReason, SelectedTool, Selection, SelectionReason } from './selection.js';

/** Hits that score less than this share of the best are not worth a place in the prompt. */
const LEAST_RELEVANCE = 0.2;
/** Forbidden tools are reported when they would have been among so many times `maxTools` of the best hits. */
const REPORTED = 2;

/** A tool that may be chosen, and why. */
interface Wish extends Candidate {
  readonly reason: SelectionReason;
  readonly score: number;
  readonly explanation: string;
}

/**
 * Chooses the tools that a model sees for a request, and says of each why, and why others are not among them.
 *
 * Limits win over everything. Then `include`, CRITICAL tools and those with a mandatory keyword in the text are
 * guaranteed, whatever the stage. Then come the tools that the request's words hit, best first, within the stage and
 * task type; then HIGH tools that declare the stage or task type without being hit, and MEDIUM ones where nothing is hit. LOW
 * tools are chosen only when they are hit. There may be fewer than `maxTools`, or none at all.
 *
 * With `previous`, its tools come first, at their place and level; only new ones are added behind, and only they give way
 * to the budget. Equal requests give equal bytes.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a request with wrong or unknown parts.
 */
export function selectTools(registry: ToolMetadataRegistry, request: SelectionRequest): Selection {
  const asked = checkRequest(request);
  const collected = collectWishes(registry, asked);
  const { wishes, dropped } = collected;
  const carried = carriedOver(registry, asked, collected);
  const fresh = [...wishes.values()].filter(({ entry }) => !carried.some((each) => each.entry.name === entry.name));
  const guaranteed = fresh.filter((wish) => wish.guaranteed);
  const others = fresh.filter((wish) => !wish.guaranteed);

  const mustHave = carried.filter((wish) => wish.guaranteed).length + guaranteed.length;
  if (mustHave > asked.maxTools) return exceeded(asked, [...carried, ...fresh].filter((wish) => wish.guaranteed), dropped, `${mustHave} guaranteed tools are more than maxTools ${asked.maxTools}`);

  const keptBefore = withinCount(carried, asked.maxTools - guaranteed.length, dropped, 'a guaranteed tool took its place');
  const added = withinCount(others, asked.maxTools - guaranteed.length - keptBefore.length, dropped, `${asked.maxTools} tools fit better or were there before`);
  const fitted = fitBudget([...keptBefore, ...guaranteed, ...added], asked.tokenBudget ?? Infinity, asked.countTokens);
  for (const wish of fitted.dropped) dropped.push(drop(wish.entry.name, 'token_budget', `no room within ${asked.tokenBudget} tokens, even as a stub`, wish.score));
  if (!fitted.fits) {
    return exceeded(asked, fitted.kept.map(({ candidate }) => candidate).filter((wish) => wish.guaranteed), dropped, `the guaranteed tools need ${fitted.tokens} tokens even as stubs, more than tokenBudget ${asked.tokenBudget}`);
  }
  const tools = fitted.kept.map(({ candidate, level, tokens }) => selected(candidate, level, tokens));
  return result(asked, tools, dropped, undefined);
}

interface Wishes {
  /** In the order of preference: guaranteed, hits, then the rest. */
  readonly wishes: ReadonlyMap<string, Wish>;
  readonly dropped: DroppedTool[];
  readonly refusalOf: Permission;
}

function collectWishes(registry: ToolMetadataRegistry, asked: CheckedRequest): Wishes {
  const refusalOf = compilePermission(registry, asked);
  const wishes = new Map<string, Wish>();
  const dropped: DroppedTool[] = [];
  const hits = rankedHits(registry, asked, refusalOf);
  const scores = new Map(hits.map(({ toolName, score }) => [toolName, score]));
  const wish = (entry: ToolEntry, reason: SelectionReason, explanation: string) => {
    if (wishes.has(entry.name)) return;
    const guaranteed = reason === 'included' || reason === 'critical' || reason === 'mandatory_keyword';
    const score = scores.get(entry.name) ?? 0;
    const refusal = refusalOf(entry);
    if (refusal === undefined) wishes.set(entry.name, { entry, reason, guaranteed, score, explanation });
    else if (!dropped.some(({ toolName }) => toolName === entry.name)) dropped.push(drop(entry.name, refusal.reason, refusal.explanation, score));
  };

  for (const name of asked.include) {
    const entry = registry.get(name);
    if (entry !== undefined) wish(entry, 'included', 'included by the request');
    else dropped.push(drop(name, 'unknown', 'no tool has this name'));
  }
  for (const entry of registry.getByPriority(Priority.CRITICAL)) wish(entry, 'critical', 'its priority is critical');
  for (const name of registry.getToolsMatchingMandatoryKeywords(asked.text)) wish(registry.require(name), 'mandatory_keyword', 'one of its mandatory keywords is in the request');

  const least = (hits.find(({ toolName }) => registry.has(toolName))?.score ?? 0) * LEAST_RELEVANCE;
  for (const [rank, { toolName, score, explanation }] of hits.entries()) {
    const entry = registry.get(toolName);
    if (entry === undefined || wishes.has(entry.name)) continue;
    const misfit = misfitOf(entry, asked);
    if (misfit !== undefined) dropped.push(drop(entry.name, misfit.reason, misfit.explanation, score));
    else if (score < least) dropped.push(drop(entry.name, 'relevance', 'fits far less than the best', score));
    else wish(entry, 'search', `hit ${rank + 1} for the request${explanation ? `: ${explanation}` : ''}`);
  }
  for (const [reason, entry] of unhit(registry, asked, hits.length > 0)) wish(entry, reason, reason === 'stage' ? `it is for the stage ${asked.stage}` : `it is for the task type ${asked.taskType}`);
  return { wishes, dropped, refusalOf };
}

/** The hits that may be offered, and before them those that may not, as far as they are worth reporting. */
function rankedHits(registry: ToolMetadataRegistry, asked: CheckedRequest, refusalOf: Permission) {
  if (asked.ranking !== undefined) return [...asked.ranking];
  const wanted = Math.max(1, asked.maxTools) * REPORTED;
  const any = registry.search(asked.text, { limit: wanted });
  const allowed = registry.search(asked.text, { limit: wanted, filter: (entry) => refusalOf(entry) === undefined && misfitOf(entry, asked) === undefined });
  const known = new Set(any.map(({ toolName }) => toolName));
  return [...any, ...allowed.filter(({ toolName }) => !known.has(toolName))].sort((a, b) => b.score - a.score);
}

/** Why a tool is not for the stage or task type; tools that name none are for all. */
function misfitOf({ stages, taskTypes }: ToolEntry, { stage, taskType }: CheckedRequest): { reason: DropReason; explanation: string } | undefined {
  if (stage !== undefined && stages.length > 0 && !stages.includes(stage)) return { reason: 'stage', explanation: `it is for the stages ${stages.join(', ')}` };
  if (taskType !== undefined && taskTypes.length > 0 && !taskTypes.includes(taskType)) return { reason: 'task_type', explanation: `it is for the task types ${taskTypes.join(', ')}` };
  return undefined;
}

/**
 * Tools that declare the stage or task type, HIGH before MEDIUM, then by name.
 *
 * HIGH tools are for most tasks. MEDIUM ones are for tasks they are relevant to: where the request's words hit any tool,
 * those that they do not hit would only cost the prompt. LOW ones must be asked for.
 */
function* unhit(registry: ToolMetadataRegistry, asked: CheckedRequest, isHit: boolean): Generator<['stage' | 'task_type', ToolEntry]> {
  const order = (entries: readonly ToolEntry[]) =>
    entries
      .filter((entry) => entry.priority <= (isHit ? Priority.HIGH : Priority.MEDIUM) && misfitOf(entry, asked) === undefined)
      .sort((a, b) => a.priority - b.priority || compareText(a.name, b.name));
  if (asked.stage !== undefined) for (const entry of order(registry.getByStage(asked.stage))) yield ['stage', entry];
  if (asked.taskType !== undefined) for (const entry of order(registry.getByTaskType(asked.taskType))) yield ['task_type', entry];
}

/** The tools of the selection before that may still be offered, as they were. */
function carriedOver(registry: ToolMetadataRegistry, asked: CheckedRequest, { wishes, dropped, refusalOf }: Wishes): Wish[] {
  return (asked.previous?.tools ?? []).flatMap(({ toolName, level }): Wish[] => {
    const entry = registry.get(toolName);
    if (entry === undefined || entry.name !== toolName) {
      dropped.push(drop(toolName, 'unknown', 'it is no longer registered'));
      return [];
    }
    const refusal = refusalOf(entry);
    if (refusal !== undefined) {
      if (!dropped.some((each) => each.toolName === toolName)) dropped.push(drop(toolName, refusal.reason, refusal.explanation));
      return [];
    }
    const wish = wishes.get(toolName);
    const carried = { entry, reason: 'carried_over' as const, guaranteed: false, score: wish?.score ?? 0, explanation: 'it was there before' };
    return [{ ...(wish?.guaranteed ? wish : carried), fixedLevel: level }];
  });
}

/** The first so many wishes, guaranteed ones always; the others are reported as dropped. */
function withinCount(wishes: readonly Wish[], count: number, dropped: DroppedTool[], explanation: string): Wish[] {
  const surplus = new Set(wishes.filter((wish) => !wish.guaranteed).reverse().slice(0, Math.max(0, wishes.length - Math.max(0, count))));
  for (const { entry, score } of surplus) dropped.push(drop(entry.name, 'max_tools', explanation, score));
  return wishes.filter((wish) => !surplus.has(wish));
}

function selected({ entry, reason, guaranteed, score, explanation }: Wish, level: SchemaLevel, tokens: number): SelectedTool {
  return Object.freeze({ toolName: entry.name, reason, guaranteed, score, level, tokens, rendered: renderTool(entry, level), explanation, entry });
}

function drop(toolName: string, reason: DropReason, explanation: string, score = 0): DroppedTool {
  return Object.freeze({ toolName, reason, score, explanation });
}

function exceeded(asked: CheckedRequest, guaranteed: readonly Wish[], dropped: readonly DroppedTool[], message: string): Selection {
  const tools = guaranteed.map((wish) => {
    const level = wish.fixedLevel ?? 'stub';
    return selected(wish, level, asked.countTokens(JSON.stringify(renderTool(wish.entry, level))));
  });
  const names = tools.map(({ toolName }) => toolName);
  return result(asked, tools, dropped, new ToolError('BUDGET_EXCEEDED', `${message}: ${names.join(', ')}. Raise the limit, or exclude some of them`, { details: { guaranteed: names } }));
}

function result({ maxTools, tokenBudget }: CheckedRequest, tools: readonly SelectedTool[], dropped: readonly DroppedTool[], error: ToolError | undefined): Selection {
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  // A tool may have been passed over for one reason before another decided.
  const last = new Map(dropped.map((each) => [each.toolName, each]));
  for (const { toolName } of tools) last.delete(toolName);
  return Object.freeze({ tools: Object.freeze([...tools]), dropped: Object.freeze([...last.values()]), tokens, tokenBudget, maxTools, error });
}
