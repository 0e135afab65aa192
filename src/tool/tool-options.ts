import type {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
} from '../core/enums.js';
import type { PriorityName } from '../core/enum-order.js';
import type { FlowLabel, FlowTarget } from '../core/flow.js';
import type { Preview } from '../core/preview.js';
import type { InputOf, ToolSchema } from './tool-schema.js';

/** A string type with known values that editors suggest. Any other string is also allowed. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** One of the services that can answer a tool's calls. */
export interface ToolProvider {
  readonly name: string;
  /** The provider's rank: lower values are tried first. @default 100 */
  readonly priority?: number;
  readonly healthCheckIntervalMs?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The facts about a call that `execute` receives. */
interface CallFacts {
  /** Aborted when the caller no longer needs the result, or when the time limit is reached. */
  readonly signal?: AbortSignal;
  readonly callId?: string;
  /** The tool's name, even if the call used an alias. */
  readonly toolName?: string;
  /**
   * The digest of the tool definition that the approval is for. No other definition should run the
   * call.
   */
  readonly definitionDigest?: string;
  /** The user or service on whose behalf the call is made. */
  readonly principal?: string;
  readonly conversationId?: string;
  /**
   * A key shared by all attempts at one call of a tool that writes. Pass the key to services that
   * deduplicate requests by key.
   */
  readonly idempotencyKey?: string;
  /** Reports the call's progress to listeners. The progress can be any plain data. */
  readonly reportProgress?: (progress: unknown) => void;
}

/**
 * The context that `execute` receives with its input. Declare the type that your tool needs:
 * `ToolContext<{ db: Database }>`.
 *
 * `context` is the value that your program passes to its tools, such as a database client. Every
 * function that runs tools accepts a context, which never comes from the model. The context's type
 * isn't checked at runtime.
 */
export type ToolContext<Context = unknown> = CallFacts &
  (unknown extends Context ? { readonly context?: Context } : { readonly context: Context });

/**
 * The keys of the resources that one call touches, such as `file:src/a.ts`: a kind, a colon, and a
 * name.
 *
 * A key that ends in `/` (`file:src/`) covers itself and everything below it. A kind alone (`git:`)
 * covers everything of that kind. Plain keys count as read. If the tool can change something, plain
 * keys also count as written. To separate reads from writes, use `{reads, writes}`. A missing list
 * is empty: `{reads: []}` touches nothing. A plain empty list means that the keys are unknown.
 */
type ConflictKeys =
  readonly string[] | { readonly reads?: readonly string[]; readonly writes?: readonly string[] };

/**
 * The types of your custom fields in a tool's `metadata`. Augment this interface next to your
 * tools: `declare module 'tooldex' { interface ToolMetadataFields { team: 'billing' | 'support' }
 * }`.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ToolMetadataFields {}

/** The author's custom data, typed by `ToolMetadataFields`. */
interface OwnMetadata extends Readonly<Partial<ToolMetadataFields>> {
  readonly [field: string]: unknown;
}

/** The options that describe a tool. Only `name`, `description`, and `inputSchema` are required. */
export interface ToolOptions<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Context = unknown,
> {
  /**
   * The tool's name: 1 to 128 letters, digits, dots, underscores, and hyphens. Must be unique in a
   * registry.
   */
  readonly name: string;
  /** The purpose of the tool, for the model that selects tools. */
  readonly description: string;
  /**
   * The schema of the input object: zod, another Standard Schema that includes JSON Schema, or
   * plain JSON Schema.
   */
  readonly inputSchema: In;
  /**
   * The schema of the value returned by `execute`. A result that doesn't match the schema becomes
   * an `error`. @default unchecked
   */
  readonly outputSchema?: Out;
  /** The tool's version, such as `1.2.0`. @default none */
  readonly version?: string;
  /** Alternative names for the tool. @default none */
  readonly aliases?: readonly string[];

  /** The priority of the tool when tools are offered to a model. @default Priority.MEDIUM */
  readonly priority?: Priority | PriorityName;
  /**
   * The kind of access that a call has: read, write, execute, or a mix. @default inferred from
   * `sideEffects`, else `mixed`
   */
  readonly accessMode?: AccessMode;
  /**
   * The amount of harm that a wrong call can do. @default inferred from the access mode: readonly →
   * low, write → medium, others → high
   */
  readonly dangerLevel?: DangerLevel;
  /**
   * The kind of work that a call does. Determines which calls can run in parallel. @default follows
   * the access mode
   */
  readonly executionCategory?: ExecutionCategory;
  /**
   * The approximate cost of a call. @default inferred: free for local reads and `costPerCall: 0`,
   * low for compute, medium for external or unknown work, high for any other price
   */
  readonly costTier?: CostTier;
  /**
   * The side effects of a call. `none` declares that there aren't any; an empty list declares
   * nothing.
   * @default unknown
   */
  readonly sideEffects?: SideEffect | readonly SideEffect[];

  /** The tool's subject, such as `text` or `git`. Can be any string. @default none */
  readonly category?: string;
  /** Words and phrases that are likely to appear in requests for this tool. @default none */
  readonly keywords?: readonly string[];
  /**
   * Words and phrases that guarantee the tool is selected when a request contains one of them.
   * @default none
   */
  readonly mandatoryKeywords?: readonly string[];
  /** The phases of work in which the tool is offered. @default all */
  readonly stages?: readonly Open<Stage>[];
  /** The kinds of tasks for which the tool is offered. @default all */
  readonly taskTypes?: readonly string[];
  /** Example requests, phrased as a user would phrase them. @default none */
  readonly examples?: readonly string[];
  /**
   * The input fields that indicate progress: repeated calls with the same values in these fields
   * are treated as a loop. @default the whole input
   */
  readonly progressParams?: readonly string[];

  /** The timeout of a call, from 1 to 2³¹−1 milliseconds. @default the executor's, 30,000 */
  readonly timeoutMs?: number;
  /**
   * The credentials that the tool needs. Calls without these credentials are denied. @default none
   */
  readonly auth?: {
    readonly required: boolean;
    readonly type?: string;
    readonly scopes?: readonly string[];
    /** The environment variables, each marked as required or optional. */
    readonly env?: Readonly<Record<string, 'required' | 'optional'>>;
    /** The URL of instructions for getting access. */
    readonly docs?: string;
  };
  /**
   * Allows two calls of this tool to run at the same time. @default true if the tool is readonly
   * and its `executionCategory` allows it
   */
  readonly allowParallel?: boolean;
  /** Requires approval for every call. @default false */
  readonly requiresConsent?: boolean;
  /**
   * The kinds of content in a result: `private` for the user's own data, `untrusted` for text that
   * someone else may have written. An empty list means neither. Once a conversation has read both
   * kinds, a call that sends data outside needs approval. @default unknown, which counts as neither
   * (or as both if the policy sets `flows: { undeclared: 'strict' }`)
   */
  readonly reads?: readonly FlowLabel[];
  /**
   * The destination of a call's arguments. Use `outside` for email, public posts, and URLs in
   * arguments. @default inferred: the policy assumes that calls send outside only if the tool declares network access
   */
  readonly sends?: FlowTarget;
  /**
   * Returns the danger level of one call. The result can raise `dangerLevel`, but never lower it.
   * @default none
   */
  readonly dangerFor?: (input: InputOf<In>) => DangerLevel;
  /**
   * Returns the keys of the resources that one call touches. Calls that share no keys can run
   * at the same time. Policy rules match keys with `touches`.
   *
   * If the tool is a class, `this` is the instance. Use one key per resource. Keys are normalized
   * like paths: `FILE:./src//a` becomes `file:src/a`. Relative paths aren't resolved.
   * @default only access mode and execution category decide which calls can run at the same time
   */
  readonly conflictKeys?: (input: InputOf<In>) => ConflictKeys;
  /**
   * Returns the canonical form of an input that the schema has accepted. Policy, planner, and tool
   * all use this form. If the function throws or returns anything but an object, the input is
   * refused.
   *
   * Use it for normalization that a schema can't express. If the tool is a class, `this` is the
   * instance. @default the input unchanged
   */
  readonly canonicalInput?: (input: InputOf<In>) => InputOf<In>;
  /**
   * Returns a preview of one call for the user who approves it: a line of text, or a summary with a
   * diff, recipients, the cost, and whether it can be undone. Return `undefined` to show only the
   * arguments.
   *
   * Creating a preview must not have side effects. The preview is created before the user is asked,
   * and again before the approved call runs. If the two previews differ, the user is asked again.
   * The time limit is ten seconds. If the tool is a class, `this` is the instance. @default only
   * the arguments are shown
   */
  readonly preview?: (
    input: InputOf<In>,
    context: ToolContext<Context>,
  ) => string | Preview | undefined | Promise<string | Preview | undefined>;
  /**
   * The tools and categories whose cached results become stale when this tool is called. @default a
   * write makes the results of its own `category` stale, or all results if it has no category
   */
  readonly invalidates?: readonly string[];
  /**
   * The time for which a result can be reused, in milliseconds. Allowed only for `readonly`
   * tools.
   * @default not reused
   */
  readonly cacheTtlMs?: number;
  /**
   * Returns the part of the call's context that the result depends on, as plain data. A result is
   * reused if the arguments, the principal, and this key are the same. Return `undefined` to skip
   * caching for a call.
   *
   * Without this function, a result is reused only in the same conversation and with the same
   * `context.context`. Put this option after `execute`, which determines the type of the context.
   */
  readonly cacheKey?: (input: InputOf<In>, context: ToolContext<Context>) => unknown;
  /**
   * The maximum size of a result shown to models, in bytes (at least 1,024). If a result is longer,
   * models see its start, its end, and its size. @default the executor's
   */
  readonly maxResultBytes?: number;
  /**
   * The cost of one call, in the unit of your `cost` budgets. @default the rank (0–3) of `costTier`
   */
  readonly costPerCall?: number;
  /**
   * Promises that repeating a call with the same idempotency key has no further effect. @default
   * false
   */
  readonly idempotencyKey?: boolean;
  /** Capabilities that skills and filters can refer to by name. @default none */
  readonly capabilities?: readonly string[];
  /** The personas that can call the tool. @default all */
  readonly personaAllowlist?: readonly string[];
  /** The services that can do the work. See `ProviderRouter`. @default none */
  readonly providers?: readonly ToolProvider[];
  /** Leaves calls to a user or another program instead of `execute`. @default false */
  readonly manual?: boolean;
  /** Gives the model only a one-line summary, and the full definition on demand. @default false */
  readonly compact?: boolean;
  /** The one-line summary of a compact tool. @default the first sentence of `description` */
  readonly summary?: string;
  /**
   * The name used to find the tool's code if the tool is stored as data. @default the tool's name
   */
  readonly handlerRef?: string;
  /**
   * Returns true if the tool can be used at the moment. If the function throws, the tool is
   * unavailable. Callers receive the message of a ToolError `TOOL_UNAVAILABLE` that the function
   * throws. @default always
   */
  readonly available?: () => boolean;
  /** Any custom plain data. tooldex stores the data, and you can filter by it. @default none */
  readonly metadata?: OwnMetadata;
}

export type ToolAuth = NonNullable<ToolOptions['auth']>;
