import type { ChatEngine } from '../../../chat/chat-engine.js';
import type { RunSessionOptions, Session } from '../../../chat/session/session.js';
import type { ToolExecutor } from '../../../execution/tool-executor.js';
import type { Dialog } from '../../terminal.js';
import type { ChatCommandOptions } from './chat-options.js';
import type { ChatView } from './chat-view.js';

/** What a conversation at the terminal works with. */
export interface ChatSetup {
  readonly terminal: Dialog;
  readonly engine: ChatEngine;
  readonly executor: ToolExecutor;
  readonly view: ChatView;
  readonly options: ChatCommandOptions;
  /** How runs go: streamed, and kept at every step. */
  readonly run: RunSessionOptions;
  /** Keeps a session after decisions, where there is a file for it. */
  readonly keep: (session: Session) => Promise<void>;
  readonly isKept: boolean;
}
