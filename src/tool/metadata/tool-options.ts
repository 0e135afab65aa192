import type { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority, SideEffect, Stage } from '../../core/enums.js';
import type { InputOf, ToolSchema } from '../schema/standard-schema.js';

/** A string with known usual values that editors offer, and any other allowed. */
export type Open<Known extends string> = Known | (string & Record<never, never>);

/** What a tool needs to be allowed to call. No secret is ever written here, only the names of variables that hold one. */
export interface ToolAuth {
  readonly required: boolean;
  readonly type?: string;
  readonly scopes?: readonly string[];
  /** Environment variables, and whether the tool works without them. */
  readonly env?: Readonly<Record<string, 'required' | 'optional'>>;
  /** Where to read how to get access. */
  readonly docs?: string;
}

/** One of several services that can answer a tool's calls. */
export interface ToolProvider {
  readonly name: string;
  /** Tried in ascending order. @default 100 */
  readonly priority?: number;
  readonly healthCheckIntervalMs?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** What `execute` is handed beside its input. */
export interface ToolContext {
  /** Fires when the caller no longer wants the answer, or the time is up. */
  readonly signal?: AbortSignal;
  readonly callId?: string;
  /** The digest of the definition by which the call was judged: what runs it should be no other. */
  readonly definitionDigest?: string;
  /** For whom the call is made. */
  readonly principal?: string;
  readonly conversationId?: string;
  /** The same for every attempt at one call of a writing tool: pass it on to services that then act once. */
  readonly idempotencyKey?: string;
  /** Tells whoever watches the call how far it is; any plain data. */
  readonly reportProgress?: (progress: unknown) => void;
  /** What the program that makes the calls hands to its tools; see the option of that name of the executor and of chats. */
  readonly context?: unknown;
}

/**
 * What one call touches, as keys such as `file:src/a.ts`: a kind, a colon, a name.
 *
 * A key that ends in `/` (`file:src/`) covers itself and everything below it, and a kind alone (`git:`) everything of the
 * kind. Plain keys count as read, of a tool that can change something also as written; `{reads, writes}` tells them apart,
 * and one left out means none: `{reads: []}` touches nothing. An empty list says nothing.
 */
export type ConflictKeys = readonly string[] | { readonly reads?: readonly string[]; readonly writes?: readonly string[] };

/** Everything a tool may declare about itself. Only `name`, `description` and `inputSchema` are required. Each has a row in `TOOL_FIELDS`. */
export interface ToolOptions<In extends ToolSchema = ToolSchema, Out extends ToolSchema = ToolSchema> {
  /** Letters, digits, dot, underscore and hyphen; 1 to 128 of them; unique in a registry. */
  readonly name: string;
  /** What the tool does, for the model that chooses it. */
  readonly description: string;
  /** zod, another Standard Schema that carries JSON Schema, or plain JSON Schema; of an object. */
  readonly inputSchema: In;
  readonly outputSchema?: Out;
  readonly version?: string;
  /** Other names under which the tool is found. */
  readonly aliases?: readonly string[];

  /** @default Priority.MEDIUM */
  readonly priority?: Priority;
  /** Inferred from `sideEffects` when missing; otherwise `mixed`. */
  readonly accessMode?: AccessMode;
  /** Inferred from the access mode when missing: readonly → low, write → medium, others → high. */
  readonly dangerLevel?: DangerLevel;
  /** Follows the access mode when missing. */
  readonly executionCategory?: ExecutionCategory;
  /** Inferred when missing from `costPerCall: 0`, the category and the side effects; otherwise `high`. */
  readonly costTier?: CostTier;
  /** What a call touches. `none` says that it touches nothing; an empty list that nothing was declared. */
  readonly sideEffects?: SideEffect | readonly SideEffect[];

  readonly category?: string;
  /** Words and phrases of requests that this tool answers. */
  readonly keywords?: readonly string[];
  /** Words and phrases that guarantee the tool's place when a request contains them. */
  readonly mandatoryKeywords?: readonly string[];
  readonly stages?: readonly Open<Stage>[];
  readonly taskTypes?: readonly string[];
  /** Requests as a user would put them. */
  readonly examples?: readonly string[];
  /** Input fields whose change between two calls is progress; equal ones are a loop. */
  readonly progressParams?: readonly string[];

  /** 1 to 2³¹−1 milliseconds. */
  readonly timeoutMs?: number;
  readonly auth?: ToolAuth;
  /** Whether two calls of this tool may run at the same time. Default: if it is readonly and its category allows it. */
  readonly allowParallel?: boolean;
  /** Whether every call needs a person's yes. @default false */
  readonly requiresConsent?: boolean;
  /** The danger of one call; it can raise `dangerLevel`, never lower it. */
  readonly dangerFor?: (input: InputOf<In>) => DangerLevel;
  /**
   * What one call touches: calls that share nothing may run at the same time, and a policy's rules match it (`touches`).
   *
   * Of a tool that is a class it is called with the instance as `this`. One thing should have one key: keys are read as paths
   * (`FILE:./src//a` is `file:src/a`), but what they are relative to only the tool knows.
   */
  readonly conflictKeys?: (input: InputOf<In>) => ConflictKeys;
  /**
   * Returns the one form of an input that the schema accepted, before policy, plan and tool read it. One that throws, or
   * returns no object, refuses the input.
   *
   * Only for what the schema cannot know: of a tool that is a class it is called with the instance as `this`.
   */
  readonly canonicalInput?: (input: InputOf<In>) => InputOf<In>;
  /** Tools and categories whose cached results a call makes stale. */
  readonly invalidates?: readonly string[];
  /** How long an answer may be reused, in milliseconds; only for tools declared `readonly`. */
  readonly cacheTtlMs?: number;
  /**
   * What of the call's context an answer depends on, as plain data: answers are reused for equal arguments, principal and
   * key. Without it they belong to the conversation and the whole `context.context`. `undefined` keeps no answer of the call.
   */
  readonly cacheKey?: (input: InputOf<In>, context: ToolContext) => unknown;
  readonly costPerCall?: number;
  /** Whether calls with the same idempotency key have the effect of one. */
  readonly idempotencyKey?: boolean;
  readonly capabilities?: readonly string[];
  /** The only personas that may call the tool; without it all may. */
  readonly personaAllowlist?: readonly string[];
  readonly providers?: readonly ToolProvider[];
  /** Whether a person or another program answers the calls instead of `execute`. @default false */
  readonly manual?: boolean;
  /** Whether the model sees one line of the tool and reads the rest on demand. @default false */
  readonly compact?: boolean;
  /** The one line shown of a compact tool. */
  readonly summary?: string;
  /** The name under which a handler is attached to a tool that was stored as data. */
  readonly handlerRef?: string;
  /** Whether the tool can be used now; an error counts as no. */
  readonly available?: () => boolean;
  /** Anything else, as plain data; tooldex only carries it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}
