import type * as McpServerSdk from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  ElicitRequestFormParams,
  InputRequiredResult,
  InputResponseView,
  RequestStateCodec,
  ServerContext,
} from '@modelcontextprotocol/server';
import type * as McpStdioSdk from '@modelcontextprotocol/server/stdio';
import { randomUUID } from 'node:crypto';
import { isToolError } from '../../core/errors.js';
import { digestOf, isPlainObject, without } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { Pending, PendingApproval, PendingQuestion, ToolOutcome } from '../../safety/calls.js';
import { deniedText, plainValue, unansweredText } from '../../safety/read-outcome.js';
import { readAnswer } from '../../tool/question.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import type { OnElicit } from '../connection/elicitation.js';
import type { RelayedCalls, RelayedQuestion } from './relayed-calls.js';
import { serverOf } from './served-tools.js';
import type { RequestContext } from './server-options.js';
import {
  answerIn,
  answerToQuestion,
  approvalForm,
  errorResult,
  outcomeResult,
  questionForm,
  refusedUnasked,
  withMarks,
} from './call-result.js';

/** The official SDK, as loaded by `importServerSdk`. */
export type ServerSdk = typeof McpServerSdk &
  Pick<typeof McpStdioSdk, 'serveStdio' | 'StdioServerTransport'>;

/**
 * The question of the previous round. It's signed, because the client stores it and sends it back.
 * The request with the answer must repeat the same call. What was asked is in the executor's
 * ledger, or in the running call of a server whose tool is still running.
 */
export type AskedBefore = {
  readonly callId: string;
  readonly toolName: string;
  readonly inputDigest: string;
} & (
  | { readonly kind: 'approval' | 'question'; readonly pendingId: string }
  | { readonly kind: 'relayed'; readonly keys: readonly string[] }
);

interface ToolCallsOptions {
  readonly sdk: ServerSdk;
  readonly executor: ToolExecutor;
  readonly codec: RequestStateCodec<AskedBefore>;
  readonly running: RelayedCalls;
}

/** A call's result, or questions for the user. */
export type Reply = Promise<CallToolResult | InputRequiredResult>;

/** A client's call. */
interface RequestedCall {
  readonly entry: ToolEntry;
  readonly input: unknown;
  readonly context: RequestContext;
  /** Equal for all calls of one client. */
  readonly client: unknown;
  /** Returns true if the client can show such questions to the user. */
  readonly canAsk: (mode: 'form' | 'url') => boolean;
  /** Returns the response for an outcome that asks no question. @default same as `outcomeResult` */
  readonly resultOf?: (outcome: ToolOutcome) => CallToolResult;
}

/** The caller of a request, and how to ask them. */
export type By = Pick<RequestedCall, 'client' | 'context' | 'canAsk'>;

/** The key of the only question in a round. */
const ASKED = 'tooldex';

/**
 * Runs clients' calls, and asks the client's user if the policy or the tool requires it.
 *
 * A question ends the request. The client then sends the request again with the answer (2026-07-28
 * protocol). For 2025-protocol clients the SDK asks and sends the request again.
 */
export class ToolCalls {
  constructor(readonly options: ToolCallsOptions) {}

  get executor(): ToolExecutor {
    return this.options.executor;
  }

  async call(call: RequestedCall, request: ServerContext): Reply {
    const before = request.mcpReq.requestState<AskedBefore>();
    if (before === undefined) return this.#run(call, request, randomUUID());
    const { sdk } = this.options;
    const answer = (key: string) => sdk.inputResponse(request.mcpReq.inputResponses, key);
    const one = answer(ASKED);
    const accepted =
      one.kind === 'elicit' && one.action === 'accept' ? (one.content ?? {}) : undefined;
    const { entry, input } = call;
    if (before.toolName !== entry.name || before.inputDigest !== digestOf(input))
      return errorResult(
        `This answer is for a different call of ${entry.name}. Call the tool again.`,
      );
    if (before.kind !== 'relayed') return this.#afterQuestion(call, request, before, accepted);
    const answers = new Map(before.keys.map((key) => [key, answerOf(answer(key))] as const));
    const resume = this.options.running.resume(before.callId, answers, request.mcpReq.signal);
    if (resume === undefined)
      return errorResult(
        `${entry.name} is no longer waiting for this answer: the call has ended or is running in another process. Check what the call did before you call the tool again.`,
      );
    return this.#follow(call, request, before.callId, () => resume);
  }

  /** Passes the user's answer to the ledger, and continues with the call. */
  async #afterQuestion(
    call: RequestedCall,
    request: ServerContext,
    { kind, callId, pendingId }: Extract<AskedBefore, { pendingId: string }>,
    accepted: Readonly<Record<string, unknown>> | undefined,
  ): Reply {
    const { executor } = this.options;
    const { entry, context } = call;
    const { principal = null, conversationId = null } = context;
    try {
      const waiting = await executor.waiting({ principal, conversationId, callId });
      const pending = waiting.find(({ id }) => id === pendingId);
      if (kind === 'question')
        return await this.#answerQuestion(call, request, pending as PendingQuestion, accepted);
      if (pending !== undefined)
        await (accepted === undefined
          ? executor.deny(pending)
          : executor.approve(pending as PendingApproval));
      return await (accepted === undefined
        ? errorResult(deniedText(entry.name, 'the user denied this call'))
        : this.#run(call, request, callId));
    } catch (error) {
      return errorResult(
        `${entry.name} didn't run: ${publicMessage(isToolError(error) ? error : undefined)}`,
      );
    }
  }

  /** The tool doesn't run again: the answer is its result. */
  async #answerQuestion(
    call: RequestedCall,
    request: ServerContext,
    pending: PendingQuestion | undefined,
    accepted: Readonly<Record<string, unknown>> | undefined,
  ): Reply {
    const { executor } = this.options;
    const { entry } = call;
    if (pending === undefined) return errorResult(unansweredText(entry.name));
    if (accepted === undefined) {
      await executor.deny(pending);
      return errorResult(
        `${entry.name} asked the user, who didn't answer. Continue without the answer, or ask the user what to do.`,
      );
    }
    const answer = readAnswer(pending, answerIn(accepted, pending));
    if (!answer.ok)
      return this.#askAbout(
        call,
        request,
        pending,
        questionForm(entry.name, pending, answer.message),
      );
    await executor.answer(pending, answer.value);
    return answerToQuestion(entry, plainValue(answer.value));
  }

  #run(call: RequestedCall, request: ServerContext, id: string): Reply {
    const { executor, running } = this.options;
    const { entry, input, context, client, canAsk } = call;
    const { log, signal } = request.mcpReq;
    const work = (stop: AbortSignal) =>
      executor.execute({ id, name: entry.name, input }, { ...context, signal: stop });
    return this.#follow(call, request, id, () =>
      running.run(id, work, { client, canAsk, log, server: serverOf(entry) }, signal),
    );
  }

  /**
   * Answers a request with its call's outcome, or with questions from the server whose tool is
   * running.
   */
  async #follow(
    call: RequestedCall,
    request: ServerContext,
    callId: string,
    wait: () => ReturnType<RelayedCalls['run']>,
  ): Reply {
    const token = request.mcpReq._meta?.progressToken;
    const stop =
      token === undefined
        ? undefined
        : relayProgress(this.options.executor, callId, (told) =>
            request.mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: token, ...told },
            }),
          );
    const round = await wait().finally(() => stop?.());
    if ('outcome' in round) return this.#answer(call, request, round.outcome);
    return this.#askAll(
      Object.fromEntries(
        [...round.questions].map(([key, question]) => [key, this.#relayed(question)]),
      ),
      { kind: 'relayed', callId, keys: [...round.questions.keys()], ...sameCall(call) },
      request,
    );
  }

  /** Returns a server's question for the client. What the user wouldn't see in it is marked. */
  #relayed({ server, asked }: RelayedQuestion) {
    const { inputRequired } = this.options.sdk;
    const message = `${server} asks: ${withMarks(asked.message)}`;
    if (asked['mode'] === 'url')
      return inputRequired.elicitUrl({ message, url: String(asked['url']) });
    const form = JSON.parse(JSON.stringify(asked), (key, value: unknown) =>
      typeof value === 'string' && ['title', 'description'].includes(key)
        ? withMarks(value)
        : value,
    ) as ElicitRequestFormParams;
    return inputRequired.elicit({ ...form, message });
  }

  async #answer(call: RequestedCall, request: ServerContext, outcome: ToolOutcome): Reply {
    const { entry, canAsk, resultOf = (each) => outcomeResult(entry, each) } = call;
    if (!canAsk('form'))
      return outcome.status === 'approval_required' ? refusedUnasked(outcome) : resultOf(outcome);
    if (outcome.status === 'approval_required')
      return this.#askAbout(call, request, outcome.pending, approvalForm(outcome.pending));
    if (outcome.status === 'ask_user')
      return this.#askAbout(call, request, outcome.pending, questionForm(entry.name, outcome));
    return resultOf(outcome);
  }

  async #askAbout(
    call: RequestedCall,
    request: ServerContext,
    { kind, id: pendingId, callId }: Exclude<Pending, { readonly kind: 'manual' }>,
    form: ElicitRequestFormParams,
  ): Promise<InputRequiredResult> {
    const state = { kind, pendingId, callId, ...sameCall(call) };
    return this.#askAll({ [ASKED]: this.options.sdk.inputRequired.elicit(form) }, state, request);
  }

  async #askAll(
    inputRequests: NonNullable<InputRequiredResult['inputRequests']>,
    state: AskedBefore,
    request: ServerContext,
  ): Promise<InputRequiredResult> {
    const { sdk, codec } = this.options;
    return sdk.inputRequired({
      inputRequests,
      requestState: await codec.mint(state, request),
    });
  }
}

const sameCall = ({ entry, input }: RequestedCall) => ({
  toolName: entry.name,
  inputDigest: digestOf(input),
});

/**
 * Returns a client's answer for the server that asked, or a cancellation if the client sent no
 * answer.
 */
function answerOf(answer: InputResponseView): Awaited<ReturnType<OnElicit>> {
  if (answer.kind !== 'elicit') return { action: 'cancel' };
  const { action, content } = answer;
  return { action, ...(content && { content: content as Record<string, string> }) };
}

/**
 * Returns true if a client can show the user a form or a URL. Older clients declare support for
 * forms with an empty capability.
 */
export function canShow(capabilities: unknown, mode: 'form' | 'url'): boolean {
  if (!isPlainObject(capabilities)) return false;
  const { elicitation } = capabilities;
  return (
    isPlainObject(elicitation) &&
    (isPlainObject(elicitation[mode]) || (mode === 'form' && Object.keys(elicitation).length === 0))
  );
}

/** Progress as the protocol sends it. */
interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

const LONGEST_MESSAGE = 1_000;
/** The amount by which progress is raised if a tool reports no higher number. */
const LEAST_STEP = 0.001;

/**
 * Forwards a call's progress to the client that requested it.
 *
 * Tools report a number as progress, a string as the message for another step, or an object with
 * `progress`, `total` and `message`. A number that isn't higher than the last one is raised,
 * because the protocol requires progress to increase.
 *
 * @returns a function that stops it and resolves when everything is sent.
 */
function relayProgress(
  executor: ToolExecutor,
  callId: string,
  send: (progress: McpProgress) => Promise<void>,
): () => Promise<void> {
  let last = -1;
  let sent = Promise.resolve();
  const stop = executor.on((event) => {
    if (event.type !== 'call-progress' || event.callId !== callId) return;
    const { progress: told } = event;
    const parts =
      typeof told === 'number'
        ? { progress: told }
        : isPlainObject(told)
          ? told
          : { message: told };
    const { progress = Math.max(last, 0) + 1, total, message } = parts as Partial<McpProgress>;
    last = progress > last ? progress : last + LEAST_STEP;
    const next = without({ progress: last, total, message: message?.slice(0, LONGEST_MESSAGE) });
    sent = sent.then(() => send(next)).catch(() => undefined); // The client may be gone.
  });
  return () => {
    stop();
    return sent;
  };
}
