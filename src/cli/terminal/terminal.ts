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
 * Returns a process's terminal. Colors follow https://no-color.org.
 *
 * Reserves standard output: output from the user's files goes to standard error, so that it can't
 * mix with results. A reader may close the pipe early (`… | head`).
 */
export function processTerminal(process: NodeJS.Process): Dialog & { flush(): Promise<void> } {
  const { stdout, stderr, env } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  for (const stream of [stdout, stderr]) stream.on('error', ignoreClosedReader);
  const forced = env['FORCE_COLOR'] ? env['FORCE_COLOR'] !== '0' : stdout.isTTY;
  const color = !env['NO_COLOR'] && forced;
  return Object.assign(dialogOf(process), {
    out: (text: string) => void write(`${asShown(color, text)}\n`),
    write: (text: string) => void write(text),
    err: (text: string) => void stderr.write(`${asShown(color, text)}\n`),
    columns: stdout.isTTY ? stdout.columns || USUAL_COLUMNS : Infinity,
    flush: async () => {
      for (const last of [write, stderr.write.bind(stderr)])
        await new Promise<void>((done) => last('', () => done()));
    },
  });
}

/**
 * Questions go to standard error, because standard output may be redirected to a file. Standard
 * input is opened when it's first used.
 */
function dialogOf(
  process: NodeJS.Process,
): Pick<Dialog, 'interactive' | 'input' | 'ask' | 'onInterrupt'> {
  const listeners = new Set<() => void>();
  const interrupt = () => {
    for (const listener of listeners) listener();
  };
  let inputRead = false;
  const dialog = {
    get interactive() {
      return !inputRead && isatty(0) && process.stderr.isTTY === true;
    },
    get input() {
      inputRead = true;
      return process.stdin;
    },
    ask: (question: string, { prefill, signal }: AskOptions = {}) =>
      new Promise<string | undefined>((resolve) => {
        if (!dialog.interactive || signal?.aborted === true) return resolve(undefined);
        const lines = createInterface({
          input: process.stdin,
          output: process.stderr,
          terminal: true,
          historySize: 0,
        });
        const withdraw = () => lines.close();
        let answer: string | undefined;
        lines.once('line', (line) => {
          answer = line;
          lines.close();
        });
        lines.once('close', () => {
          signal?.removeEventListener('abort', withdraw);
          if (answer === undefined) process.stderr.write('\n');
          resolve(answer);
        });
        // While the user edits a line, Ctrl-C sends no signal to the process.
        lines.on('SIGINT', () => {
          interrupt();
          lines.close();
        });
        signal?.addEventListener('abort', withdraw, { once: true });
        lines.setPrompt(question);
        lines.prompt();
        if (prefill !== undefined) lines.write(prefill);
      }),
    onInterrupt: (listener: () => void) => {
      if (listeners.size === 0) process.on('SIGINT', interrupt);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) process.removeListener('SIGINT', interrupt);
      };
    },
  };
  return dialog;
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
