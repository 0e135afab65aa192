import type { ChatEngine } from '../../chat/chat-engine.js';
import type { RunSessionOptions, Session } from '../../chat/session/session.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { Dialog } from '../terminal/terminal.js';
import type { ChatView } from './chat-view.js';

/** The options of `tooldex chat`. */
export interface ChatCommandOptions {
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
  /** Decisions about pending calls: the id of the call, and `=` with a value or reason. */
  readonly answer?: readonly string[];
  readonly approve?: readonly string[];
  readonly deny?: readonly string[];
  readonly rerun?: readonly string[];
  readonly json?: boolean;
}

/** A conversation at the terminal: what it talks with, and where it is kept. */
export interface ChatSetup {
  readonly terminal: Dialog;
  readonly engine: ChatEngine;
  readonly executor: ToolExecutor;
  readonly view: ChatView;
  readonly options: ChatCommandOptions;
  /** The options of every run: streamed, and kept at every step. */
  readonly run: RunSessionOptions;
  /** Keeps a session after decisions, where there is a file for it. */
  readonly keep: (session: Session) => Promise<void>;
  readonly isKept: boolean;
  /** The lines that say what the model is. */
  readonly about: readonly string[];
}
