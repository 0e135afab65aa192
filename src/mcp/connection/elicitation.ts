import { without } from '../../core/plain-data.js';
import type {
  CallToolRequest,
  Client,
  ElicitResult,
  InputRequiredResult,
  RequestOptions,
} from '@modelcontextprotocol/client';
import { pauseLimits } from '../../core/time-limit.js';
import { untilAborted } from '../../execution/with-deadline.js';
import { withDefaults } from '../../tool/question.js';
import type { ToolContext } from '../../tool/tool-options.js';

// With the SDK's types, everyone who imports this package would have to install the SDK.

/**
 * Answers a question that a server asks the user during a call. The form is a JSON Schema of an
 * object with flat fields. If the user accepts, `content` has the fields that they filled in. The
 * form's defaults fill the rest.
 *
 * The time spent waiting for the answer doesn't count towards the call's timeout. `about`
 * identifies the call and its principal if they're known. A 2025-protocol server doesn't say which
 * of its running calls a question is about. If several principals have running calls at the server,
 * nobody is asked. `signal` aborts when the answer is no longer needed.
 */
export type OnElicit = (
  server: string,
  request: {
    readonly message: string;
    readonly requestedSchema?: Readonly<Record<string, unknown>>;
    readonly [field: string]: unknown;
  },
  about: {
    readonly call?: { readonly id: string; readonly toolName: string };
    readonly principal?: string;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}>;

/** Maximum number of rounds of questions in one call. The SDK has the same limit. */
const MOST_ROUNDS = 10;

type ElicitParams = Parameters<OnElicit>[1];

/** Forwards a server's questions to the user, for the calls of one session. */
export interface Elicitation {
  /**
   * Makes a call. Each time the server responds with questions, repeats the call with the answers
   * (2026-07-28 protocol).
   */
  call(
    client: Client,
    params: CallToolRequest['params'],
    options: RequestOptions & { readonly signal: AbortSignal },
    context: ToolContext,
  ): Promise<unknown>;
  /** Answers a question of a 2025-protocol server. Such a question doesn't identify its call. */
  answer(params: unknown, signal: AbortSignal): Promise<ElicitResult>;
}

export function elicitationOf(server: string, onElicit: OnElicit): Elicitation {
  /** The server's running calls. */
  const running = new Set<ToolContext>();

  const ask = async (
    params: ElicitParams,
    calls: readonly ToolContext[],
    given: AbortSignal,
  ): Promise<ElicitResult> => {
    const [first] = calls;
    const { callId: id, toolName, principal, signal: ofCall } = first ?? {};
    const only = calls.length === 1;
    const signal = AbortSignal.any([given, ...(only && ofCall ? [ofCall] : [])]);
    const about = {
      ...(only && id !== undefined && toolName !== undefined && { call: { id, toolName } }),
      ...without({ principal }),
      signal,
    };
    const goOns = calls.map((each) => pauseLimits(each.signal));
    try {
      const answered = (async () => onElicit(server, params, about))().catch((cause: unknown) => {
        // The server sees this message. The program's error may contain secrets.
        throw new Error(
          "The question couldn't be answered, because the program's onElicit function failed.",
          { cause },
        );
      });
      const { action, content = {} } = await untilAborted(
        answered,
        signal,
        toolName ?? 'the question',
      );
      if (action !== 'accept') return { action };
      const filled = withDefaults(params.requestedSchema ?? {}, content);
      return { action, content: filled as NonNullable<ElicitResult['content']> };
    } finally {
      for (const goOn of goOns) goOn();
    }
  };

  return {
    async call(client, params, options, context) {
      running.add(context);
      try {
        let next = params;
        for (let round = 1; round <= MOST_ROUNDS; round += 1) {
          const result = (await client.callTool(next, {
            ...options,
            allowInputRequired: true,
          })) as Partial<InputRequiredResult>;
          if (result.resultType !== 'input_required') return result;
          const { inputRequests = {}, requestState } = result;
          const asked = Object.entries(inputRequests);
          const answers = await Promise.all(
            asked.map(async ([key, { method, params: form }]) => {
              if (method !== 'elicitation/create')
                throw new Error(
                  `The server asked for ${method}, but only questions to the user (elicitation/create) are supported.`,
                );
              return [key, await ask(form, [context], options.signal)] as const;
            }),
          );
          next = {
            ...params,
            ...(asked.length > 0 && { inputResponses: Object.fromEntries(answers) }),
            ...without({ requestState }),
          };
        }
        throw new Error(
          `The server kept asking questions. The call was stopped after ${MOST_ROUNDS} rounds.`,
        );
      } finally {
        running.delete(context);
      }
    },
    async answer(params, signal) {
      const calls = [...running];
      // A user must not answer a question that is meant for someone else.
      if (new Set(calls.map(({ principal }) => principal)).size > 1) return { action: 'cancel' };
      return ask(params as ElicitParams, calls, signal);
    },
  };
}
