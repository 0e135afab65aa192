import { without } from '../../core/plain-data.js';
import type {
  CallToolRequest,
  Client,
  ElicitResult,
  InputRequiredResult,
  RequestOptions,
} from '@modelcontextprotocol/client';
import { isToolError, ToolError } from '../../core/errors.js';
import { pauseLimits } from '../../core/time-limit.js';
import { untilAborted } from '../../execution/with-deadline.js';
import { withSchemaDefaults } from '../../tool/question.js';
import type { ToolContext } from '../../tool/tool-options.js';

// With the SDK's types, everyone who imports this package would have to install the SDK.

/**
 * Answers a question that a server asks the user during a call. The form is a JSON Schema of an
 * object with flat fields. If the user accepts, `content` has the fields that they filled in. The
 * form's defaults fill the rest.
 *
 * The time spent waiting for the answer doesn't count towards the call's timeout. `about`
 * identifies the call and its principal if they're known. A 2025-protocol server doesn't say which
 * of its running calls a question is about. If one principal has several running calls at the
 * server, they're in `calls`. If several principals have, nobody is asked, and the server is told
 * why. `signal` aborts when the answer is no longer needed.
 *
 * The server sees the message of a `ToolError` that your function throws, and of no other error.
 */
export type OnElicit = (
  server: string,
  request: {
    readonly message: string;
    readonly requestedSchema?: Readonly<Record<string, unknown>>;
    readonly [field: string]: unknown;
  },
  about: {
    readonly call?: CallName;
    readonly calls?: readonly CallName[];
    readonly principal?: string;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}>;

interface CallName {
  readonly id: string;
  readonly toolName: string;
}

/** Maximum number of rounds of questions in one call. The SDK has the same limit. */
const MOST_ROUNDS = 10;

type ElicitParams = Parameters<OnElicit>[1];

/** Forwards a server's questions to the user, for the calls of one session. */
export class Elicitation {
  /** The server's running calls. */
  readonly #running = new Set<ToolContext>();

  constructor(
    readonly server: string,
    readonly onElicit: OnElicit,
  ) {}

  /**
   * Makes a call. Each time the server responds with questions, repeats the call with the answers
   * (2026-07-28 protocol).
   */
  async call(
    client: Client,
    params: CallToolRequest['params'],
    options: RequestOptions & { readonly signal: AbortSignal },
    context: ToolContext,
  ): Promise<unknown> {
    this.#running.add(context);
    try {
      let next = params;
      for (let round = 1; round <= MOST_ROUNDS; round += 1) {
        const result = (await client.callTool(next, {
          ...options,
          allowInputRequired: true,
        })) as Partial<InputRequiredResult>;
        if (result.resultType !== 'input_required') return result;
        next = { ...params, ...(await this.#answers(result, context, options.signal)) };
      }
      throw new Error(
        `The server kept asking questions. The call was stopped after ${MOST_ROUNDS} rounds.`,
      );
    } finally {
      this.#running.delete(context);
    }
  }

  /**
   * Answers a question of a 2025-protocol server. Such a question doesn't identify its call.
   * @throws ToolError if the running calls have several principals, because a user must not answer
   * a question that is meant for someone else.
   */
  async answer(params: unknown, signal: AbortSignal): Promise<ElicitResult> {
    const calls = [...this.#running];
    if (new Set(calls.map(({ principal }) => principal)).size > 1)
      throw new ToolError(
        'TOOL_UNAVAILABLE',
        "Nobody was asked, because several users have calls running and the question doesn't say which of them it's for.",
      );
    return this.#ask(params as ElicitParams, calls, signal);
  }

  async #answers(
    { inputRequests = {}, requestState }: Partial<InputRequiredResult>,
    context: ToolContext,
    signal: AbortSignal,
  ): Promise<object> {
    const answers = await Promise.all(
      Object.entries(inputRequests).map(async ([key, { method, params: form }]) => {
        if (method !== 'elicitation/create')
          throw new Error(
            `The server asked for ${method}, but only questions to the user (elicitation/create) are supported.`,
          );
        return [key, await this.#ask(form, [context], signal)] as const;
      }),
    );
    return {
      ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) }),
      ...without({ requestState }),
    };
  }

  async #ask(
    params: ElicitParams,
    calls: readonly ToolContext[],
    ofRequest: AbortSignal,
  ): Promise<ElicitResult> {
    const [first] = calls;
    const { toolName = 'the question', principal, signal: ofCall } = first ?? {};
    const names = calls.flatMap(({ callId: id, toolName: name }) =>
      id === undefined || name === undefined ? [] : [{ id, toolName: name }],
    );
    const isOnly = calls.length === 1;
    const signal = AbortSignal.any([ofRequest, ...(isOnly && ofCall ? [ofCall] : [])]);
    const about = {
      ...(isOnly ? without({ call: names[0] }) : names.length === calls.length && { calls: names }),
      ...without({ principal }),
      signal,
    };
    const goOns = calls.map((each) => pauseLimits(each.signal));
    try {
      const answered = (async () => this.onElicit(this.server, params, about))().catch(hidden);
      const { action, content = {} } = await untilAborted(answered, signal, toolName);
      if (action !== 'accept') return { action };
      const filled = withSchemaDefaults(params.requestedSchema ?? {}, content);
      return { action, content: filled as NonNullable<ElicitResult['content']> };
    } finally {
      for (const goOn of goOns) goOn();
    }
  }
}

/** The server sees the message that is thrown. The program's errors may contain secrets. */
function hidden(cause: unknown): never {
  if (isToolError(cause)) throw cause;
  throw new Error(
    "The question couldn't be answered, because the program's onElicit function failed.",
    { cause },
  );
}
