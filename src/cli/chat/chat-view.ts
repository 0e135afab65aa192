import type { ChatEvent } from '../../chat/chat-result.js';
import type { ChatPending } from '../../chat/chat-state.js';
import type { Session } from '../../chat/session/session.js';
import { textOf } from '../../chat/thread.js';
import { isDangerous } from '../../core/enum-order.js';
import { DangerLevel } from '../../core/enums.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { dangerStyle } from '../terminal/axis-columns.js';
import { contentTexts } from '../execute/show-content.js';
import { choiceLines, callBlock, callLines } from '../execute/shown-call.js';
import { durationText, STATUS_STYLES } from '../execute/show-calls.js';
import { EXIT } from '../terminal/exit-codes.js';
import { plainLine, plainText, paint, type Terminal } from '../terminal/terminal.js';
import { LONGEST_LINE, visibleLength, wrapWords } from '../terminal/table.js';

/** The width of a line about a call, where no terminal gives one. */
const USUAL_LINE = 120;

/** Shows a chat as it happens: the model's text as results, a line for each call as it starts and ends as diagnostics. */
export class ChatView {
  readonly #terminal: Terminal;
  readonly #registry: ToolMetadataRegistry;
  /** The part of a line that has come so far. */
  #line = '';
  #hasText = false;

  constructor(terminal: Terminal, registry: ToolMetadataRegistry) {
    this.#terminal = terminal;
    this.#registry = registry;
  }

  show(event: ChatEvent): void {
    switch (event.type) {
      case 'turn-started':
        this.#hasText = false;
        return;
      case 'text-delta':
        return this.#write(event.text);
      case 'model-answered':
        if (!this.#hasText) this.#write(textOf(event.message)); // A model that tells nothing while it thinks.
        this.flush();
        return;
      case 'tool-started':
        return this.#tell(
          `${paint(this.#terminal, 'dim', '▸')} ${this.#name(event.toolName)}`,
          JSON.stringify(event.input),
        );
      case 'tool-progress':
        return this.#tell(
          `${paint(this.#terminal, 'dim', '·')} ${event.toolName}`,
          typeof event.progress === 'string' ? event.progress : JSON.stringify(event.progress),
        );
      case 'tool-completed':
        return this.#tell(
          `${endMark(this.#terminal, event.outcome)} ${plainLine(event.toolName)}`,
          `${durationText(event.outcome.durationMs)}${event.outcome.cached ? ', cached' : ''} · ${briefly(event.outcome)}`,
        );
      default:
        return;
    }
  }

  /** Ends the line that is being written. */
  flush(): void {
    if (this.#line.trim() !== '') this.#emit(this.#line);
    this.#line = '';
  }

  /** Shows whole lines: the terminal of a command has no others. */
  #write(text: string): void {
    if (text === '') return;
    this.#hasText = true;
    const lines = (this.#line + text).split('\n');
    for (const line of lines.slice(0, -1)) this.#emit(line);
    const full = wrapWords(lines.at(-1)!, this.#width);
    for (const line of full.slice(0, -1)) this.#terminal.out(plainText(line));
    this.#line = full.at(-1)!;
  }

  #emit(line: string): void {
    for (const each of wrapWords(line, this.#width)) this.#terminal.out(plainText(each.trimEnd()));
  }

  get #width(): number {
    const { columns } = this.#terminal;
    return columns === Infinity ? Infinity : Math.min(columns, LONGEST_LINE);
  }

  /** The name in the colour of its danger, which is written out from medium on. */
  #name(toolName: string): string {
    const level = this.#registry.get(toolName)?.dangerLevel;
    if (level === undefined) return plainLine(toolName);
    const word = level === DangerLevel.MEDIUM || isDangerous(level) ? ` (${level})` : '';
    return paint(this.#terminal, dangerStyle(level), plainLine(toolName) + word);
  }

  /** One line: a head, and as much of the rest as there is room for. */
  #tell(head: string, rest: string): void {
    const columns = Math.min(this.#terminal.columns, USUAL_LINE);
    const room = columns - 6 - visibleLength(head);
    const line = plainLine(rest);
    this.#terminal.err(
      `  ${head}  ${paint(this.#terminal, 'dim', line.length > room ? `${line.slice(0, Math.max(0, room - 1))}…` : line)}`,
    );
  }
}

function endMark(terminal: Terminal, { status }: ToolOutcome): string {
  const mark =
    status === 'ok' || status === 'halt'
      ? '✓'
      : status === 'error' || status === 'denied'
        ? '✗'
        : '?';
  return paint(terminal, STATUS_STYLES[status], mark);
}

/** Returns what came of a call, in one line. */
function briefly(outcome: ToolOutcome): string {
  switch (outcome.status) {
    case 'ok':
    case 'halt': {
      const value =
        typeof outcome.value === 'string'
          ? outcome.value
          : (JSON.stringify(outcome.value, (_, each: unknown) =>
              typeof each === 'bigint' ? String(each) : each,
            ) ?? '');
      const content = contentTexts(outcome);
      return content.length === 0
        ? value
        : [...content, ...(outcome.value === null ? [] : [value])].join(' ');
    }
    case 'error':
      return outcome.message;
    case 'denied':
      return outcome.reason;
    case 'ask_user':
      return outcome.question;
    case 'manual':
    case 'approval_required':
      return '';
  }
}

/** Returns the exit code of a session. */
export function exitCodeOfSession({ pending, status, haltedReason }: Session): number {
  if (pending.length > 0) return EXIT.unconfirmed;
  return status === 'error' || haltedReason === 'max_turns' ? EXIT.findings : EXIT.ok;
}

/** Says why a session stands still, unless the model has just answered. */
export function showHalt(terminal: Terminal, { status, haltedReason, error }: Session): void {
  if (status === 'error')
    terminal.err(
      `${paint(terminal, 'red', 'error')} ${plainText(error?.message ?? haltedReason ?? '')}`,
    );
  else if (haltedReason === 'cancelled') terminal.err(paint(terminal, 'yellow', 'interrupted'));
  else if (haltedReason === 'max_turns')
    terminal.err(
      `${paint(terminal, 'yellow', 'stopped')} the model was asked as often as --max-turns allows`,
    );
  else if (status === 'completed' && haltedReason !== 'completed')
    terminal.err(`${paint(terminal, 'yellow', 'halt')} ${plainLine(haltedReason ?? '')}`);
}

/** Shows what is pending in a session. */
export function showPending(terminal: Terminal, { pending }: Session): void {
  for (const line of pending.flatMap((each) => linesOf(terminal, each))) terminal.err(line);
  if (pending.length > 0)
    terminal.err(
      paint(
        terminal,
        'dim',
        'In a terminal, tooldex chat --session <file> asks about these; --yes runs calls without a question.',
      ),
    );
}

function linesOf(terminal: Terminal, pending: ChatPending): readonly string[] {
  if (pending.kind === 'approval') return callLines(terminal, pending);
  const head = (what: string) =>
    `${paint(terminal, 'bold', plainLine(pending.toolName))}  ${paint(terminal, 'yellow', what)}`;
  switch (pending.kind) {
    case 'question':
      return [
        head('asks'),
        `  ${plainText(pending.question).split('\n').join('\n  ')}`,
        ...choiceLines(terminal, pending),
      ];
    case 'manual':
      return callBlock(
        terminal,
        pending.toolName,
        paint(terminal, 'yellow', 'is for you to do'),
        pending.input,
      );
    case 'uncertain':
      return callBlock(
        terminal,
        pending.toolName,
        paint(terminal, 'yellow', 'was started; whether it had its effect is not known'),
        pending.input,
      );
  }
}
