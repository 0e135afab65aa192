import { createReadStream, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  Session,
  type ChatEngine,
  type ChatEvent,
  type ChatPending,
  type DecisionResult,
} from '../../chat.js';
import type { Json } from '../../core/plain-data.js';
import { DirectoryBlobStore } from '../../state/directory-blob-store.js';
import { command, type Context } from '../command.js';
import { askQuestion, askToConfirm } from '../execute/ask-user.js';
import {
  cut,
  explanationLines,
  outcomeToJson,
  STATUS_STYLES,
  valueText,
} from '../execute/show-calls.js';
import { callBlock, callLines, choiceLines } from '../execute/shown-call.js';
import { withExecutor, type Execution } from '../execute/with-executor.js';
import { importDefault } from '../load/import-default.js';
import { withTools } from '../load/load-registry.js';
import { parseJson } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import { amount, flag, given, RUN_OPTIONS, text, type Values } from '../options.js';
import { EXIT } from '../terminal/exit-codes.js';
import {
  paint,
  plainJson,
  plainText,
  readBounded,
  type Dialog,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { demoModel, exampleCall } from './demo-model.js';

const OPTIONS = {
  ...RUN_OPTIONS,
  model: text('<model>', 'a file that exports an AI SDK model or a function, or provider/name'),
  system: text('<text>', 'instructions before all messages'),
  session: text('<file>', 'keep the conversation in a file, and go on with the one in it'),
  maxTurns: amount('<n>', 'how often the model may be asked (default: 8)', { least: 1 }),
  maxTools: amount('<n>', 'show the model this many tools, and one that finds more', { least: 1 }),
  manual: flag('run no tool: you give every result'),
  acceptChanged: flag('run calls of a session even if their tools have changed'),
};
type ChatContext = Context<Values<typeof OPTIONS>>;

const MODELS = `  model.mjs: import { openai } from '@ai-sdk/openai'; export default openai('gpt-5-mini');
  OpenAI     npm install ai @ai-sdk/openai     OPENAI_API_KEY
  Anthropic  npm install ai @ai-sdk/anthropic  ANTHROPIC_API_KEY
  Google     npm install ai @ai-sdk/google     GOOGLE_GENERATIVE_AI_API_KEY
  any        npm install ai                    AI_GATEWAY_API_KEY, --model openai/gpt-5-mini`;
const DEMO = 'Demo: a script answers, and its calls are real. For a model: --model ./model.mjs';
/** The maximum size of a session file. */
const MAX_BYTES = 64 * 2 ** 20;
/** How long images stay next to the session after their last use: a year. */
const BLOB_LIFE_MS = 365 * 24 * 3_600_000;

export const chat = command({
  options: OPTIONS,
  examples: [
    'chat',
    'chat "what is in this folder?"',
    'chat --model ./model.mjs --session talk.json',
  ],
  notes: `\nModels:\n${MODELS}`,
  run: (context) =>
    withTools(context, {}, ({ registry }) =>
      // Calls that need approval stay pending: the session records them before you are asked.
      withExecutor(context, registry, { asks: false }, async ({ executor, call }) => {
        const { terminal, cwd, imports, options } = context;
        const { model, system, maxTurns, maxTools, manual, session: file } = options;
        const path = file === undefined ? undefined : resolve(cwd, file);
        const isFile = model !== undefined && /^[./~]|[\\]|\.[cm]?[jt]s$/.test(model);
        const named = isFile ? await importDefault('--model', model, cwd, imports) : model;
        if (model !== undefined && !isModel(named))
          throw wrongUsage(`--model needs an AI SDK model, a function or provider/name: ${model}.`);
        const engine: ChatEngine = {
          model: (named as ChatEngine['model'] | undefined) ?? demoModel(registry),
          executor,
          ...call,
          onEvent: options.json
            ? (event) => terminal.out(plainJson(eventToJson(event)))
            : (event) => showEvent(terminal, event),
          ...given({
            system,
            maxTurns,
            mode: manual ? ('manual' as const) : undefined,
            selectTools: maxTools === undefined ? undefined : { maxTools },
            blobs:
              path === undefined
                ? undefined
                : new DirectoryBlobStore(`${path}.blobs`, { ttlMs: BLOB_LIFE_MS }),
          }),
        };
        const isAlone = !terminal.interactive || options.json;
        const hints = [
          model === undefined ? DEMO : `The model is ${model}.`,
          ...(isAlone || model !== undefined ? [] : [MODELS, `Try: ${exampleCall(registry)}`]),
          ...(isAlone ? [] : ['Ctrl-C stops a turn, Ctrl-D leaves.']),
        ];
        if (!options.json && !(isAlone && model !== undefined))
          terminal.err(paint(terminal, 'dim', hints.join('\n')));
        return talk(context, engine, executor, path);
      }),
    ),
});

function isModel(value: unknown): boolean {
  if (typeof value === 'string') return /^[\w.-]+\/\S+$/.test(value);
  return typeof value === 'function' || (value as object | undefined) instanceof Object;
}

/** Talks until the user leaves; without a user until the model has answered, or a user is needed. */
async function talk(
  { terminal, words, options }: ChatContext,
  engine: ChatEngine,
  executor: Execution['executor'],
  path: string | undefined,
): Promise<number> {
  const isAlone = !terminal.interactive || options.json;
  const keep = async (session: Session) =>
    path === undefined ? undefined : replaceFile(path, `${JSON.stringify(session)}\n`, 0o600);
  let session = await openSession(path);
  let said = words.length === 0 ? undefined : words.join(' ');
  if (isAlone && said === undefined && session.messages.length === 0)
    throw wrongUsage('Expected a prompt after the command, got nothing.');
  for (;;) {
    const interrupt = new AbortController();
    let interrupts = 0;
    const stopListening = terminal.onInterrupt(() => (interrupts++, interrupt.abort()));
    const { signal } = interrupt;
    const run = {
      signal,
      stream: true,
      onCheckpoint: keep,
      acceptChangedTools: options.acceptChanged,
    };
    if (said !== undefined && !isAlone) session = await dropped(session, engine);
    let goesOn = said !== undefined || isUnfinished(session);
    while (goesOn && !signal.aborted) {
      const [pending] = session.pending;
      if (pending !== undefined && said === undefined) {
        const decided = isAlone
          ? undefined
          : await decide(terminal, executor, session, pending, signal);
        if (decided !== undefined) await keep((session = decided));
        goesOn = decided !== undefined;
        continue;
      }
      const { session: next, refused } = await (said !== undefined
        ? session.reply(engine, said, run)
        : session.status === 'error'
          ? session.retry(engine, run)
          : session.continue(engine, run));
      if (refused !== undefined) throw refused;
      session = next;
      said = undefined;
      goesOn = !isAlone && session.pending.length > 0;
    }
    stopListening();
    if (interrupts > 1 || (isAlone && interrupts > 0)) return EXIT.interrupted;
    report(terminal, session, options.json, isAlone);
    if (isAlone) return exitCodeOf(session);
    const line = await terminal.ask('\n› ');
    if (line === undefined) return exitCodeOf(session);
    said = line.trim() === '' ? undefined : line;
  }
}

async function openSession(path: string | undefined): Promise<Session> {
  if (path === undefined || !existsSync(path)) return Session.create();
  return Session.fromJSON(
    parseJson(await readBounded(createReadStream(path), MAX_BYTES, path), path),
  );
}

/** Returns true if a turn can go on without new text: calls are open, or the model failed. */
function isUnfinished({ status, haltedReason, messages }: Session): boolean {
  return messages.length > 0 && (status !== 'completed' || haltedReason === 'cancelled');
}

/** Returns a session that takes new text: its open calls are denied, so that none of them runs. */
async function dropped(session: Session, engine: ChatEngine): Promise<Session> {
  if (!isUnfinished(session)) return session;
  let closed = session;
  const last = session.messages.findLast(({ role }) => role === 'assistant');
  for (const part of Array.isArray(last?.content) ? last.content : [])
    if (part.type === 'tool-call')
      closed = closed.deny(part.toolCallId, 'the user dropped this turn').session;
  if (closed.status !== 'error')
    ({ session: closed } = await closed.continue({ ...engine, haltWhen: () => true }));
  const { id, context, messages } = closed;
  return Session.create({ id, context, messages });
}

/** Returns the session once the user has decided about a pending call; `undefined` if nobody answers. */
async function decide(
  terminal: Dialog,
  executor: Execution['executor'],
  session: Session,
  pending: ChatPending,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const { callId } = pending;
  const typed = async (question: string) => {
    for (const line of pendingLines(terminal, pending)) terminal.err(line);
    for (;;) {
      const line = await terminal.ask(question, { signal });
      if (line === undefined || line.trim() !== '') return line;
    }
  };
  let decided: DecisionResult | undefined;
  if (pending.kind === 'approval') {
    const answer = await askToConfirm(terminal, executor, pending, signal);
    if (signal.aborted) return undefined;
    decided =
      answer === false
        ? session.deny(callId)
        : session.approve(callId, answer === true ? {} : answer);
  } else if (pending.kind === 'question') {
    const answer = await askQuestion(terminal, pending, signal);
    decided = answer === undefined ? undefined : session.answer(callId, answer as string);
  } else {
    const isUncertain = pending.kind === 'uncertain';
    const line = await typed(`Result (JSON or text${isUncertain ? '; r runs it again' : ''}): `);
    if (line !== undefined)
      decided =
        isUncertain && line.trim() === 'r'
          ? session.rerun(callId)
          : session.submitToolResult(callId, valueIn(line));
  }
  if (decided?.ok === false) {
    terminal.err(`${paint(terminal, 'red', 'refused')} ${plainText(decided.error.message)}`);
    return session.expire(Date.now()).session;
  }
  return decided?.session;
}

function valueIn(line: string): Json {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return line;
  }
}

/** Says where the session stands, unless the model has just answered. */
function report(terminal: Terminal, session: Session, json: boolean, isAlone: boolean): void {
  const { id, status, haltedReason, pending, error } = session;
  if (json) return terminal.out(plainJson({ type: 'session', id, status, haltedReason, pending }));
  if (status === 'error')
    terminal.err(`${paint(terminal, 'red', 'error')} ${plainText(error?.message ?? '')}`);
  else if (haltedReason === 'max_turns')
    terminal.err('stopped: the model was asked as often as --max-turns allows');
  else if (status === 'completed' && haltedReason !== 'completed')
    terminal.err(`halt ${plainText(haltedReason ?? '')}`);
  if (isAlone)
    for (const line of pending.flatMap((each) => pendingLines(terminal, each))) terminal.err(line);
  if (pending.length > 0 && isAlone)
    terminal.err(
      'To decide, run tooldex chat --session <file> in a terminal. --yes runs calls without asking.',
    );
  else if (isUnfinished(session))
    terminal.err('Press Enter to go on with this turn, or type something to drop it.');
}

function exitCodeOf({ pending, status, haltedReason }: Session): number {
  if (pending.length > 0) return EXIT.unconfirmed;
  return status === 'error' || haltedReason === 'max_turns' ? EXIT.findings : EXIT.ok;
}

function pendingLines(terminal: Terminal, pending: ChatPending): readonly string[] {
  if (pending.kind === 'approval') return callLines(terminal, pending);
  if (pending.kind === 'question')
    return [
      `${pending.toolName} asks: ${plainText(pending.question)}`,
      ...choiceLines(terminal, pending),
    ];
  const note =
    pending.kind === 'manual'
      ? 'do this, and give the result'
      : 'was started, and nobody knows its outcome';
  return callBlock(terminal, pending.toolName, paint(terminal, 'yellow', note), pending.input);
}

/** Shows a chat as it happens: the model's text as results, calls as diagnostics. */
function showEvent(terminal: Terminal, event: ChatEvent): void {
  const line = (mark: string, name: string, rest: string) =>
    terminal.err(`  ${mark} ${cut(`${name}  ${rest}`, Math.min(terminal.columns, 120) - 4)}`);
  if (event.type === 'text-delta') terminal.write(plainText(event.text));
  else if (event.type === 'model-answered' && event.message.content.length > 0) terminal.out('');
  else if (event.type === 'tool-started') line('▸', event.toolName, JSON.stringify(event.input));
  else if (event.type === 'tool-completed') {
    const { outcome } = event;
    const mark = outcome.status === 'ok' || outcome.status === 'halt' ? '✓' : '✗';
    const told = [valueText(terminal, outcome), ...explanationLines(terminal, outcome)].join(' ');
    line(paint(terminal, STATUS_STYLES[outcome.status], mark), event.toolName, told);
  }
}

function eventToJson(event: ChatEvent): object {
  return event.type === 'tool-completed'
    ? { ...event, outcome: outcomeToJson(event.outcome) }
    : event;
}
