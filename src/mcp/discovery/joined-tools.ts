import { ToolError } from '../../core/errors.js';
import { RecentMap } from '../../core/recent-map.js';
import { FUNCTION_OPTIONS } from '../../tool/tool-fields.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { entryOf, withRenewal, type ToolDefinition } from '../../tool/tool-definition.js';
import { labelOf } from '../login/server-errors.js';
import { quoted } from '../translate/foreign-text.js';
import { declaredPart, joinDefinitions } from './join-definitions.js';

/** A tool of the program joined with a tool of the server, and the digest of the one with which it was joined first. */
interface Join {
  readonly first: string;
  readonly declared: ToolDefinition;
  readonly served: ToolDefinition;
  readonly joined: ToolDefinition;
}

/** Tools of one server, and joins with them, that are remembered. */
const MOST_REMEMBERED = 10_000;
/** Stands for the digest of a tool that has had several. */
const SEVERAL = '';

/**
 * Joins tools of the program with the tools of one server, and lets calls reach only the definition by which they were judged.
 *
 * Once the server's tool is another than at first, a tool of the program that stands for it requires consent. Pins, where
 * there are any, judge the server's tools instead.
 */
export class JoinedTools {
  readonly #server: string;
  readonly #isPinned: boolean;
  /** The digest of the only definition that the server has listed of each tool. */
  readonly #onlyListed = new Map<string, string>();
  /** The digests of all definitions that the server has listed. */
  readonly #listed = new RecentMap<string, true>(MOST_REMEMBERED);
  readonly #joins = new RecentMap<string, Join>(MOST_REMEMBERED);

  constructor(server: string, isPinned: boolean) {
    this.#server = server;
    this.#isPinned = isPinned;
  }

  /** Takes note of what the server lists now. */
  note(tools: Iterable<readonly [toolName: string, definition: ToolDefinition]>): void {
    for (const [toolName, definition] of tools) {
      const { digest } = entryOf(definition);
      this.#listed.set(digest, true);
      const only = this.#onlyListed.get(toolName);
      if (only === undefined && this.#onlyListed.size >= MOST_REMEMBERED) continue;
      // Under which of several a tool of the program was written is not known: the server must not choose by going back to one.
      this.#onlyListed.set(toolName, (only ?? digest) === digest ? digest : SEVERAL);
    }
  }

  /** Joins a tool of the program with the server's; equal parts give the same object. */
  join(declared: ToolDefinition, toolName: string, served: ToolDefinition): ToolDefinition {
    const key = `${entryOf(declared).digest} ${toolName}`;
    const known = this.#joins.get(key);
    // Digests say nothing of functions.
    const isSame = (one: ToolDefinition) =>
      FUNCTION_OPTIONS.every((option) => one[option] === declared[option]);
    if (known?.served === served && isSame(known.declared)) return known.joined;
    const { digest } = entryOf(served);
    const first = known?.first ?? digest;
    const joined = joinDefinitions(declared, served, !this.#isPinned && first !== digest);
    this.#joins.set(key, { first, declared, served, joined });
    return joined;
  }

  /**
   * Lets a call pass that was judged by the definition that the server's tool has now.
   *
   * @param given the digest of that definition, where the call carries one. A tool of the program that was not joined
   * carries none: it was written under the only definition that the server has listed.
   * @throws ToolError `TOOL_CHANGED`; the executor then takes the tool as it is now.
   */
  assertJudged(
    toolName: string,
    now: ToolDefinition,
    { toolName: calledAs, definitionDigest }: ToolContext,
    given: string | undefined,
  ): void {
    const isServers = calledAs === undefined || this.#listed.has(definitionDigest ?? '');
    const ofProgram = this.#isPinned ? undefined : (this.#onlyListed.get(toolName) ?? SEVERAL);
    const judged = given ?? (isServers ? definitionDigest : ofProgram);
    if (judged === undefined || judged === entryOf(now).digest) return;
    const error = new ToolError(
      'TOOL_CHANGED',
      `The tool ${quoted(toolName)} of ${labelOf(this.#server)} changed after this call was judged. Nothing was sent; call it again, and it is judged by its definition now.`,
    );
    throw withRenewal(error, (tool) => {
      const declared = declaredPart(tool);
      if (declared !== undefined) return this.join(declared, toolName, now);
      return this.#listed.has(entryOf(tool).digest) ? now : joinDefinitions(tool, now, true);
    });
  }
}
