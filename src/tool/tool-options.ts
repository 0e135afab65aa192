import type {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
} from '../core/enums.js';
import type { FlowLabel, FlowTarget } from '../core/flow.js';
import type { Preview } from '../core/preview.js';
import type { InputOf, ToolSchema } from './tool-schema.js';

/** A string type whose usual values editors suggest. Any other string is allowed too. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** One of several services that can answer a tool's calls. */
export interface ToolProvider {
  readonly name: string;
  /** The provider's rank. Providers are tried in ascending order. @default 100 */
  readonly priority?: number;
  readonly healthCheckIntervalMs?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The facts about a call that the tool's work receives. */
interface CallFacts {
  /** Fires if the caller no longer needs the answer, or if the time is up. */
  readonly signal?: AbortSignal;
  readonly callId?: string;
  /** The tool's own name, even if the call used an alias. */
  readonly toolName?: string;
  /**
   * The digest of the definition that the call was judged by. No other definition should run it.
   */
  readonly definitionDigest?: string;
  /** The user or service that the call is made for. */
  readonly principal?: string;
  readonly conversationId?: string;
  /**
   * A key that all attempts at one call of a writing tool share. Pass it to services that
   * deduplicate requests by key.
   */
  readonly idempotencyKey?: string;
  /** Reports the call's progress to its observers. The progress can be any plain data. */
  readonly reportProgress?: (progress: unknown) => void;
}

/**
 * The context that `execute` receives with its input. Declare what your tool needs: `ToolContext<{
 * db: Database }>`.
 *
 * `context` is the value that your program passes to its tools, such as a database client. Every
 * entry point accepts it, and it never comes from the model. Its type isn't checked at run time.
 */
export type ToolContext<Context = unknown> = CallFacts &
  (unknown extends Context ? { readonly context?: Context } : { readonly context: Context });

/**
 * The keys of the resources that one call touches, such as `file:src/a.ts`: a kind, a colon, and a
 * name.
 *
 * A key that ends in `/` (`file:src/`) covers itself and everything below it. A kind alone (`git:`)
 * covers everything of that kind. Plain keys count as read and, if the tool can change something,
 * also as written. `{reads, writes}` keeps them apart, and a missing list means none: `{reads: []}`
 * touches nothing. A plain empty list says nothing about the call.
 */
type ConflictKeys =
  readonly string[] | { readonly reads?: readonly string[]; readonly writes?: readonly string[] };

/**
 * The types of your own fields in a tool's `metadata`. Augment this interface next to your tools:
 * `declare module 'tooldex' { interface ToolMetadataFields { team: 'billing' | 'support' } }`.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ToolMetadataFields {}

/** The author's own plain data, typed by `ToolMetadataFields`. */
interface OwnMetadata extends Readonly<Partial<ToolMetadataFields>> {
  readonly [field: string]: unknown;
}

/**
 * The metadata that a tool can declare about itself. Only `name`, `description`, and `inputSchema`
 * are required.
 */
export interface ToolOptions<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Context = unknown,
> {
  /** The name: 1 to 128 letters, digits, dots, underscores, and hyphens. Unique in a registry. */
  readonly name: string;
  /** The purpose of the tool, for the model that chooses it. */
  readonly description: string;
  /**
   * The schema of an object: zod, another Standard Schema that carries JSON Schema, or plain JSON
   * Schema.
   */
  readonly inputSchema: In;
  /**
   * The schema of what `execute` returns. A result that doesn't fit becomes an `error`. @default
   * unchecked
   */
  readonly outputSchema?: Out;
  /** The version, such as `1.2.0`. @default none */
  readonly version?: string;
  /** Other names for the tool. @default none */
  readonly aliases?: readonly string[];

  /** The eagerness with which the tool is offered to a model. @default Priority.MEDIUM */
  readonly priority?: Priority | Lowercase<keyof typeof Priority>;
  /** The effect that a call can have on the world. @default inferred from `sideEffects`, else `mixed` */
  readonly accessMode?: AccessMode;
  /**
   * The harm that a wrong call can do. @default inferred from the access mode: readonly → low, write →
   * medium, others → high
   */
  readonly dangerLevel?: DangerLevel;
  /** The kind of work that a call does. Follows the access mode by default. */
  readonly executionCategory?: ExecutionCategory;
  /**
   * The cost of a call. @default inferred: free for local reads and `costPerCall: 0`, low for compute,
   * medium for external or unknown work, high for any other price.
   */
  readonly costTier?: CostTier;
  /**
   * The effects of a call. `none` declares that there are none; an empty list declares nothing.
   * @default unknown
   */
  readonly sideEffects?: SideEffect | readonly SideEffect[];

  /** The subject, such as `text` or `git`. Any string. @default none */
  readonly category?: string;
  /** Words and phrases from requests that this tool answers. @default none */
  readonly keywords?: readonly string[];
  /**
   * Words and phrases that make the tool part of every selection whose request contains one of
   * them. @default none
   */
  readonly mandatoryKeywords?: readonly string[];
  /** The phases of work in which the tool is offered. @default all */
  readonly stages?: readonly Open<Stage>[];
  /** The kinds of tasks for which the tool is offered. @default all */
  readonly taskTypes?: readonly string[];
  /** Example requests, in the words of a user. @default none */
  readonly examples?: readonly string[];
  /**
   * The input fields that show progress: calls that differ in one of them aren't a loop. @default
   * the whole input
   */
  readonly progressParams?: readonly string[];

  /** The time limit of a call, 1 to 2³¹−1 milliseconds. @default the executor's, 30,000 */
  readonly timeoutMs?: number;
  /** The credentials that calls need. Calls are denied without them. @default none */
  readonly auth?: {
    readonly required: boolean;
    readonly type?: string;
    readonly scopes?: readonly string[];
    /** Environment variables, each required or optional. */
    readonly env?: Readonly<Record<string, 'required' | 'optional'>>;
    /** The URL of instructions for getting access. */
    readonly docs?: string;
  };
  /**
   * Allows two calls of this tool at the same time. By default it's allowed if the tool is readonly
   * and its `executionCategory` allows it.
   */
  readonly allowParallel?: boolean;
  /** Requires approval for every call. @default false */
  readonly requiresConsent?: boolean;
  /**
   * The labels of a result: `private` for the user's own data, `untrusted` for text that others
   * may have written. Empty means neither. Once a conversation has read both, a call that sends
   * outside needs approval. @default unknown, which adds no label
   */
  readonly reads?: readonly FlowLabel[];
  /**
   * The place where a call sends its arguments. Use `outside` for mail, public posts, and URLs in arguments.
   * If it's missing and the tool names the network, the tool counts as sending outside once its
   * conversation has read something.
   */
  readonly sends?: FlowTarget;
  /**
   * Returns the danger of one call. It can raise `dangerLevel`, but never lower it. @default none
   */
  readonly dangerFor?: (input: InputOf<In>) => DangerLevel;
  /**
   * Returns the keys of what one call touches. Calls that share no key can run at the same time,
   * and a policy's rules match keys with `touches`.
   *
   * In a tool that is a class, `this` is the instance. Use one key per resource. Keys are read as
   * paths (`FILE:./src//a` becomes `file:src/a`), but only the tool knows what they're relative to.
   * @default only the axes decide
   */
  readonly conflictKeys?: (input: InputOf<In>) => ConflictKeys;
  /**
   * Returns the canonical form of an input that the schema accepted, before policy, planner, and
   * tool read it. If it throws or returns anything but an object, the input is refused.
   *
   * Use it for normalizations that a schema can't express. In a tool that is a class, `this` is the
   * instance. @default the input unchanged
   */
  readonly canonicalInput?: (input: InputOf<In>) => InputOf<In>;
  /**
   * Returns a preview of one call for the user who approves it: a line of text, or a summary with a
   * diff, recipients, the cost, and whether it can be undone. Return `undefined` to show only the
   * arguments.
   *
   * A preview must not have any effect. It's made before the user is asked, and again before the
   * approved call runs. If the two differ, the user is asked again. It has two seconds. In a tool
   * that is a class, `this` is the instance. @default only the arguments are shown
   */
  readonly preview?: (
    input: InputOf<In>,
    context: ToolContext<NoInfer<Context>>,
  ) => string | Preview | undefined | Promise<string | Preview | undefined>;
  /**
   * Tools and categories whose cached results become stale when this tool is called. @default none
   */
  readonly invalidates?: readonly string[];
  /**
   * The time for which a result can be reused, in milliseconds. Only for tools declared `readonly`. @default
   * not reused
   */
  readonly cacheTtlMs?: number;
  /**
   * Returns the part of the call's context that the result depends on, as plain data. A result is
   * reused if the arguments, the principal, and this key are equal. Return `undefined` to keep no
   * result of the call.
   *
   * Without this function, results belong to the conversation and the whole `context.context`.
   * Write it after `execute`, which determines the type of the context.
   */
  readonly cacheKey?: (input: InputOf<In>, context: ToolContext<NoInfer<Context>>) => unknown;
  /**
   * The maximum size of a result that models read, in bytes from 1,024. Of a longer result they
   * read the beginning, the end, and its size. @default the executor's
   */
  readonly maxResultBytes?: number;
  /**
   * The cost of one call, in the unit of your `cost` budgets. @default the rank (0–3) of `costTier`
   */
  readonly costPerCall?: number;
  /**
   * Promises that several calls with the same idempotency key have the effect of one. @default
   * false
   */
  readonly idempotencyKey?: boolean;
  /** Abilities that skills and filters can ask for by name. @default none */
  readonly capabilities?: readonly string[];
  /** The only personas that can call the tool. @default all */
  readonly personaAllowlist?: readonly string[];
  /** The services that can do the work. See `ProviderRouter`. @default none */
  readonly providers?: readonly ToolProvider[];
  /** Leaves the calls to a user or another program instead of `execute`. @default false */
  readonly manual?: boolean;
  /** Shows the model one line of the tool, and the rest on demand. @default false */
  readonly compact?: boolean;
  /** The line that is shown of a compact tool. @default the first sentence of `description` */
  readonly summary?: string;
  /** The name under which a handler is attached if the tool is stored as data. @default the name */
  readonly handlerRef?: string;
  /**
   * Returns true if the tool can be used now. If it throws, the tool is unavailable; callers can
   * read the message of a ToolError `TOOL_UNAVAILABLE`. @default always
   */
  readonly available?: () => boolean;
  /** The author's own plain data. tooldex carries it, and you can filter by it. @default none */
  readonly metadata?: OwnMetadata;
}

export type ToolAuth = NonNullable<ToolOptions['auth']>;
