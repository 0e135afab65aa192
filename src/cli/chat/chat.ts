import { resolve } from 'node:path';
import type { ChatEngine } from '../../chat/chat-engine.js';
import type { ChatEvent } from '../../chat/chat-result.js';
import { Session } from '../../chat/session/session.js';
import { outcomeToJson } from '../execute/show-calls.js';
import { withExecutor } from '../execute/with-executor.js';
import { MemoryBlobStore } from '../../state/blob-store.js';
import { DirectoryBlobStore } from '../../state/directory-blob-store.js';
import type { ImportOptions } from '../../load/import-modules.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import {
  addExecutionOptions,
  callContextOf,
  positiveInteger,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { plainJson, paint, plainLine, type Dialog } from '../terminal/terminal.js';
import { ChatView } from './chat-view.js';
import { demoModel, exampleCall } from './demo-model.js';
import { loadModel } from './load-model.js';
import { DEMO, SessionFile } from './session-file.js';
import { talk } from './talk.js';

/** The lines that say how the demonstration is given a model. */
const DEMONSTRATION: readonly string[] = [
  'Demonstration: a script answers, calls are real. A model: --model ./model.mjs',
  "  import { openai } from '@ai-sdk/openai'; export default openai('gpt-5-mini');",
  '  OpenAI     npm install ai @ai-sdk/openai     OPENAI_API_KEY',
  '  Anthropic  npm install ai @ai-sdk/anthropic  ANTHROPIC_API_KEY',
  '  Google     npm install ai @ai-sdk/google     GOOGLE_GENERATIVE_AI_API_KEY',
  '  all, with  --model openai/gpt-5-mini, npm install ai, and AI_GATEWAY_API_KEY',
];

/** Talks with a model. */
export const CHAT_COMMANDS: CommandFamily = {
  chat: (command, { terminal, cwd, importOptions, onTools }) => {
    command
      .option(
        '--model <model>',
        'a file whose default export is a model of the AI SDK or a function, or provider/name (default: demo, a script that needs no key)',
      )
      .option('--system <text>', 'what the model is told before all messages')
      .option(
        '--session <file>',
        'keeps the conversation in a file, and goes on with the one that is there',
      )
      .option(
        '--max-turns <n>',
        'how often the model is asked before it must have answered (default: 8)',
        positiveInteger,
      )
      .option(
        '--max-tools <n>',
        'the model sees at most so many tools that fit, and one that finds others',
        positiveInteger,
      )
      .option('--manual', 'no tool is run: you answer every call')
      .option(
        '--accept-changed',
        'runs calls of a session although their tools are declared otherwise now',
      );
    const examples = [
      'chat',
      'chat "what is in this folder?"',
      'chat --model ./model.mjs --session talk.json',
    ];
    onTools(addExecutionOptions(command), examples, (loaded, options, words) =>
      chat(terminal, loaded, words, options, cwd, importOptions),
    );
  },
};

/** The options of `tooldex chat`. */
interface ChatCommandOptions {
  /** A file whose default export is a model, or the name of one as `provider/name`. */
  readonly model?: string;
  readonly system?: string;
  readonly session?: string;
  readonly maxTurns?: number;
  /** The most tools that the model sees; it finds others with a tool. */
  readonly maxTools?: number;
  /** Every call is answered by the user. */
  readonly manual?: boolean;
  readonly acceptChanged?: boolean;
  readonly json?: boolean;
}

/**
 * Lets a model use tools in a conversation at the terminal; without one, for as far as it goes alone.
 *
 * @param words the first request, if any.
 * @param options as the command line has them: those of `chat`, `persona`, `tools`, `manifests` and `mcp`.
 * @throws ToolError `INVALID_ARGUMENT`, `INVALID_SNAPSHOT`, `INVALID_STATE` and others, as sessions do.
 */
export async function chat(
  terminal: Dialog,
  { registry }: LoadedRegistry,
  words: readonly string[],
  options: CommandOptions,
  cwd: string,
  importOptions: ImportOptions = {},
): Promise<number> {
  const {
    model,
    system,
    maxTurns,
    maxTools,
    manual,
    acceptChanged,
    session: path,
    json = false,
  } = options as ChatCommandOptions;
  const named = model === undefined || model === DEMO ? undefined : model;
  const loaded = named === undefined ? undefined : await loadModel(named, cwd, importOptions);
  const file = path === undefined ? undefined : new SessionFile(path, cwd);
  const session = file === undefined ? Session.create() : await file.open(model);
  // Calls that need approval stay pending: the session has them on record before the user is asked, and takes the interrupts itself.
  const execution = { ...options, asks: false };
  return withExecutor(
    terminal,
    registry,
    execution,
    () => undefined,
    async ({ executor }) => {
      const view = new ChatView(terminal, executor.registry);
      const example = named === undefined ? await exampleCall(executor) : undefined;
      const engine: ChatEngine = {
        model: loaded ?? demoModel((name) => registry.has(name), example),
        executor,
        ...callContextOf(options),
        ...(system !== undefined && { system }),
        ...(maxTurns !== undefined && { maxTurns }),
        ...(maxTools !== undefined && { selectTools: { maxTools } }),
        ...(manual === true && { mode: 'manual' }),
        // Beside the file, which would hold every image as text.
        blobs:
          path === undefined
            ? new MemoryBlobStore()
            : new DirectoryBlobStore(`${resolve(cwd, path)}.blobs`, { ttlMs: SESSION_LIFE_MS }),
        onEvent: json
          ? (event) => terminal.out(plainJson(eventToJson(event)))
          : (event) => view.show(event),
      };
      const alone = !terminal.interactive || json;
      const about =
        named === undefined
          ? [
              ...DEMONSTRATION,
              ...(example ? [`A request such as ${plainLine(example)} calls that tool.`] : []),
            ]
          : [`The model is ${plainLine(named)}.`];
      const { length: before } = session.messages;
      const told = [
        ...about,
        ...(before === 0 ? [] : [`The conversation has ${before} messages.`]),
        'Ctrl-C stops a turn, Ctrl-D leaves.',
      ];
      const shown = alone ? about.slice(0, named === undefined ? 1 : 0) : told;
      if (!json) for (const line of shown) terminal.err(paint(terminal, 'dim', line));
      const keep = async (current: Session) => file?.keep(current);
      const run = { stream: true, acceptChangedTools: acceptChanged === true, onCheckpoint: keep };
      const prompt = words.length === 0 ? undefined : words.join(' ');
      return talk({ terminal, engine, executor, view, alone, json, run, keep }, session, prompt);
    },
  );
}

/** Milliseconds: a year. */
const SESSION_LIFE_MS = 365 * 24 * 3_600_000;

function eventToJson(event: ChatEvent): object {
  return event.type === 'tool-completed'
    ? { ...event, outcome: outcomeToJson(event.outcome) }
    : event;
}
