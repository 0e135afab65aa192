import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { invalidArgument } from '../core/issues.js';
import {
  aFunction,
  checkOptions,
  clock,
  signal,
  wholeBetween,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import { ToolExecutor } from '../execution/tool-executor.js';
import { isRegistry } from '../registry/is-registry.js';
import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import {
  POLICY_MODES,
  type CallContext,
  type ToolCall,
  type ToolOutcome,
} from '../safety/calls.js';
import type { SelectionRequest } from '../selection/selection-request.js';
import type { Selection } from '../selection/selection.js';
import type { ToolSource } from '../tool/find-definitions.js';
import type { ChatEvent, ChatTurn } from './chat-result.js';
import type { LanguageModel, ModelRequest, ModelStep } from './model-step.js';
import type { ContentPart } from '../tool/content.js';
import type { ChatMessage, ToolOutput } from './thread.js';

/**
 * Selects the tools that the model sees in a turn. The tools in `previous`, the previous turn's
 * selection, should keep their places.
 */
export type SelectTools = (turn: {
  readonly index: number;
  readonly text: string;
  readonly messages: readonly ChatMessage[];
  readonly previous: Selection | undefined;
}) => Selection | Promise<Selection>;

/**
 * The outcome of `onToolError`: the model reads the error, the run ends, or the model reads
 * another value.
 */
type ToolErrorDecision = 'continue' | 'halt' | { readonly continue: unknown };
type OnToolError = (
  call: ToolCall,
  outcome: Extract<ToolOutcome, { status: 'error' }>,
) => ToolErrorDecision | Promise<ToolErrorDecision>;

/**
 * A model, tools, and how to use them. Pass the engine with every run, because sessions don't store
 * it.
 */
export interface ChatEngine extends Omit<CallContext, 'mode' | 'flow'> {
  /** A model from the AI SDK, or a function in its place. */
  readonly model: LanguageModel | ModelStep;
  /**
   * Runs the tools. @default an executor with the default policy. If several runs get the same
   * `tools` object, they share this executor, so the executor remembers which calls of a session
   * ran.
   */
  readonly executor?: ToolExecutor;
  /**
   * The tools, if you pass no executor: a registry, or anything a registry can register. @default
   * the executor's
   */
  readonly tools?: ToolMetadataRegistry | Iterable<ToolSource>;
  /** The instructions that the model reads before the messages. @default none */
  readonly system?: string;
  /** The mode. With `manual`, no tool runs and the program answers every call. @default 'auto' */
  readonly mode?: 'auto' | 'manual';
  /** The policy's mode, see `CallContext`. @default the policy's own */
  readonly policyMode?: CallContext['mode'];
  /** The maximum number of times that one run calls the model. @default 8 */
  readonly maxTurns?: number;
  /**
   * Ends the run after a turn if the function returns true. An error in the function becomes an
   * error of the chat.
   * @default never
   */
  readonly haltWhen?: (turn: ChatTurn) => boolean | Promise<boolean>;
  /**
   * The tools that the model sees: options for `selectTools`, or a function. @default all available
   * tools
   */
  readonly selectTools?: Omit<SelectionRequest, 'text' | 'previous'> | SelectTools;
  /**
   * Offers the model a tool that finds and explains other tools within the limits of `selectTools`.
   * The model may call the tools that the search found. @default true if some tools are hidden or
   * shown in short form, and false if `selectTools` is a function
   */
  readonly toolSearch?: boolean;
  /**
   * Determines whether the model must, may, or must not call a tool, or which tool it must call.
   * @default 'auto'
   */
  readonly toolChoice?: ModelRequest['toolChoice'];
  /** Decides what happens after a failed call. @default 'continue' */
  readonly onToolError?: 'continue' | 'halt' | OnToolError;
  /**
   * Converts a result to the form that the model reads. The function should throw for a value that
   * it can't convert to text or data. @default text stays text, everything else becomes JSON
   */
  readonly encode?: (value: unknown, content: readonly ContentPart[]) => ToolOutput;
  /** The value that tools receive as `context.context`. @default none */
  readonly context?: unknown;
  /**
   * Options for the AI SDK's own calls, such as temperature, maxOutputTokens, maxRetries and
   * headers. @default none
   */
  readonly modelOptions?: Readonly<Record<string, unknown>>;
  /** Receives every event. Errors that the listener throws are ignored. @default none */
  readonly onEvent?: (event: ChatEvent) => void;
  /**
   * An object that records how each session's job ends, such as a `CapabilityRegistry`. @default
   * none
   */
  readonly jobs?: JobLog;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
}

/** Records the runs of jobs. */
type JobLog = {
  recordJob(
    name: string,
    record: { readonly success: boolean; readonly latencyMs: number },
    options: { readonly persona?: string | null },
  ): void;
};

/** An engine, and the thread to run it on. */
export interface ChatOptions extends ChatEngine {
  /**
   * The thread so far, in the AI SDK's format. Every call in the thread must have a result.
   * @default none
   */
  readonly messages?: readonly ChatMessage[];
  /** The user's next message, after `messages`. @default none */
  readonly prompt?: string;
  /** Aborting this signal ends the run and abandons running calls. @default none */
  readonly signal?: AbortSignal;
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const texts = z.array(z.string()).optional();
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
      params: { advice: 'Set the mode of the policy with policyMode.' },
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
  encode: aFunction<NonNullable<ChatEngine['encode']>>().optional(),
  context: z.unknown().optional(),
  modelOptions: z.record(z.string(), z.unknown()).default({}),
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
  signal: signal().optional(),
} satisfies FieldsOf<Omit<ChatOptions, keyof ChatEngine>>);
const WHAT = 'options of the chat';

/** An engine with its defaults filled in. */
export type CheckedEngine = z.output<typeof schema> & {
  readonly executor: ToolExecutor;
  readonly registry: ToolMetadataRegistry;
};

/**
 * Checks an engine, and creates an executor if the engine has none.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every invalid option, before the model is called or a
 * tool runs.
 */
export function checkEngine(engine: ChatEngine): CheckedEngine {
  return withExecutor(checkOptions(schema, engine ?? null, WHAT));
}

/**
 * Checks an engine and the thread to run it on. Messages are checked later. @throws like
 * `checkEngine`
 */
export function checkChatOptions(options: ChatOptions) {
  const checked = checkOptions(chatSchema, options ?? null, WHAT);
  const { messages = [], prompt, signal: _signal, ...engine } = checked;
  return { messages, prompt, engine: withExecutor(engine) };
}

function withExecutor({
  executor: ownExecutor,
  tools,
  ...checked
}: z.output<typeof schema>): CheckedEngine {
  if (ownExecutor !== undefined && tools !== undefined)
    throw invalidArgument('an executor or tools', 'both', 'An executor has its own tools.');
  const executor = ownExecutor ?? executorOf(tools);
  return { ...checked, executor, registry: executor.registry };
}

interface SharedExecutor {
  readonly list: readonly ToolSource[];
  readonly executor: ToolExecutor;
}

/**
 * Executors created for tools that were passed without an executor. An executor is kept as long as
 * its tools, because the executor remembers which calls ran.
 */
const executors = new WeakMap<object, SharedExecutor>();

/**
 * Returns the executor for tools that were passed without an executor. The returned executor caches
 * no results, because different users may share the tools.
 */
function executorOf(tools: ToolMetadataRegistry | Iterable<ToolSource> = []): ToolExecutor {
  const kept = executors.get(tools);
  const isSame = (tool: ToolSource, at: number) => tool === kept?.list[at];
  // A list may have changed since the last run. Other iterables may be readable only once.
  if (kept && (!Array.isArray(tools) || (tools.length === kept.list.length && tools.every(isSame))))
    return kept.executor;
  const list = isRegistry(tools) ? [] : [...tools];
  const registry = isRegistry(tools) ? tools : new ToolMetadataRegistry();
  registry.registerAll(list);
  const executor = new ToolExecutor({ registry, cacheEntries: 0 });
  executors.set(tools, { list, executor });
  return executor;
}
