import { z } from 'zod';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { aFunction, checkOptions, once, text, type FieldsOf } from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ExecuteOptions, ToolExecutorOptions } from '../execution/executor-options.js';
import { readResult } from '../execution/read-result.js';
import { ToolExecutor } from '../execution/tool-executor.js';
import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type {
  Confirm,
  OutcomeBody,
  PendingManualCall,
  PendingQuestion,
  ToolOutcome,
} from '../safety/calls.js';
import type { TypedOutcome } from '../execution/typed-outcome.js';
import type { ResolveInstance, ToolSource } from '../tool/find-definitions.js';
import { readAnswer } from '../tool/question.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import type { SchemaInput, ToolSchema } from '../tool/tool-schema.js';

/**
 * The options of `runTool`: the options of a call, and the answers that users or other programs
 * would provide.
 */
interface RunToolOptions extends Omit<ExecuteOptions, 'confirm' | 'onStart'> {
  /** The name of the tool to run, if a toolkit has several tools. @default the only tool */
  readonly name?: string;
  /** Creates the instance of a class. @default `new Class()` */
  readonly resolve?: ResolveInstance;
  /**
   * Answers the tool's question, or provides the result of a manual call. Pass a list with one
   * answer (the result of the call), or a function. If this option is missing or returns
   * `undefined`, the outcome is `ask_user` or `manual`.
   */
  readonly answers?:
    readonly unknown[] | ((pending: PendingQuestion | PendingManualCall) => unknown);
  /**
   * Approves or denies a call that needs approval. If missing, the outcome is `approval_required`.
   */
  readonly approve?: boolean | Confirm;
  /**
   * The executor's options, such as `providers`, `policy`, `env`, or `clock`. @default the defaults
   * of `ToolExecutor`
   */
  readonly executor?: Omit<ToolExecutorOptions, 'registry' | 'confirm'>;
}

/** The input and the options, with the types that a definition declares. */
type RunArguments<Tool> = [Tool] extends [
  ToolDefinition<infer In, ToolSchema, string, unknown, infer Context>,
]
  ? unknown extends Context
    ? [input?: SchemaInput<In>, options?: RunToolOptions]
    : [input: SchemaInput<In>, options: RunToolOptions & { readonly context: Context }]
  : [input?: unknown, options?: RunToolOptions];

type ResultOf<Tool> = [Tool] extends [
  ToolDefinition<ToolSchema, ToolSchema, string, infer Result, unknown>,
]
  ? Result
  : unknown;

/** The outcome of running a tool in a test, and all events that were reported. */
export interface ToolRun<Result = unknown> {
  readonly outcome: TypedOutcome<Result>;
  readonly events: readonly ToolEvent[];
}

/** Accepts any value, because the executor validates this field. */
const any = () => z.custom<never>(() => true).optional();
const schema = once(() =>
  z.strictObject({
    name: text().optional(),
    resolve: aFunction<ResolveInstance>().optional(),
    answers: z
      .custom<NonNullable<RunToolOptions['answers']>>(
        (value) => typeof value === 'function' || (Array.isArray(value) && value.length <= 1),
        'a list with one answer (the result of the call), or a function that answers',
      )
      .optional(),
    approve: z
      .custom<boolean | Confirm>(
        (value) => typeof value === 'boolean' || typeof value === 'function',
        'true, false, or a function that decides',
      )
      .optional(),
    // An executor is refused, because its policy would be ignored.
    executor: z
      .custom<NonNullable<RunToolOptions['executor']>>(
        isPlainObject,
        "the executor's options as a plain object",
      )
      .optional(),
    principal: any(),
    scopes: any(),
    flags: any(),
    persona: any(),
    conversationId: any(),
    mode: any(),
    policy: any(),
    signal: any(),
    idempotencyKey: any(),
    context: any(),
  } satisfies FieldsOf<RunToolOptions>),
);

/**
 * Runs a tool in a test as an executor would: with schema, policy, approval, retries, timeout,
 * output schema, progress, and questions.
 *
 * Calls that need approval are approved only if you pass `approve`. For a definition, the input, the
 * context, and the value of the outcome have the definition's types. To test how the tool handles
 * wrong input, pass `input as never`.
 *
 * @param tool A definition, a decorated class, or an instance.
 * @throws ToolError `NOT_A_TOOL`. `INVALID_ARGUMENT` for invalid options, or if `name` doesn't
 * identify a tool. `INVALID_INPUT` for an answer that the call doesn't accept. Errors thrown by
 * `approve` or `answers` are rethrown.
 */
export function runTool<Tool extends ToolSource>(
  tool: Tool,
  ...rest: RunArguments<Tool>
): Promise<ToolRun<ResultOf<Tool>>>;
export async function runTool(
  tool: ToolSource,
  input: unknown = {},
  options: RunToolOptions = {},
): Promise<ToolRun> {
  const {
    name,
    resolve,
    answers,
    approve,
    executor: executorOptions,
    ...callOptions
  } = checkOptions(schema, options, 'options of runTool');
  const registry = new ToolMetadataRegistry(resolve && { resolve });
  const entry = chosen(registry.register(tool), name);
  const failed: unknown[] = [];
  const confirm: Confirm | undefined =
    approve === undefined
      ? undefined
      : async (pending, more) => {
          try {
            return typeof approve === 'boolean' ? approve : await approve(pending, more);
          } catch (error) {
            failed.push(error); // A failed assertion in `approve` must fail the test, not deny the call.
            throw error;
          }
        };
  const executor = new ToolExecutor({ ...executorOptions, registry, ...(confirm && { confirm }) });
  const events: ToolEvent[] = [];
  executor.on((event) => void events.push(event));
  try {
    const outcome = await executor.execute(
      { id: 'call-1', name: entry.name, input },
      callOptions as unknown as ExecuteOptions,
    );
    if (failed.length > 0) throw failed[0];
    return Object.freeze({
      outcome: await answered(entry, outcome, answers),
      events: Object.freeze([...events]),
    });
  } finally {
    await executor.close();
  }
}

function chosen(entries: readonly ToolEntry[], name: string | undefined): ToolEntry {
  const entry =
    name === undefined && entries.length === 1
      ? entries[0]
      : entries.find((each) => each.name === name);
  if (entry !== undefined) return entry;
  const names = entries.map((each) => each.name).join(', ');
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      'the name of one of the tools',
      name === undefined ? `none for ${entries.length} tools` : JSON.stringify(name),
      `Pass options.name: ${names}.`,
    ),
  );
}

async function answered(
  entry: ToolEntry,
  outcome: ToolOutcome,
  answers: RunToolOptions['answers'],
): Promise<ToolOutcome> {
  if ((outcome.status !== 'ask_user' && outcome.status !== 'manual') || answers === undefined)
    return outcome;
  const { pending } = outcome;
  const answer = typeof answers === 'function' ? await answers(pending) : answers[0];
  if (answer === undefined) return outcome;
  const { callId, toolName, durationMs, attempts, cached, provider } = outcome;
  const body =
    pending.kind === 'question' ? userAnswer(pending, answer) : await manualResult(entry, answer);
  return Object.freeze({
    callId,
    toolName,
    durationMs,
    attempts,
    cached,
    ...(provider !== undefined && { provider }),
    ...body,
  });
}

function userAnswer(question: PendingQuestion, answer: unknown): OutcomeBody {
  const read = readAnswer(question, answer);
  if (!read.ok) throw new ToolError('INVALID_INPUT', read.message);
  return { status: 'ok', value: read.value };
}

async function manualResult(entry: ToolEntry, result: unknown): Promise<OutcomeBody> {
  const refused = (got: string, details: ToolError['details'] = {}) =>
    new ToolError(
      'INVALID_INPUT',
      expectedGot(
        `a value, ok(value) or fail(message) as the result of the manual call to ${entry.name}`,
        got,
      ),
      { details },
    );
  const body = await readResult(entry, result);
  if (body.status === 'ask_user') throw refused('a question');
  if (body.status === 'halt') throw refused('the end of the run');
  if (body.status === 'error' && body.code === 'INVALID_RESULT')
    throw refused("a value that its output schema or JSON doesn't allow", body.details);
  return body;
}
