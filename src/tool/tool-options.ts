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

/** A string with known usual values that editors offer, and any other allowed. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** One of several services that can answer a tool's calls. */
export interface ToolProvider {
  readonly name: string;
  /** The rank among the providers, which are tried in ascending order. @default 100 */
  readonly priority?: number;
  readonly healthCheckIntervalMs?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The facts of a call that its tool's work is told. */
interface CallFacts {
  /** The signal that fires when the caller no longer wants the answer, or the time is up. */
  readonly signal?: AbortSignal;
  readonly callId?: string;
  /** The tool's own name, also when it was called by an alias. */
  readonly toolName?: string;
  /** The digest of the definition by which the call was judged; no other definition should run it. */
  readonly definitionDigest?: string;
  /** The user or service for whom the call is made. */
  readonly principal?: string;
  readonly conversationId?: string;
  /** A key that all attempts at one call of a writing tool share: pass it on to services that then act once. */
  readonly idempotencyKey?: string;
  /** Reports to the observers of the call how far it is; any plain data. */
  readonly reportProgress?: (progress: unknown) => void;
}

/**
 * The context that `execute` receives beside its input. A tool says what it needs of the program: `ToolContext<{ db: Database }>`.
 *
 * Its `context` is the value that the program hands to its tools, such as a database client; every way in takes one, and it
 * never comes from the model. The type is the tool's word for what programs give: nothing checks the value.
 */
export type ToolContext<Context = unknown> = CallFacts &
  (unknown extends Context ? { readonly context?: Context } : { readonly context: Context });

/**
 * The keys of the resources that one call touches, such as `file:src/a.ts`: a kind, a colon, a name.
 *
 * A key that ends in `/` (`file:src/`) covers itself and everything below it, and a kind alone (`git:`) everything of
 * the kind. Plain keys count as read and, for a tool that can change something, also as written; `{reads, writes}`
 * tells them apart, and a missing one means none: `{reads: []}` touches nothing. An empty list says nothing.
 */
type ConflictKeys =
  readonly string[] | { readonly reads?: readonly string[]; readonly writes?: readonly string[] };

/**
 * The fields of your own in a tool's `metadata`, for their types; augment it where your tools are:
 * `declare module 'tooldex' { interface ToolMetadataFields { team: 'billing' | 'support' } }`.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ToolMetadataFields {}

/** Plain data of the author's own, with the types that `ToolMetadataFields` says. */
interface OwnMetadata extends Readonly<Partial<ToolMetadataFields>> {
  readonly [field: string]: unknown;
}

/** The metadata that a tool may declare about itself. Only `name`, `description` and `inputSchema` are required. */
export interface ToolOptions<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Context = unknown,
> {
  /** The name: 1 to 128 letters, digits, dots, underscores and hyphens; unique in a registry. */
  readonly name: string;
  /** The purpose of the tool, for the model that chooses it. */
  readonly description: string;
  /** The schema of an object: zod, another Standard Schema that carries JSON Schema, or plain JSON Schema. */
  readonly inputSchema: In;
  /** The schema of what `execute` returns; a result that does not fit is an `error`. @default unchecked */
  readonly outputSchema?: Out;
  /** The version, such as `1.2.0`. @default none */
  readonly version?: string;
  /** The other names under which the tool is found. @default none */
  readonly aliases?: readonly string[];

  /** The eagerness with which the tool is offered to a model. @default Priority.MEDIUM */
  readonly priority?: Priority | Lowercase<keyof typeof Priority>;
  /** The effect that a call may have; inferred from `sideEffects` when missing, otherwise `mixed`. */
  readonly accessMode?: AccessMode;
  /**
   * The harm that a wrong call can do; inferred from the access mode when missing: readonly → low, write → medium,
   * others → high.
   */
  readonly dangerLevel?: DangerLevel;
  /** The kind of work; follows the access mode when missing. */
  readonly executionCategory?: ExecutionCategory;
  /** The cost of a call; inferred when missing: free for local reads and `costPerCall: 0`, low for compute, medium for what is external or unknown, high for another price. */
  readonly costTier?: CostTier;
  /** The effects of a call. `none` declares that there are none; an empty list declares nothing. @default unknown */
  readonly sideEffects?: SideEffect | readonly SideEffect[];

  /** The subject, such as `text` or `git`; any word. @default none */
  readonly category?: string;
  /** Words and phrases of requests that this tool answers. @default none */
  readonly keywords?: readonly string[];
  /** Words and phrases that guarantee the tool's place when a request contains them. @default none */
  readonly mandatoryKeywords?: readonly string[];
  /** The phases of work in which the tool is offered. @default all */
  readonly stages?: readonly Open<Stage>[];
  /** The kinds of task for which the tool is offered. @default all */
  readonly taskTypes?: readonly string[];
  /** Requests as a user would put them. @default none */
  readonly examples?: readonly string[];
  /** Input fields whose change between two calls is progress; equal ones are a loop. @default the whole input */
  readonly progressParams?: readonly string[];

  /** The time limit of a call: 1 to 2³¹−1 milliseconds. @default the executor's, 30,000 */
  readonly timeoutMs?: number;
  /** The credentials without which calls are denied. @default none */
  readonly auth?: {
    readonly required: boolean;
    readonly type?: string;
    readonly scopes?: readonly string[];
    /** Environment variables, required or optional. */
    readonly env?: Readonly<Record<string, 'required' | 'optional'>>;
    /** The address of instructions for getting access. */
    readonly docs?: string;
  };
  /** Allows two calls of this tool at the same time. Default: if it is readonly and its category allows it. */
  readonly allowParallel?: boolean;
  /** Requires approval of every call. @default false */
  readonly requiresConsent?: boolean;
  /**
   * The labels of a result: `private` for the user's own data, `untrusted` for text that others may have written; empty for
   * neither. A call that sends outside after both were read in a conversation needs approval. @default not known: no label
   */
  readonly reads?: readonly FlowLabel[];
  /**
   * The side to which a call carries its arguments: `outside` for mail, public posts and addresses that an argument names. When
   * missing, a tool that names the network counts as sending outside once its conversation has read something.
   */
  readonly sends?: FlowTarget;
  /** The danger of one call; it can raise `dangerLevel`, never lower it. @default none */
  readonly dangerFor?: (input: InputOf<In>) => DangerLevel;
  /**
   * Returns the keys of what one call touches: calls that share nothing may run at the same time, and a policy's rules
   * match them (`touches`).
   *
   * In a tool that is a class, `this` is the instance. One resource should have one key: keys are read as paths
   * (`FILE:./src//a` is `file:src/a`), but only the tool knows what they are relative to. @default by the axes alone
   */
  readonly conflictKeys?: (input: InputOf<In>) => ConflictKeys;
  /**
   * Returns the one form of an input that the schema accepted, before policy, plan and tool read it. An exception, or a
   * result that is no object, refuses the input.
   *
   * Use it for what the schema cannot know; in a tool that is a class, `this` is the instance. @default the input as it is
   */
  readonly canonicalInput?: (input: InputOf<In>) => InputOf<In>;
  /**
   * Returns what one call would do, for the user who is asked to approve it: a line, or a summary with a diff, recipients, the cost,
   * and whether it can be undone. It must have no effect; it is asked before the approval, and again before the approved call runs:
   * where it differs by then, approval is asked for again. At most two seconds; in a tool that is a class, `this` is the instance.
   * `undefined` shows the arguments alone. @default the arguments alone
   */
  readonly preview?: (
    input: InputOf<In>,
    context: ToolContext<NoInfer<Context>>,
  ) => string | Preview | undefined | Promise<string | Preview | undefined>;
  /** Tools and categories whose cached results a call makes stale. @default none */
  readonly invalidates?: readonly string[];
  /** The time for which an answer may be reused, in milliseconds; only for tools declared `readonly`. @default not reused */
  readonly cacheTtlMs?: number;
  /**
   * Returns the part of the call's context that an answer depends on, as plain data: answers are reused for equal
   * arguments, principal and key. Without it they belong to the conversation and the whole `context.context`.
   * `undefined` keeps no answer of the call. Write it after `execute`, whose type says what the context is.
   */
  readonly cacheKey?: (input: InputOf<In>, context: ToolContext<NoInfer<Context>>) => unknown;
  /** Bytes of text that models read of a result, from 1,024; beyond it they read the beginning, the end and the size. @default the executor's */
  readonly maxResultBytes?: number;
  /** The cost of one call, in the unit of the `cost` of budgets. @default the rank (0–3) of `costTier` */
  readonly costPerCall?: number;
  /** Promises that several calls with the same idempotency key have the effect of one. @default false */
  readonly idempotencyKey?: boolean;
  /** The abilities that skills and filters ask for by name. @default none */
  readonly capabilities?: readonly string[];
  /** The only personas that may call the tool; without it all may. */
  readonly personaAllowlist?: readonly string[];
  /** The services that can do the work, see `ProviderRouter`. @default none */
  readonly providers?: readonly ToolProvider[];
  /** Leaves the calls to a user or another program instead of `execute`. @default false */
  readonly manual?: boolean;
  /** Shows the model one line of the tool, and the rest on demand. @default false */
  readonly compact?: boolean;
  /** The one line shown of a compact tool. @default the first sentence of `description` */
  readonly summary?: string;
  /** The name under which a handler is attached to a tool that was stored as data. @default the name */
  readonly handlerRef?: string;
  /** Returns true if the tool can be used now; an error counts as false, and callers read a ToolError `TOOL_UNAVAILABLE`. @default always */
  readonly available?: () => boolean;
  /** The author's own plain data; tooldex carries it, and filters ask by it. @default none */
  readonly metadata?: OwnMetadata;
}

export type ToolAuth = NonNullable<ToolOptions['auth']>;
