import { createReadStream, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Session } from '../../chat/session/session.js';
import type { ChatEngine } from '../../chat/chat-engine.js';
import type { ChatPending } from '../../chat/chat-state.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import { command, type Context } from '../command/command.js';
import { askQuestion, askToConfirm, typedValue } from '../execute/ask-user.js';
import { pendingLines } from '../execute/shown-call.js';
import { withExecutor } from '../execute/with-executor.js';
import { importModel } from './import-model.js';
import { withTools } from '../load/load-registry.js';
import { parseJson } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import {
  amount,
  flag,
  given,
  RUN_OPTIONS,
  textOption,
  type OptionValues,
} from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import {
  paint,
  plainJson,
  plainText,
  readBounded,
  report,
  type Dialog,
} from '../terminal/terminal.js';
import { codeOf, wrongUsage } from '../terminal/wrong-usage.js';
import { chatPrinter } from './chat-printer.js';
import { demoModel, demoNote, MODELS } from './demo-model.js';

const OPTIONS = {
  ...RUN_OPTIONS,
  model: textOption(
    '<model>',
    'a file that exports an AI SDK model or a function, or provider/name',
  ),
  system: textOption('<text>', 'the instructions that the model reads before all messages'),
  session: textOption('<file>', 'store the conversation in a file, and continue it the next time'),
  maxTurns: amount('<n>', 'the maximum number of model calls per turn (default: 8)', { least: 1 }),
  maxTools: amount('<n>', 'offer the model this many tools, and one that finds more', { least: 1 }),
  manual: flag('run no tools: you type every result'),
};
/** The maximum size of a session file. */
const MAX_BYTES = 64 * 2 ** 20;

export const commands = {
  chat: command({
    options: OPTIONS,
    examples: [
      'chat',
      'chat "what is in this folder?"',
      'chat --model ./model.mjs --session s.json',
    ],
    notes: MODELS,
    run: (context) =>
      withTools(context, {}, ({ registry }) =>
        // Calls that need approval stay pending, so the session records them before the user is asked.
        withExecutor(context, registry, false, async ({ executor, call }) => {
          const { terminal, cwd, options } = context;
          const { model, system, maxTurns, maxTools, manual, session: file, json } = options;
          const path = file === undefined ? undefined : resolve(cwd, file);
          const isDemo = model === undefined;
          const example = registry.getByAccessMode('readonly')[0]?.name ?? 'read_file';
          const named = isDemo ? undefined : await importModel(model, context);
          if (!json && (isDemo || terminal.interactive))
            terminal.err(paint('dim', isDemo ? demoNote(example) : `The model is ${model}.`));
          const engine = {
            model: isDemo ? demoModel(registry, example) : (named as ChatEngine['model']),
            executor,
            ...call,
            onEvent: chatPrinter(terminal, json),
            ...given({ system, maxTurns, selectTools: maxTools && { maxTools } }),
            ...(manual && { mode: 'manual' as const }),
          };
          return talk(context, engine as Talking, path);
        }),
      ),
  }),
};

type Talking = ChatEngine & { readonly executor: ToolExecutor };

/**
 * Chats until the user leaves. Without an interactive terminal, the chat ends when the model has
 * answered or a user is needed.
 */
async function talk(
  { terminal, words, options }: Context<OptionValues<typeof OPTIONS>>,
  engine: Talking,
  path: string | undefined,
): Promise<number> {
  const isAlone = !terminal.interactive || options.json;
  const keep = (kept: Session) =>
    path === undefined ? Promise.resolve() : keepSession(path, kept);
  let session = await openSession(path);
  let said = words.join(' ') || undefined;
  if (isAlone && said === undefined && session.messages.length === 0)
    throw wrongUsage('Expected a prompt after the command.');
  for (;;) {
    const interrupt = new AbortController();
    const { signal } = interrupt;
    const stopListening = terminal.onInterrupt(() => interrupt.abort());
    const run = { signal, stream: true, onCheckpoint: keep };
    let goesOn = said !== undefined || isUnfinished(session);
    while (goesOn && !signal.aborted) {
      const [pending] = session.pending;
      if (pending !== undefined && said === undefined) {
        const decided = isAlone
          ? undefined
          : await decide(terminal, engine, session, pending, signal);
        if (decided !== undefined) await keep((session = decided));
        goesOn = decided !== undefined;
        continue;
      }
      const ran = await (said !== undefined
        ? session.reply(engine, said, isAlone ? run : { ...run, open: 'deny' })
        : session.status === 'error'
          ? session.retry(engine, run)
          : session.continue(engine, run));
      if (ran.refused !== undefined) throw ran.refused;
      ({ session } = ran);
      said = undefined;
      goesOn = !isAlone && session.pending.length > 0;
    }
    stopListening();
    if (isAlone && signal.aborted) return EXIT.interrupted;
    reportSession(terminal, session, options.json);
    if (!isAlone) terminal.err('');
    const line = isAlone ? undefined : await terminal.ask('› ');
    if (line === undefined) return exitCodeOf(session);
    said = line.trim() === '' ? undefined : line;
  }
}

async function openSession(path: string | undefined): Promise<Session> {
  if (path === undefined || !existsSync(path)) return Session.create();
  const stored = await readBounded(createReadStream(path), MAX_BYTES, path);
  return Session.fromJSON(parseJson(stored, path));
}

/** Writes a session file that only its owner can read. */
async function keepSession(path: string, session: Session): Promise<void> {
  await replaceFile(path, `${JSON.stringify(session)}\n`, 0o600).catch((error: unknown) => {
    throw wrongUsage(`Could not write --session ${path}: ${codeOf(error)}.`, error);
  });
}

/** Returns true if a turn can continue without new text: it has open calls, or the model failed. */
function isUnfinished({ status, haltedReason, messages }: Session): boolean {
  return messages.length > 0 && (status !== 'completed' || haltedReason === 'cancelled');
}

/**
 * Returns the session after the user has decided about a pending call, or `undefined` if nobody
 * answers.
 */
async function decide(
  terminal: Dialog,
  { executor }: Talking,
  session: Session,
  pending: ChatPending,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const { callId, kind } = pending;
  const asked = async () => {
    if (kind === 'approval') {
      const answer = await askToConfirm(terminal, executor, pending, signal);
      if (answer === false) return signal.aborted ? undefined : session.deny(callId);
      return session.approve(callId, answer === true ? {} : answer);
    }
    if (kind === 'question') {
      const answer = await askQuestion(terminal, pending, signal);
      return answer === undefined ? undefined : session.answer(callId, answer as string);
    }
    // Enter continues the turn, and with it the calls that Ctrl-C kept from starting.
    if (kind === 'uncertain' && pending.startedAt === 0) return session.rerun(callId);
    for (const line of pendingLines(terminal, pending)) terminal.err(line);
    const result = await typedValue(terminal, kind === 'uncertain', signal);
    if (result === undefined) return undefined;
    return result === 'r' && kind === 'uncertain'
      ? session.rerun(callId)
      : session.submitToolResult(callId, result);
  };
  const decided = await asked();
  if (decided?.ok !== false) return decided?.session;
  report(terminal, 'red', 'refused', decided.error.message);
  return session.expire(Date.now()).session;
}

/** Reports the state of the session, unless the model has just answered. */
function reportSession(terminal: Dialog, session: Session, json: boolean): void {
  const { id, status, haltedReason = '', pending, error } = session;
  if (json) return terminal.out(plainJson({ type: 'session', id, status, haltedReason, pending }));
  if (status === 'error') report(terminal, 'red', 'error', error!.message);
  else if (status === 'completed' && haltedReason !== 'completed')
    terminal.err(
      `stopped: ${haltedReason === 'max_turns' ? 'reached --max-turns' : plainText(haltedReason)}`,
    );
  if (!terminal.interactive)
    for (const line of pending.flatMap((each) => pendingLines(terminal, each))) terminal.err(line);
  if (terminal.interactive && isUnfinished(session))
    terminal.err('Press Enter to continue this turn, or type something to abandon it.');
  else if (pending.length > 0)
    terminal.err('To decide, run tooldex chat --session <file> in a terminal.');
}

function exitCodeOf({ pending, status, haltedReason }: Session): number {
  if (pending.length > 0) return EXIT.unconfirmed;
  return status === 'error' || haltedReason === 'max_turns' ? EXIT.findings : EXIT.ok;
}
