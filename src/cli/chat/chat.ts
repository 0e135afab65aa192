import { resolve } from 'node:path';
import type { ChatEngine } from '../../chat/chat-engine.js';
import type { ChatEvent } from '../../chat/chat-result.js';
import { Session } from '../../chat/session/session.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { outcomeToJson } from '../execute/show-calls.js';
import { withExecutor } from '../execute/with-executor.js';
import { MemoryBlobStore } from '../../state/blob-store.js';
import { DirectoryBlobStore } from '../../state/directory-blob-store.js';
import { importModules, type ImportOptions } from '../../load/import-modules.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import {
  addExecutionOptions,
  callContextOf,
  positiveInteger,
  repeated,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { plainJson, paint, plainLine, type Dialog } from '../terminal/terminal.js';
import { ChatView } from './chat-view.js';
import type { ChatCommandOptions, ChatSetup } from './chat-setup.js';
import { converse } from './converse.js';
import { CHOOSE_NAME, demoModel, exampleCall } from './demo-model.js';
import { runOnce } from './run-once.js';
import { DEMO, SessionFile } from './session-file.js';

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
      )
      .option(
        '--answer <call=value>',
        'the answer to a question, or the result of a call as JSON or text; may be repeated',
        repeated,
      )
      .option(
        '--approve <call>',
        'approves a pending call; call=<json> gives it other arguments',
        repeated,
      )
      .option('--deny <call>', 'denies a pending call; call=<text> gives the reason', repeated)
      .option('--rerun <call>', 'runs a call again whose outcome is not known', repeated);
    const examples = [
      'chat',
      'chat "what is in this folder?"',
      'chat --model ./model.mjs --session talk.json',
      'chat --session talk.json --approve call-2',
    ];
    onTools(addExecutionOptions(command), examples, (loaded, options, words) =>
      chat(terminal, loaded, words, options, cwd, importOptions),
    );
  },
};

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
  const given = options as ChatCommandOptions;
  const isDemo = given.model === undefined || given.model === DEMO;
  const prompt = words.length === 0 ? undefined : words.join(' ');
  const loadedModel = isDemo ? undefined : await loadModel(given.model, cwd, importOptions);
  const areBundled = ['tools', 'manifests', 'mcp'].every((place) => options[place] === undefined);
  if (isDemo && areBundled) registry.register(CHOOSE_NAME);
  const file = given.session === undefined ? undefined : new SessionFile(given.session, cwd);
  const session = file === undefined ? Session.create() : await file.open(given.model);

  // Calls that need approval stay pending: the session has them on record before the user is asked, and takes the interrupts itself.
  return withExecutor(
    terminal,
    registry,
    { ...options, asks: false },
    () => undefined,
    async ({ executor }) => {
      const view = new ChatView(terminal, executor.registry);
      const { system, maxTurns, maxTools, manual, json } = given;
      const example = isDemo ? await exampleCall(executor) : undefined;
      const engine: ChatEngine = {
        model: loadedModel ?? demoModel((name) => registry.has(name), example),
        executor,
        ...callContextOf(options),
        ...(system !== undefined && { system }),
        ...(maxTurns !== undefined && { maxTurns }),
        ...(maxTools !== undefined && { selectTools: { maxTools } }),
        ...(manual === true && { mode: 'manual' }),
        // Beside the file, which would hold every image as text.
        blobs:
          given.session === undefined
            ? new MemoryBlobStore()
            : new DirectoryBlobStore(`${resolve(cwd, given.session)}.blobs`, {
                ttlMs: SESSION_LIFE_MS,
              }),
        onEvent:
          json === true
            ? (event) => terminal.out(plainJson(eventToJson(event)))
            : (event) => view.show(event),
      };
      const about = isDemo
        ? [
            ...DEMONSTRATION,
            ...(example === undefined
              ? []
              : [`A request such as ${plainLine(example)} calls that tool.`]),
          ]
        : [`The model is ${plainLine(given.model)}.`];
      const keep = async (current: Session) => file?.keep(current);
      const run = {
        stream: true,
        acceptChangedTools: given.acceptChanged === true,
        onCheckpoint: keep,
      };
      const setup: ChatSetup = {
        terminal,
        engine,
        executor,
        view,
        options: given,
        run,
        keep,
        isKept: file !== undefined,
        about,
      };
      const goesOnAlone = !terminal.interactive || json === true;
      const { length: before } = session.messages;
      const told = [
        ...about,
        ...(before === 0 ? [] : [`The conversation has ${before} messages.`]),
        '/help lists the commands; Ctrl-C stops a turn, Ctrl-D leaves.',
      ];
      if (json !== true)
        for (const line of goesOnAlone ? about.slice(0, isDemo ? 1 : 0) : told)
          terminal.err(paint(terminal, 'dim', line));
      return goesOnAlone ? runOnce(setup, session, prompt) : converse(setup, session, prompt);
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

const FILE = /^[./~]|[\\]|\.[cm]?[jt]s$/;

/**
 * Returns the model that `--model` names: the default export of a file, or a name for the AI SDK's gateway.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a file that cannot be imported or exports no model, and for other text.
 */
async function loadModel(
  text: string,
  cwd: string,
  options: ImportOptions,
): Promise<ChatEngine['model']> {
  if (!FILE.test(text)) {
    if (/^[\w.-]+\/\S+$/.test(text)) return text;
    throw invalidArgument('--model as a file (./model.mjs) or as provider/name', text);
  }
  for await (const { module, error } of importModules([text], cwd, options)) {
    if (module === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          '--model as a file that can be imported',
          `from ${text}: ${error instanceof Error ? error.message : 'an error'}`,
        ),
        { cause: error },
      );
    const model = defaultOf(module);
    if (isModel(model)) return model;
    throw invalidArgument(
      `a model of the AI SDK or a function as the default export of ${text}`,
      model,
    );
  }
  throw invalidArgument('--model as a file that can be imported', text);
}

/** CommonJS that was compiled from ES modules has its default export one level deeper. */
function defaultOf(module: object): unknown {
  const first: unknown = Object.hasOwn(module, 'default')
    ? (module as { readonly default: unknown }).default
    : undefined;
  return isPlainObject(first) && Object.hasOwn(first, 'default') ? first['default'] : first;
}

function isModel(value: unknown): value is ChatEngine['model'] {
  return (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && 'doGenerate' in value)
  );
}
