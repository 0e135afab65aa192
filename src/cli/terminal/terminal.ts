import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { isToolError } from '../../core/errors.js';
import { onAbort } from '../../core/listeners.js';
import { codeOf, wrongUsage } from './wrong-usage.js';

/** The output of a command, and its reader's capabilities. */
export interface Terminal {
  /** Writes results to standard output, without colors if the reader can't see colors. */
  out(text: string): void;
  /** Writes text to standard output unchanged. */
  write(text: string): void;
  /** Writes diagnostics to standard error. */
  err(text: string): void;
  /**
   * The maximum number of characters per line. Tables are made to fit. Infinite if no user reads
   * the output, so that nothing is truncated.
   */
  readonly columns: number;
}

export interface AskOptions {
  /** Text that is already on the line, for the user to edit. */
  readonly prefill?: string;
  /** Aborting this signal withdraws the question. */
  readonly signal?: AbortSignal | undefined;
}

/** A terminal that a user may be using. */
export interface Dialog extends Terminal {
  /** True if a user can see questions and answer them. */
  readonly interactive: boolean;
  /** Standard input. */
  readonly input: Readable;
  /**
   * Asks for a line of text. Returns `undefined` if nobody answers: the terminal isn't interactive,
   * the input ended, or the question was withdrawn.
   */
  ask(question: string, options?: AskOptions): Promise<string | undefined>;
  /** Calls the listener when the user presses Ctrl-C. Returns a function that stops this. */
  onInterrupt(listener: () => void): () => void;
}

/** The width used for a terminal that doesn't report its width. */
const USUAL_COLUMNS = 80;

/**
 * The process's terminal. Colors follow https://no-color.org. Questions go to standard error, because
 * standard output may be redirected to a file.
 *
 * Reserves standard output: output from the user's files goes to standard error, so that it can't
 * mix with results. A reader may close the pipe early (`… | head`).
 */
export class ProcessTerminal implements Dialog {
  readonly columns: number;
  readonly #color: boolean;
  readonly #write: typeof process.stdout.write;
  #inputRead = false;

  constructor() {
    const { stdout, stderr, env } = process;
    this.#write = stdout.write.bind(stdout);
    stdout.write = stderr.write.bind(stderr);
    for (const stream of [stdout, stderr]) stream.on('error', ignoreClosedReader);
    const forced = env['FORCE_COLOR'] ? env['FORCE_COLOR'] !== '0' : stdout.isTTY;
    this.#color = !env['NO_COLOR'] && forced;
    this.columns = stdout.isTTY ? stdout.columns || USUAL_COLUMNS : Infinity;
  }

  out(text: string): void {
    this.#write(`${asShown(this.#color, text)}\n`);
  }

  write(text: string): void {
    this.#write(text);
  }

  err(text: string): void {
    process.stderr.write(`${asShown(this.#color, text)}\n`);
  }

  async flush(): Promise<void> {
    await new Promise((done) => this.#write('', done));
    await new Promise((done) => process.stderr.write('', done));
  }

  get interactive(): boolean {
    return !this.#inputRead && isatty(0) && process.stderr.isTTY;
  }

  /** Standard input, which is opened when it's first used. */
  get input(): Readable {
    this.#inputRead = true;
    return process.stdin;
  }

  async ask(question: string, { prefill, signal }: AskOptions = {}): Promise<string | undefined> {
    if (!this.interactive || signal?.aborted) return undefined;
    const { stdin: input, stderr: output } = process;
    const lines = createInterface({ input, output, terminal: true, historySize: 0, signal });
    // While the user edits a line, Ctrl-C sends no signal to the process.
    lines.on('SIGINT', () => {
      process.emit('SIGINT');
      lines.close();
    });
    lines.setPrompt(question);
    lines.prompt();
    if (prefill !== undefined) lines.write(prefill);
    for await (const line of lines) {
      lines.close();
      return line;
    }
    output.write('\n');
    return undefined;
  }

  onInterrupt(listener: () => void): () => void {
    process.on('SIGINT', listener);
    return () => void process.off('SIGINT', listener);
  }
}

/** Runs `work` with a signal that aborts when the user presses Ctrl-C. */
export async function interruptible<T>(
  terminal: Dialog,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const interrupt = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupt.abort());
  try {
    return await work(interrupt.signal);
  } finally {
    stopListening();
  }
}

/** Waits until a signal aborts. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    onAbort(signal, resolve);
  });
}

/** Asks a yes-or-no question. Returns true for `y` or `yes`. */
export async function agrees(
  terminal: Dialog,
  question: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const answer = await terminal.ask(`${question} [y/N] `, { signal });
  return /^y(?:es)?$/i.test(answer?.trim() ?? '');
}

function ignoreClosedReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Returns text in a style. A terminal without colors drops the style. */
export const paint = (style: Style, text: string): string =>
  styleText(style, text, { validateStream: false });

/** Writes a diagnostic that starts with a colored word. */
export function report(terminal: Terminal, style: Style, label: string, text: string): void {
  terminal.err(`${paint(style, label)} ${plainText(text)}`);
}

/** Returns the text unchanged if the terminal has colors, or without its color codes if not. */
export const asShown = (color: boolean, text: string): string =>
  color ? text : stripVTControlCharacters(text);

/**
 * Returns a stream's UTF-8 text, without a byte order mark.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the stream can't be read, is longer than `maxBytes`, or
 * isn't UTF-8.
 */
export async function readBounded(
  stream: Readable,
  maxBytes: number,
  name: string,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw wrongUsage(`${name} has more than ${maxBytes} bytes.`);
      chunks.push(Buffer.from(chunk));
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (isToolError(error)) throw error;
    throw wrongUsage(`Could not read ${name} as UTF-8 text: ${codeOf(error)}.`, error);
  }
}

// C0 and C1 controls, and the direction marks that can show a text in another order than it's read.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Matches characters that are invisible or look like a space. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Returns text on one line, without characters that could control the terminal. */
export function plainLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(CONTROLS, '').trim();
}

/**
 * Escapes all characters in a text that could control the terminal, except line endings and tabs.
 */
export function plainText(text: string): string {
  return text.replace(CONTROLS, (each) => (/[\t\n]/.test(each) ? each : writtenOut(each)));
}

/** Returns JSON that can't control the terminal. The meaning of the JSON is unchanged. */
export function plainJson(value: unknown, indent?: number): string {
  return plainText(JSON.stringify(value, null, indent) ?? 'null');
}

/**
 * Returns text with every character visible, so that a call can't hide anything from the user who
 * approves it.
 */
export function seenText(text: string): string {
  return text.replace(UNSEEN, writtenOut);
}

/** Returns a character as a JSON escape, so that escaped JSON keeps its meaning. */
function writtenOut(character: string): string {
  return character.replace(
    /[^]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The place of a finding. The file is relative to the working directory, and `null` if unknown. */
export interface FindingPlace<File = string | null> {
  readonly file: File;
  readonly line: number | null;
  readonly column: number | null;
}

/**
 * Returns `file:line:column`, as far as they are known. Editors and terminals turn this text into a
 * link.
 */
export function placeText({ file, line, column }: Partial<FindingPlace>): string {
  return plainLine([file, line, column].filter((part) => part != null).join(':'));
}

/** Returns a GitHub Actions workflow command. Other CI services understand this command too. */
export function annotation(
  severity: 'error' | 'warning',
  title: string,
  message: string,
  { file, line, column }: Partial<FindingPlace> = {},
): string {
  const properties = Object.entries({ file, line, col: column, title })
    .filter(([, value]) => value != null)
    .map(([name, value]) => `${name}=${escaped(String(value), /[%\r\n:,]/g)}`);
  return `::${severity} ${properties.join(',')}::${escaped(message, /[%\r\n]/g)}`;
}

function escaped(text: string, special: RegExp): string {
  return text.replace(special, encodeURIComponent);
}
