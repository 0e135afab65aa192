import type { Decided, Session } from '../../../chat/session/session.js';
import { ToolError } from '../../../core/errors.js';
import { plainLine } from '../../plain-text.js';
import type { ChatCommandOptions } from './chat-options.js';
import { jsonOrText } from './decide-pending.js';

type Decisions = Pick<ChatCommandOptions, 'answer' | 'approve' | 'deny' | 'rerun'>;

/** Whether the command line decides about calls. */
export function hasDecisions({ answer, approve, deny, rerun }: Decisions): boolean {
  return [answer, approve, deny, rerun].some((each) => each !== undefined);
}

/**
 * The session with all decisions of the command line; when one is refused, none is taken.
 *
 * @throws ToolError `INVALID_ARGUMENT` for arguments of an approval that are no JSON, and what the session says of a decision
 * that it refuses.
 */
export function withDecisions(session: Session, { answer = [], approve = [], deny = [], rerun = [] }: Decisions): Session {
  const steps: readonly ((current: Session) => Decided)[] = [
    ...answer.map((text) => (current: Session) => answered(current, text)),
    ...approve.map((text) => (current: Session) => approved(current, text)),
    ...deny.map((text) => (current: Session) => {
      const { callId, value } = split(session, text);
      return current.deny(callId, value);
    }),
    ...rerun.map((callId) => (current: Session) => current.rerun(callId)),
  ];
  return steps.reduce((current, step) => {
    const decided = step(current);
    if (!decided.ok) throw decided.error;
    return decided.session;
  }, session);

  function answered(current: Session, text: string): Decided {
    const { callId, value } = split(session, text);
    if (value === undefined) throw new ToolError('INVALID_ARGUMENT', `expected --answer as the id of a call, =, and the answer, found ${JSON.stringify(text)}`);
    const isQuestion = session.pending.some((pending) => pending.callId === callId && pending.kind === 'question');
    return isQuestion ? current.answer(callId, value) : current.submitToolResult(callId, jsonOrText(value));
  }

  function approved(current: Session, text: string): Decided {
    const { callId, value } = split(session, text);
    if (value === undefined) return current.approve(callId);
    try {
      return current.approve(callId, { input: JSON.parse(value) as unknown });
    } catch (error) {
      throw new ToolError('INVALID_ARGUMENT', `expected the arguments in --approve ${callId}=… as JSON, found ${plainLine((error as Error).message)}`, { cause: error });
    }
  }
}

/** The id of a call, and what stands after `=`. Ids are made by models and may have one themselves, so those that wait are tried first. */
function split({ pending }: Session, text: string): { readonly callId: string; readonly value?: string } {
  const waiting = pending.map(({ callId }) => callId).filter((callId) => text === callId || text.startsWith(`${callId}=`));
  const longest = waiting.reduce<string | undefined>((best, callId) => (best === undefined || callId.length > best.length ? callId : best), undefined);
  const end = longest?.length ?? text.indexOf('=');
  return end === -1 || end === text.length ? { callId: text } : { callId: text.slice(0, end), value: text.slice(end + 1) };
}
