import type { ChatEngine } from '../../../chat/chat-engine.js';
import type { ChatEvent } from '../../../chat/chat-event.js';
import { Session } from '../../../chat/session/session.js';
import { outcomeToJson } from '../../execute/show-outcome.js';
import { withExecutor } from '../../execute/with-executor.js';
import type { ImportOptions } from '../../load/import-modules.js';
import type { LoadedRegistry } from '../../load/loaded-registry.js';
import { executionOptionsOf, personaOf } from '../../options/execution-options.js';
import { plainJson } from '../../plain-text.js';
import { wrapWords } from '../../table.js';
import { paint, type Dialog } from '../../terminal.js';
import type { ChatCommandOptions } from './chat-options.js';
import type { ChatSetup } from './chat-setup.js';
import { ChatView } from './chat-view.js';
import { converse } from './converse.js';
import { CHOOSE_NAME, demoModel } from './model/demo-model.js';
import { loadModel } from './model/load-model.js';
import { runOnce } from './run-once.js';
import { DEMO, SessionFile } from './session-file.js';

const MOST_COLUMNS = 100;

/**
 * Lets a model use tools in a conversation at the terminal; without a person, for as far as it goes alone.
 *
 * @param words the first request, if any.
 * @param options as the command line has them: those of `addChatOptions`, `persona`, `tools`, `manifests` and `mcp`.
 * @throws ToolError `INVALID_ARGUMENT`, `INVALID_SNAPSHOT`, `INVALID_STATE` and others, as sessions do.
 */
export async function chat(terminal: Dialog, { registry }: LoadedRegistry, words: readonly string[], options: Readonly<Record<string, unknown>>, cwd: string, importOptions: ImportOptions = {}): Promise<number> {
  const given = options as ChatCommandOptions;
  const isDemo = given.model === undefined || given.model === DEMO;
  const prompt = words.length === 0 ? undefined : words.join(' ');
  const model = isDemo ? demoModel : await loadModel(given.model, cwd, importOptions);
  const areBundled = ['tools', 'manifests', 'mcp'].every((place) => options[place] === undefined);
  if (isDemo && areBundled) registry.register(CHOOSE_NAME);
  const file = given.session === undefined ? undefined : new SessionFile(given.session, cwd);
  const session = file === undefined ? Session.create() : await file.open(given.model);

  return withExecutor(withoutQuestions(terminal), registry, executionOptionsOf(options), () => undefined, async ({ executor }) => {
    const view = new ChatView(terminal, executor.registry);
    const { system, maxTurns, maxTools, manual, json } = given;
    const engine: ChatEngine = {
      model,
      executor,
      ...personaOf(options),
      ...(system !== undefined && { system }),
      ...(maxTurns !== undefined && { maxTurns }),
      ...(maxTools !== undefined && { selectTools: { maxTools } }),
      ...(manual === true && { mode: 'manual' }),
      onEvent: json === true ? (event) => terminal.out(plainJson(eventToJson(event))) : (event) => view.show(event),
    };
    const keep = async (current: Session) => file?.keep(current);
    const run = { stream: true, acceptChangedTools: given.acceptChanged === true, onCheckpoint: keep };
    const setup: ChatSetup = { terminal, engine, executor, view, options: given, run, keep, isKept: file !== undefined };
    if (!terminal.interactive || json === true) return runOnce(setup, session, prompt);
    for (const line of wrapWords(greeting(isDemo ? undefined : given.model, session), Math.min(terminal.columns, MOST_COLUMNS))) terminal.err(paint(terminal, 'dim', line));
    return converse(setup, session, prompt);
  });
}

/** Calls that need a yes are held: the session has them on record before anybody is asked, and takes the interrupts itself. */
function withoutQuestions(terminal: Dialog): Dialog {
  const { color, columns } = terminal;
  return {
    out: (text) => terminal.out(text),
    err: (text) => terminal.err(text),
    color,
    columns,
    interactive: false,
    ask: () => Promise.resolve(undefined),
    readInput: (maxBytes) => terminal.readInput(maxBytes),
    onInterrupt: () => () => undefined,
  };
}

function greeting(model: string | undefined, { messages }: Session): string {
  const who = model === undefined ? 'The model is a script, its calls are real. A request like “git_status {}” calls that tool; --model takes a real model.' : `The model is ${model}.`;
  const before = messages.length === 0 ? '' : ` The conversation has ${messages.length} messages.`;
  return `${who}${before} Ctrl-C stops a turn, Ctrl-D leaves.`;
}

function eventToJson(event: ChatEvent): object {
  return event.type === 'tool-completed' ? { ...event, outcome: outcomeToJson(event.outcome) } : event;
}
