import type { Command } from 'commander';
import { addExecutionOptions } from '../../options/execution-options.js';
import { positiveInteger } from '../../options/filter-options.js';

/** What `tooldex chat` does, as given on the command line. */
export interface ChatCommandOptions {
  /** A file whose default export is a model, or the name of one as `provider/name`. */
  readonly model?: string;
  readonly system?: string;
  readonly session?: string;
  readonly maxTurns?: number;
  /** How many tools the model sees at most; it finds others with a tool. */
  readonly maxTools?: number;
  /** Every call waits for the person. */
  readonly manual?: boolean;
  readonly acceptChanged?: boolean;
  /** Decisions about calls that wait: the id of the call, and `=` with a value or reason. */
  readonly answer?: readonly string[];
  readonly approve?: readonly string[];
  readonly deny?: readonly string[];
  readonly rerun?: readonly string[];
  readonly json?: boolean;
}

const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Adds the options of `tooldex chat` to its command. */
export function addChatOptions(command: Command): Command {
  return addExecutionOptions(
    command
      .option('--model <model>', 'a file whose default export is a model of the AI SDK or a function, or provider/name (default: demo, a script that needs no key)')
      .option('--system <text>', 'what the model is told before all messages')
      .option('--session <file>', 'keeps the conversation in a file, and goes on with the one that is there')
      .option('--max-turns <n>', 'how often the model is asked before it must have answered (default: 8)', positiveInteger)
      .option('--max-tools <n>', 'the model sees at most so many tools that fit, and one that finds others', positiveInteger)
      .option('--manual', 'no tool is run: you answer every call')
      .option('--accept-changed', 'runs calls of a session although their tools are declared otherwise now')
      .option('--answer <call=value>', 'the answer to a question, or the result of a call as JSON or text; may be repeated', repeated)
      .option('--approve <call>', 'lets a call run that waits for a yes; call=<json> gives it other arguments', repeated)
      .option('--deny <call>', 'says no to a call that waits; call=<text> gives the reason', repeated)
      .option('--rerun <call>', 'runs a call again whose outcome nobody knows', repeated),
  );
}
