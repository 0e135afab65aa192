import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import {
  aFunction,
  checkOptions,
  clock,
  signal,
  wholeBetween,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import { ToolExecutor } from '../execution/tool-executor.js';
import { isRegistry } from '../registry/is-registry.js';
import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { Approval } from '../safety/approvals.js';
import {
  POLICY_MODES,
  type CallContext,
  type ToolCall,
  type ToolOutcome,
} from '../safety/calls.js';
import type { SelectionRequest } from '../selection/selection-request.js';
import type { Selection } from '../selection/selection.js';
import type { BlobStore } from '../state/blob-store.js';
import type { ToolSource } from '../tool/find-definitions.js';
import type { ChatEvent, ChatTurn } from './chat-result.js';
import { encodeValue } from './encode-output.js';
import type { LanguageModel, ModelRequest, ModelStep } from './model-step.js';
import type { ContentPart } from '../tool/content.js';
import type { ChatMessage, ToolOutput } from './thread.js';

/** Selects the tools that the model sees in a turn; `previous` is the selection of the turn before, whose tools should keep their place. */
export type SelectTools = (turn: {
  readonly index: number;
  readonly text: string;
  readonly messages: readonly ChatMessage[];
  readonly previous: Selection | undefined;
}) => Selection | Promise<Selection>;

/** The effect of a tool's failure: the model reads the error, the run ends, or the model reads another value. */
export type ToolErrorDecision = 'continue' | 'halt' | { readonly continue: unknown };
type OnToolError = (
  call: ToolCall,
  outcome: Extract<ToolOutcome, { status: 'error' }>,
) => ToolErrorDecision | Promise<ToolErrorDecision>;

/** A model, tools, and how they are used. It is given with every call; no session keeps it. */
export interface ChatEngine extends Omit<CallContext, 'mode' | 'flow'> {
  /** A model of the AI SDK, or a function that stands for one. */
  readonly model: LanguageModel | ModelStep;
  /** Runs the tools. Without one they run under the default policy, and which calls of sessions ran is remembered for as long as `tools` is the same object; no answers are. */
  readonly executor?: ToolExecutor;
  /** The tools, when no executor is given: a registry, or what can be registered in one. @default those of the executor */
  readonly tools?: ToolMetadataRegistry | Iterable<ToolSource>;
  /** The instructions that the model reads before the messages. @default none */
  readonly system?: string;
  /** `manual` runs no tool: every call is left to the program. @default 'auto' */
  readonly mode?: 'auto' | 'manual';
  /** The policy's mode, see `CallContext`; a chat has a mode of its own. @default the policy's own */
  readonly policyMode?: CallContext['mode'];
  /** The number of times that the model is asked in one run. @default 8 */
  readonly maxTurns?: number;
  /** Ends the run after a turn whose calls are settled; what it throws, the chat throws. @default never */
  readonly haltWhen?: (turn: ChatTurn) => boolean | Promise<boolean>;
  /** The tools that the model sees: what is asked of `selectTools` beside the text, or a function. @default all that are available */
  readonly selectTools?: Omit<SelectionRequest, 'text' | 'previous'> | SelectTools;
  /**
   * Offers the model a tool that finds and explains others, within the limits of `selectTools`; what it finds may
   * be called. @default when tools are shown in short, or not all of them; not when a function selects
   */
  readonly toolSearch?: boolean;
  /** Says if the model must call a tool, may, must not, or must call a certain one. @default 'auto' */
  readonly toolChoice?: ModelRequest['toolChoice'];
  /** Decides over a call that failed. @default 'continue' */
  readonly onToolError?: 'continue' | 'halt' | OnToolError;
  /** Makes what the model reads of a result; it throws for values it cannot make text or data of. @default text as it is, all else as JSON */
  readonly encode?: (value: unknown, content: readonly ContentPart[]) => ToolOutput;
  /**
   * Keeps images, audio and files of more than 8 KiB that tools and users give: messages and snapshots refer to them, and the model
   * is sent them as they are. @default messages keep them
   */
  readonly blobs?: BlobStore;
  /** Handed to the tools' work as `context.context`. @default none */
  readonly context?: unknown;
  /** Options of the AI SDK's own calls: temperature, maxOutputTokens, maxRetries, providerOptions, headers… @default none */
  readonly modelOptions?: Readonly<Record<string, unknown>>;
  /** Hears everything as it happens. What it throws is ignored. @default none */
  readonly onEvent?: (event: ChatEvent) => void;
  /** Counts how the jobs of sessions end, as a `CapabilityRegistry` does. @default none */
  readonly jobs?: JobLog;
  /** The clock. @default the system's */
  readonly clock?: Clock;
}

/** Counts the runs of jobs by name, for a persona. */
type JobLog = {
  recordJob(
    name: string,
    record: { readonly success: boolean; readonly latencyMs: number },
    options: { readonly persona?: string | null },
  ): void;
};

/** A thread, and what to run it on. */
export interface ChatOptions extends ChatEngine {
  /** The thread so far, in the AI SDK's shape. Every call in it needs a result, or an approval in `approvals`. @default none */
  readonly messages?: readonly ChatMessage[];
  /** The user's next message, after `messages`. @default none */
  readonly prompt?: string;
  /** Approvals of calls that the thread leaves open, made with the executor's `approve`: these run first. @default none */
  readonly approvals?: readonly Approval[];
  /** Ends the run, and gives up the calls that run, when it aborts. @default none */
  readonly signal?: AbortSignal;
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const texts = z.array(z.string()).optional();
/** Options that the chat gives itself: tools given past it would be run by the SDK, without policy and approval. */
const OWN_OPTIONS: ReadonlySet<string> = new Set([
  'model',
  'system',
  'instructions',
  'prompt',
  'messages',
  'tools',
  'toolChoice',
  'activeTools',
  'experimental_activeTools',
  'stopWhen',
  'prepareStep',
  'experimental_prepareStep',
  'abortSignal',
]);
const schema = z.strictObject({
  model: z.custom<LanguageModel | ModelStep>(
    (value) =>
      isFunction(value) || typeof value === 'string' || (isObject(value) && 'doGenerate' in value),
    'a model of the AI SDK, or a function',
  ),
  executor: z
    .custom<ToolExecutor>(
      (value) => isObject(value) && 'executeAll' in value && 'registry' in value,
      'a ToolExecutor',
    )
    .optional(),
  tools: z
    .custom<NonNullable<ChatEngine['tools']>>(
      (value) => isObject(value) && Symbol.iterator in value,
      'a ToolMetadataRegistry or a list of tools',
    )
    .optional(),
  system: z.string().optional(),
  mode: z
    .custom<'auto' | 'manual'>((value) => value === 'auto' || value === 'manual', {
      error: 'one of "auto", "manual"',
      params: { advice: 'The mode of the policy is policyMode.' },
    })
    .default('auto'),
  policyMode: z.enum(POLICY_MODES).optional(),
  maxTurns: wholeBetween(1).default(8),
  haltWhen: aFunction<NonNullable<ChatEngine['haltWhen']>>().optional(),
  selectTools: z
    .custom<NonNullable<ChatEngine['selectTools']>>(
      (value) => isFunction(value) || isObject(value),
      'options of selectTools, or a function',
    )
    .optional(),
  toolSearch: z.boolean().optional(),
  toolChoice: z
    .union([z.enum(['auto', 'none', 'required']), z.strictObject({ toolName: z.string() })])
    .default('auto'),
  onToolError: z
    .union([z.enum(['continue', 'halt']), aFunction<OnToolError>()], {
      error: '"continue", "halt" or a function',
    })
    .default('continue'),
  encode: aFunction<NonNullable<ChatEngine['encode']>>().default(() => encodeValue),
  blobs: withMethods<BlobStore>('a BlobStore', 'put', 'get').optional(),
  context: z.unknown().optional(),
  modelOptions: z
    .record(
      z
        .string()
        .refine(
          (option) => !OWN_OPTIONS.has(option),
          'an option that the chat does not set itself',
        ),
      z.unknown(),
    )
    .default({}),
  onEvent: aFunction<NonNullable<ChatEngine['onEvent']>>().optional(),
  jobs: withMethods<JobLog>('a CapabilityRegistry', 'recordJob').optional(),
  clock: clock().default(systemClock),
  principal: z.string().optional(),
  scopes: texts,
  flags: texts,
  persona: z.string().optional(),
  conversationId: z.string().optional(),
} satisfies FieldsOf<ChatEngine>);
const chatSchema = schema.extend({
  messages: z.custom<readonly ChatMessage[]>(() => true).optional(),
  prompt: z.string().optional(),
  approvals: z
    .array(z.custom<Approval>(isPlainObject, 'an approval, as approve gives it'))
    .default([]),
  signal: signal().optional(),
} satisfies FieldsOf<Omit<ChatOptions, keyof ChatEngine>>);
const WHAT = 'options of the chat';

/** An engine with its defaults filled in. */
export type CheckedEngine = z.output<typeof schema> & {
  readonly executor: ToolExecutor;
  readonly registry: ToolMetadataRegistry;
};

/**
 * Checks an engine, and makes an executor when it has none.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option, before anything is asked or run.
 */
export function checkEngine(engine: ChatEngine): CheckedEngine {
  return withExecutor(checkOptions(schema, engine ?? null, WHAT));
}

/** Checks the options of a chat of one run: an engine, and its thread. Messages are read later. @throws as `checkEngine` does */
export function checkChatOptions(options: ChatOptions) {
  const {
    messages = [],
    prompt,
    approvals,
    signal,
    ...engine
  } = checkOptions(chatSchema, options ?? null, WHAT);
  return { messages, prompt, approvals, signal, engine: withExecutor(engine) };
}

function withExecutor({
  executor: given,
  tools,
  ...checked
}: z.output<typeof schema>): CheckedEngine {
  if (given !== undefined && tools !== undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('an executor or tools', 'both', 'An executor has its own tools.'),
    );
  const executor = given ?? executorOf(tools);
  return { ...checked, executor, registry: executor.registry };
}

/**
 * Executors of tools that were given without one: what they remember, such as calls that ran, lasts as long as the tools.
 *
 * They keep no answers: runs with the same tools may be for different users, told apart by nothing but `context`.
 */
const executors = new WeakMap<
  object,
  { readonly tools: readonly ToolSource[]; readonly executor: ToolExecutor }
>();

function executorOf(tools: ToolMetadataRegistry | Iterable<ToolSource> = []): ToolExecutor {
  const list = isRegistry(tools) ? [] : [...tools];
  const known = executors.get(tools);
  if (
    known !== undefined &&
    known.tools.length === list.length &&
    known.tools.every((tool, at) => tool === list[at])
  )
    return known.executor;
  const registry = isRegistry(tools) ? tools : new ToolMetadataRegistry();
  if (!isRegistry(tools)) registry.registerAll(list);
  const executor = new ToolExecutor({ registry, cacheEntries: 0 });
  if (isRegistry(tools) || Array.isArray(tools)) executors.set(tools, { tools: list, executor });
  return executor;
}
